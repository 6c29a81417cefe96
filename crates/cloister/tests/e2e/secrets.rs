//! Secrets as an operator meets them: set without being shown, listed without values, at rest sealed; and what
//! happens when the master key is not the right one.

use std::process::Stdio;

use cloister_protocol::ErrorCode;
use cloister_testkit::{ModelServer, Product, Stack};

use crate::world::{World, cloister, files_with, run, run_with_input};

const CANARY: &str = "canary-value-83b1f6";

/// S1, E53: a value goes in by a pipe, a file or a variable; no list, file, database or log has it.
#[tokio::test]
async fn a_secret_is_set_listed_and_rotated_and_its_value_is_nowhere_at_rest() {
    let world = World::start().await;
    let data = world.stack.data().to_owned();
    let set = |name: &str| {
        let mut command = cloister(&data);
        command.args([
            "secret",
            "set",
            name,
            "--host",
            "api.example.org",
            "--header",
            "authorization",
        ]);
        command
    };
    let piped = run_with_input(&mut set("github"), &format!("{CANARY}\n")).await;
    assert!(piped.status.success(), "{}", String::from_utf8_lossy(&piped.stderr));
    let file = data.join("value.txt");
    std::fs::write(&file, format!("{CANARY}-file\n")).unwrap();
    let from_file = run(set("mail").arg("--value-file").arg(&file)).await;
    assert!(from_file.status.success(), "{}", String::from_utf8_lossy(&from_file.stderr));
    std::fs::remove_file(&file).unwrap();
    let from_env = run(set("maps")
        .args(["--value-env", "THE_VALUE"])
        .env("THE_VALUE", format!("{CANARY}-env")))
    .await;
    assert!(from_env.status.success(), "{}", String::from_utf8_lossy(&from_env.stderr));

    let rotate = ["secret", "rotate", "github", "--grace", "60"];
    let rotated = run_with_input(cloister(&data).args(rotate), &format!("{CANARY}-new\n")).await;
    assert!(rotated.status.success(), "{}", String::from_utf8_lossy(&rotated.stderr));
    let rebind = ["secret", "rebind", "mail", "--host", "mail.example.org", "--basic", "ada"];
    world.stack.cli_ok(&rebind).await.unwrap();
    let listed = world.json(&["secret", "list"]).await;
    let versions: Vec<(&str, u64)> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|secret| (secret["name"].as_str().unwrap(), secret["version"].as_u64().unwrap()))
        .collect();
    assert_eq!(versions, [("github", 2), ("github", 1), ("mail", 2), ("maps", 1)]);
    assert_eq!(listed[2]["binding"]["hosts"][0], "mail.example.org");

    // The master key is replaced while all runs; secrets of the platform are beside those of people.
    let platform =
        ["secret", "set", "bucket", "--platform", "--host", "s3.example.org", "--query", "key"];
    let kept = run_with_input(cloister(&data).args(platform), &format!("{CANARY}-s3\n")).await;
    assert!(kept.status.success(), "{}", String::from_utf8_lossy(&kept.stderr));
    let before = std::fs::read(data.join("master.key")).unwrap();
    let rotated = world.json(&["secret", "rotate-master"]).await;
    assert_eq!(rotated["data_keys"], 2);
    assert_ne!(std::fs::read(data.join("master.key")).unwrap(), before);
    world.stack.cli_ok(&["secret", "rm", "maps"]).await.unwrap();
    let refused = world.failing(&["secret", "rm", "maps"]).await;
    assert_eq!(refused.1.error.code, ErrorCode::NotFound);

    assert_eq!(files_with(&data, CANARY), Vec::<std::path::PathBuf>::new());
    let log = world.stack.log();
    assert!(!log.contains(CANARY), "{log}");
    let Product { mut stack, model: _ } = world.product;
    stack.stop().await.unwrap();
    assert_eq!(files_with(&data, CANARY), Vec::<std::path::PathBuf>::new());
    stack.restart().await.unwrap();
    let listed = stack.cli_ok(&["secret", "list"]).await.unwrap();
    assert!(listed.contains("github"), "{listed}");
}

/// S1: a value is never taken from the command line, and bad words are refused with what is right.
#[tokio::test]
async fn a_secret_needs_a_host_and_a_form_and_takes_no_value_as_a_word() {
    let world = World::start().await;
    let data = world.stack.data();
    let wrong: &[&[&str]] = &[
        &["secret", "set", "x", "--header", "authorization"],
        &["secret", "set", "x", "--host", "example.org"],
        &["secret", "set", "x", "value", "--host", "example.org", "--query", "key"],
        &["secret", "set", "x", "--host", "example.org", "--query", "key", "--value", "v"],
    ];
    for arguments in wrong {
        let output = run(cloister(data).args(*arguments).stdin(Stdio::null())).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    let host = ["secret", "set", "x", "--host", "*.example.org", "--query", "key"];
    let output = run_with_input(cloister(data).args(host), "value\n").await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("is not a host"), "{said}");
}

/// E55: a master key that is missing, another, or readable by others: nothing starts, no command opens the
/// store, nothing is made in its place, and the message says what to do.
#[tokio::test]
async fn without_the_right_master_key_nothing_starts_and_nothing_is_made_instead() {
    let mut stack = Stack::builder().start().await.unwrap();
    let model = ModelServer::builder().start().await.unwrap();
    stack.use_model(&model).await.unwrap();
    stack.stop().await.unwrap();
    let data = stack.data().to_owned();
    let key = data.join("master.key");
    let right = std::fs::read(&key).unwrap();

    std::fs::remove_file(&key).unwrap();
    for arguments in [&["up"][..], &["user", "list"], &["secret", "list"]] {
        let output = run(cloister(&data).args(arguments)).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(69), "{arguments:?}: {said}");
        assert!(
            said.contains("no master key") && said.contains("put the right key back"),
            "{said}"
        );
        assert_eq!(said.matches("be opened").count(), 1, "once: {said}");
        assert!(!key.exists(), "{arguments:?} made a key in its place");
    }

    let other = "0f".repeat(32);
    std::fs::write(&key, &other).unwrap();
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, private).unwrap();
    let output = run(cloister(&data).args(["up"])).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(69), "{said}");
    assert!(said.contains("is sealed under master key"), "{said}");

    std::fs::write(&key, &right).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let output = run(cloister(&data).args(["up"])).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(69) && said.contains("chmod 600"), "{said}");

    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    stack.restart().await.unwrap();
}

/// S1: the key may come from a command, and move from a file to one while all runs; a start half-way, with both
/// in the settings, and one after that are fine.
#[tokio::test]
async fn the_master_key_moves_to_a_command_without_a_stop() {
    let world = World::start().await;
    let data = world.stack.data().to_owned();
    let set = ["secret", "set", "x", "--host", "example.org", "--query", "key"];
    run_with_input(cloister(&data).args(set), "value\n").await;
    let settings = data.join("cloister.toml");
    let before = std::fs::read_to_string(&settings).unwrap_or_default();
    let new = "ab".repeat(32);
    let next = format!("{before}\n[secrets]\nnext_command = [\"echo\", \"{new}\"]\n");
    std::fs::write(&settings, next).unwrap();
    let rotated = world.json(&["secret", "rotate-master"]).await;
    assert!(rotated["next"].as_str().unwrap().contains("master_command"), "{rotated}");
    let Product { mut stack, model: _ } = world.product;
    stack.stop().await.unwrap();
    stack.restart().await.unwrap();
    stack.stop().await.unwrap();
    let after = format!("{before}\n[secrets]\nmaster_command = [\"echo\", \"{new}\"]\n");
    std::fs::write(&settings, after).unwrap();
    std::fs::remove_file(data.join("master.key")).unwrap();
    stack.restart().await.unwrap();
    let listed = stack.cli_ok(&["secret", "list"]).await.unwrap();
    assert!(listed.contains('x'), "{listed}");
}
