//! The same as an ordinary user, without any right that root has.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::world::{PATIENCE, program, run};

const UID: u32 = 12_345;

/// A command as the ordinary user; as root, by becoming one.
fn as_ordinary_user(path: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return program(path);
    }
    let mut command = program(Path::new("setpriv"));
    let id = UID.to_string();
    command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--"]).arg(path);
    command
}

/// The three programs where that user can read them, and a directory of theirs.
fn installed() -> tempfile::TempDir {
    let dir = tempfile::Builder::new().prefix("cloister-user-").tempdir().unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_cloister")).parent().unwrap();
    let open = |path: &Path, mode| {
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    for name in ["cloister", "cloister-agent", "cloister-launcher"] {
        std::fs::copy(built.join(name), dir.path().join(name)).unwrap();
        open(&dir.path().join(name), 0o755);
    }
    let home = dir.path().join("home");
    std::fs::create_dir(&home).unwrap();
    open(dir.path(), 0o755);
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&home, Some(UID), Some(UID)).unwrap();
    }
    dir
}

#[tokio::test]
async fn an_ordinary_user_talks_to_an_agent_that_works() {
    let dir = installed();
    let cloister = dir.path().join("cloister");
    let data = dir.path().join("home/data");
    let command = || {
        let mut command = as_ordinary_user(&cloister);
        command.arg("--data").arg(&data).current_dir("/");
        command
    };
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let mut up = command();
    up.args(["up", "--json", "--listen", "127.0.0.1:0"]).stderr(Stdio::from(log));
    let mut up = up.spawn().unwrap();
    let mut lines = BufReader::new(up.stdout.take().unwrap()).lines();
    let first = timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap();
    let log = || std::fs::read_to_string(dir.path().join("log")).unwrap();
    assert!(first.is_some_and(|line| line.contains("\"login_url\"")), "{}", log());

    let said =
        run(command().args(["chat", "--wait", "run: id -u; echo works-$((40+2)) | tee made"]))
            .await;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.status.success() && text.contains("works-42"), "{said:?}\n{}", log());
    let made = data.join("workspaces/w1/chats/C1/files/made");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "works-42\n");
    // It sees its own files and tools, and nothing of the account it runs under.
    let look = format!(
        "run: ls {data} /root /home/* 2>/dev/null; python3 -c 'print(6*7)' && gcc --version >/dev/null && \
         node -e 'console.log(\"node-\"+(1+1))' && git init -q repo && echo tools-work; \
         echo > /dev/tcp/127.0.0.1/22 && echo network",
        data = data.display()
    );
    let said = run(command().args(["chat", "--wait", &look])).await;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(text.contains("42\nnode-2\ntools-work\n"), "{text}\n{}", log());
    assert!(!text.contains("cloister.db") && !text.contains("\nnetwork"), "{text}");
    let doctor = run(command().args(["doctor"])).await;
    assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));

    let pid = up.id().and_then(|id| Pid::from_raw(i32::try_from(id).unwrap())).unwrap();
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    assert!(timeout(PATIENCE, up.wait()).await.unwrap().unwrap().success(), "{}", log());
    assert_eq!(std::fs::read_dir(data.join("run")).unwrap().count(), 0);
}
