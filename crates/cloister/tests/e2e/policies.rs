//! An operator's own policies, as they meet them: checked before they hold, explained, tested, and never
//! wider by being broken (I1, T4, E44).

use std::path::Path;

use cloister_protocol::ErrorCode;

use crate::world::{Talk, World, cloister, run};

const CLOSED: &str = "@id(\"no-lists\")\n@reason(\"nobody lists users today\")\n\
    forbid (principal is User, action == Action::\"list_users\", resource);\n";
const CASES: &str = "[[case]]\nname = \"nobody lists users\"\nexpect = \"deny\"\nby = \"no-lists\"\n\
    request = { user = \"u1\", roles = [\"overlord@platform\"], action = \"list_users\" }\n";

fn write(dir: &Path, files: &[(&str, &str)]) {
    std::fs::create_dir_all(dir).unwrap();
    for (name, text) in files {
        std::fs::write(dir.join(name), text).unwrap();
    }
}

#[tokio::test]
async fn up_refuses_policies_that_do_not_check_and_says_where() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("data");
    write(
        &data.join("policies"),
        &[("mine.cedar", "\n@id(\"a\") permit (principal, action resource);")],
    );
    let refused = run(cloister(&data).args(["up", "--listen", "127.0.0.1:0"])).await;
    assert_eq!(refused.status.code(), Some(64));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("mine.cedar:2: "), "{said}");
    // What is wrong can be looked at without a control plane.
    let checked = run(cloister(&data).args(["policy", "check"])).await;
    assert_eq!(checked.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&checked.stdout).contains("mine.cedar:2: "));
}

#[tokio::test]
async fn policies_are_checked_tested_applied_and_explained() {
    let world = World::start().await;
    world.owner().await.say("hello").await;
    let dir = world.stack.data().parent().unwrap().join("mine");
    write(&dir, &[("lists.cedar", CLOSED), ("lists.cases", CASES)]);
    let dir = dir.to_str().unwrap();
    let explain = ["policy", "explain", "user", "owner", "list_users"];

    let found = world.json(&["policy", "check", dir]).await;
    assert_eq!(
        (&found["ok"], &found["policies"], &found["cases"]),
        (&true.into(), &1.into(), &1.into())
    );
    // A check changes nothing.
    assert_eq!(world.json(&explain).await["outcome"], "allow");
    world.json(&["user", "list"]).await;

    let applied = world.json(&["policy", "apply", dir, "--why", "quiet day"]).await;
    let version = applied["version"].as_str().unwrap().to_owned();
    let told = world.json(&explain).await;
    assert_eq!(
        (&told["outcome"], &told["reason"]),
        (&"deny".into(), &"nobody lists users today".into())
    );
    assert_eq!(told["decided"][0]["id"], "no-lists");
    let (_, refused) = world.failing(&["user", "list"]).await;
    assert_eq!(refused.error.code, ErrorCode::Forbidden);
    assert!(refused.error.message.contains("(policy no-lists)"), "{}", refused.error.message);
    assert_eq!(world.json(&["policy", "test"]).await["ok"], true);
    let listed = world.json(&["policy", "list"]).await;
    assert!(listed["policies"].as_array().unwrap().iter().any(|p| p["id"] == "no-lists"));
    let log = world.json(&["config", "log", "policies"]).await;
    assert_eq!(
        (&log[0]["version"], &log[0]["author"], &log[0]["why"]),
        (&version.into(), &"operator".into(), &"quiet day".into())
    );

    // It holds after a restart, and is undone as a whole.
    let mut world = world;
    world.stack.restart().await.unwrap();
    world.failing(&["user", "list"]).await;
    world.json(&["config", "rollback", "policies", "latest~1"]).await;
    world.json(&["user", "list"]).await;
    let audit = world.audit().await;
    assert!(audit.iter().any(|row| row.action == "config.change" && row.detail == "quiet day"));
}

/// E44: whatever becomes of the files, what is in force stays until something whole takes its place;
/// and no files mean the default policies, no more.
#[tokio::test]
async fn broken_or_empty_files_widen_nothing() {
    let mut world = World::start().await;
    let policies = world.stack.data().join("policies");
    write(&policies, &[("lists.cedar", CLOSED)]);
    let status = world.json(&["status"]).await;
    assert!(
        status["lines"].as_array().unwrap().iter().any(|line| line["id"] == "policies"),
        "{status}"
    );
    world.json(&["policy", "apply"]).await;
    world.failing(&["user", "list"]).await;

    for broken in
        ["forbid (", "@id(\"x\") permit (principal, action == Action::\"fly\", resource);"]
    {
        write(&policies, &[("lists.cedar", broken)]);
        let (_, refused) = world.failing(&["policy", "apply"]).await;
        assert!(refused.error.message.contains("lists.cedar:1"), "{}", refused.error.message);
        world.failing(&["user", "list"]).await;
    }
    let elsewhere = world.stack.data().parent().unwrap().join("bad");
    write(&elsewhere, &[("a.cedar", CLOSED), ("a.cases", &CASES.replace("deny", "allow"))]);
    let (_, refused) = world.failing(&["policy", "apply", elsewhere.to_str().unwrap()]).await;
    assert!(refused.error.message.contains("a.cases:2"), "{}", refused.error.message);
    // With the broken file left where it is, it does not start; nothing is decided by half of it.
    world.stack.stop().await.unwrap();
    let refused = run(cloister(world.stack.data()).args(["up", "--listen", "127.0.0.1:0"])).await;
    assert_eq!(refused.status.code(), Some(64));
    std::fs::remove_file(policies.join("lists.cedar")).unwrap();
    world.stack.restart().await.unwrap();
    world.json(&["user", "list"]).await;
    let bob = world.add_user("bob").await;
    let told =
        world.json(&["policy", "explain", "user", "bob", "read_files", "workspace:w1"]).await;
    assert_eq!(told["outcome"], "deny", "{told}");
    assert_eq!(told["decided"][0]["id"], "private-content-is-the-owners");
    drop(bob);
}

#[tokio::test]
async fn any_request_can_be_explained() {
    let world = World::start().await;
    world.add_user("bob").await;
    let explain = async |words: &[&str]| {
        let all: Vec<&str> = ["policy", "explain"].iter().chain(words).copied().collect();
        world.json(&all).await
    };
    let told = explain(&["user", "bob", "read_chat", "workspace:w1/C1"]).await;
    assert_eq!(
        (&told["outcome"], &told["decided"][0]["id"]),
        (&"deny".into(), &"private-content-is-the-owners".into())
    );
    let told = explain(&["user", "bob", "read_chat", "C1"]).await;
    assert_eq!(told["outcome"], "allow", "{told}");
    let fetch = ["executor", "owner", "fetch_writing", "domain:api.example.org", "--untrusted"];
    let told = explain(&fetch).await;
    assert_eq!((&told["outcome"], &told["class"]), (&"ask".into(), &"outward".into()), "{told}");
    let delete = ["executor", "owner", "change_by_tool", "tool:bash", "--risk", "destructive"];
    let told = explain(&delete).await;
    assert_eq!(told["outcome"], "allow", "it can be taken back: {told}");
    let told = explain(&[&delete[..], &["--unconfined"]].concat()).await;
    assert_eq!(
        (&told["outcome"], &told["class"]),
        (&"ask".into(), &"destructive".into()),
        "{told}"
    );
    let told =
        explain(&["user", "bob", "assign_role", "platform", "--role", "admin", "--own"]).await;
    assert_eq!(told["outcome"], "deny", "{told}");
    let told = explain(&["user", "bob", "emergency_stop", "--as", "operator@platform"]).await;
    assert_eq!(told["outcome"], "allow", "{told}");
    let text =
        world.stack.cli_ok(&["policy", "explain", "user", "bob", "create_user"]).await.unwrap();
    assert!(text.contains("deny: no policy allows create_user"), "{text}");
    assert!(text.contains("admin-manages (default/people.cedar:"), "{text}");
    for wrong in [&["user", "bob", "fly"][..], &["user", "bob", "read_chat", "planet:mars"]] {
        let all: Vec<&str> = ["policy", "explain"].iter().chain(wrong).copied().collect();
        assert_eq!(world.failing(&all).await.1.error.code, ErrorCode::BadRequest, "{wrong:?}");
    }
}
