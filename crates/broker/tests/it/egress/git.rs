//! A real git on both ends: what the broker says in its place is understood, and clones work.

#![expect(clippy::disallowed_methods, reason = "git itself is what is tested")]

use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, UnixStream};
use tokio::process::Command;
use tokio::task::JoinSet;

use super::internet::Seen;
use super::world::{Net, OpenNet};

/// A server of git repositories that speaks through `git upload-pack`.
pub(super) async fn answer(
    folder: &Path,
    seen: &Mutex<Vec<Seen>>,
    request: Request<Incoming>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = |value: &hyper::header::HeaderValue| value.to_str().unwrap_or("?").to_owned();
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), text(value)));
    let headers: std::collections::BTreeMap<String, String> = headers.collect();
    let path = parts.uri.path();
    let advertises = path.ends_with("/info/refs");
    let name = path.trim_end_matches("/info/refs").trim_end_matches("/git-upload-pack");
    let mut git = Command::new("git");
    git.arg("upload-pack").arg("--stateless-rpc");
    if advertises {
        git.arg("--http-backend-info-refs");
    }
    git.arg(folder.join(name.trim_start_matches('/'))).env_clear();
    git.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", "/nonexistent");
    git.env("GIT_CONFIG_COUNT", "2");
    git.env("GIT_CONFIG_KEY_0", "safe.directory").env("GIT_CONFIG_VALUE_0", "*");
    git.env("GIT_CONFIG_KEY_1", "uploadpack.allowFilter").env("GIT_CONFIG_VALUE_1", "true");
    if let Some(version) = headers.get("git-protocol") {
        git.env("GIT_PROTOCOL", version);
    }
    let mut git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = git.stdin.take().unwrap();
    // It may have its answer before it has read all.
    drop(input.write_all(&body).await);
    drop(input);
    let answer = git.wait_with_output().await.unwrap().stdout;
    seen.lock().unwrap().push(Seen {
        method: parts.method.to_string(),
        host: headers.get("host").cloned().unwrap_or_default(),
        path: parts.uri.to_string(),
        headers,
        body,
    });
    let kind = if advertises { "advertisement" } else { "result" };
    let first = if advertises { &b"001e# service=git-upload-pack\n0000"[..] } else { b"" };
    Response::builder()
        .header("content-type", format!("application/x-git-upload-pack-{kind}"))
        .body(Body::from([first, &answer].concat()))
        .unwrap()
}

fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in [("NAME", "n"), ("EMAIL", "a@b.c")] {
        git.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    git.env("GIT_TERMINAL_PROMPT", "0");
    git
}

async fn run(folder: &Path, args: &[&str]) -> String {
    let done = git(folder).args(args).output().await.unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// A repository with three branches and a tag, served at any host as `/repo.git`.
async fn repository(net: &Net) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    run(&work, &["init", "-q", "-b", "main"]).await;
    for (at, branch) in ["main", "b", "c"].iter().enumerate() {
        if at > 0 {
            run(&work, &["checkout", "-q", "-b", branch]).await;
        }
        std::fs::write(work.join("file"), format!("text of {branch}")).unwrap();
        run(&work, &["add", "file"]).await;
        run(&work, &["commit", "-q", "-m", branch]).await;
    }
    run(&work, &["tag", "-a", "v1", "-m", "one"]).await;
    run(&work, &["checkout", "-q", "main"]).await;
    run(folder.path(), &["clone", "-q", "--bare", "work", "repo.git"]).await;
    net.internet.serve_repositories(folder.path());
    folder
}

/// The same, with the ids that it offers, in order.
pub(super) async fn offering(net: &Net) -> (tempfile::TempDir, Vec<String>) {
    let folder = repository(net).await;
    let bare = folder.path().join("repo.git");
    let ids = run(&bare, &["for-each-ref", "--format=%(objectname)"]).await;
    let mut ids: Vec<String> = ids.lines().map(str::to_owned).collect();
    ids.sort();
    ids.dedup();
    (folder, ids)
}

/// Where programs find the door as a proxy.
async fn proxy(door: &OpenNet) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let socket = door.client.socket.clone();
    let mut relaying = JoinSet::new();
    relaying.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut near, _)) = listener.accept().await {
            let mut far = UnixStream::connect(&socket).await.unwrap();
            connections.spawn(async move {
                drop(tokio::io::copy_bidirectional(&mut near, &mut far).await);
            });
        }
    });
    (address, relaying)
}

/// Git reads in a task with foreign content, and the broker speaks for it.
#[tokio::test]
async fn real_git_clones_and_fetches_what_the_broker_asks_for_in_its_place() {
    let net = Net::new(&["http://allowed.test"]).await;
    let folder = repository(&net).await;
    for version in ["2", "0"] {
        let door = net.open_with(&format!("v{version}.sock"), super::world::all(), None);
        door.told.be_foreign();
        let (address, _relay) = proxy(&door).await;
        let here = tempfile::tempdir().unwrap();
        let (proxy, protocol) =
            (format!("http.proxy={address}"), format!("protocol.version={version}"));
        let plain =
            ["-c", &proxy, "-c", &protocol, "-c", "http.extraHeader=Accept-Language: xx-secret"];
        let url = "http://allowed.test/repo.git";
        run(here.path(), &[&plain[..], &["clone", "-q", url, "whole"]].concat()).await;
        let shown = run(&here.path().join("whole"), &["show", "v1:file"]).await;
        assert_eq!(shown, "text of c", "version {version}");
        run(here.path(), &[&plain[..], &["clone", "-q", "--depth", "1", url, "shallow"]].concat())
            .await;
        run(
            here.path(),
            &[&plain[..], &["clone", "-q", "--filter=blob:none", "--no-checkout", url, "thin"]]
                .concat(),
        )
        .await;
        run(
            here.path(),
            &[&plain[..], &["clone", "-q", "--single-branch", "-b", "b", url, "one"]].concat(),
        )
        .await;
        // Something new: what the clone has already is not told, and it comes all the same.
        let work = folder.path().join("work");
        std::fs::write(work.join("file"), format!("newer {version}")).unwrap();
        run(&work, &["commit", "-q", "-a", "-m", "newer"]).await;
        run(&work, &["push", "-q", "../repo.git", "main"]).await;
        let whole = here.path().join("whole");
        run(&whole, &[&plain[..], &["pull", "-q"]].concat()).await;
        assert_eq!(
            std::fs::read_to_string(whole.join("file")).unwrap(),
            format!("newer {version}")
        );
        let head = run(&whole, &["rev-parse", "HEAD~1"]).await;
        for seen in net.internet.seen() {
            let text = String::from_utf8_lossy(&seen.body).into_owned();
            assert!(
                !text.contains("Linux") && !text.contains(&format!("have {}", head.trim())),
                "{text}"
            );
            assert!(!format!("{:?}", seen.headers).contains("secret"), "{:?}", seen.headers);
            assert_eq!(seen.headers["user-agent"], "git/2.0-cloister");
        }
        assert!(door.told.refusals().is_empty());
    }
}
