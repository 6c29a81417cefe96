//! Every change of the configuration has a version, with who and why, and a way back (U2).

use serde_json::Value;

use crate::world::{Talk, World, cloister, eventually, run};

async fn log(world: &World, arguments: &[&str]) -> Vec<Value> {
    let all: Vec<&str> = ["config", "log"].iter().chain(arguments).copied().collect();
    serde_json::from_value(world.json(&all).await).unwrap()
}

fn who_and_what(change: &Value) -> (&str, Vec<&str>) {
    let paths = change["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap());
    (change["author"].as_str().unwrap(), paths.collect())
}

#[tokio::test]
async fn who_the_agent_is_can_be_looked_up_and_put_back() {
    let world = World::start().await;
    world.json(&["init", "--unattended", "--agent-name", "Ada", "--manner", "Kind."]).await;
    world.json(&["init", "--unattended", "--agent-name", "Bea"]).await;
    let versions = log(&world, &["--user", "owner"]).await;
    assert_eq!(who_and_what(&versions[0]), ("operator", vec!["w1/SOUL.md"]), "{versions:?}");
    let diff = world.json(&["config", "diff", "latest~1", "--user", "owner"]).await;
    let text = diff["text"].as_str().unwrap();
    assert!(text.contains("-Your name is Ada.\n+Your name is Bea."), "{text}");

    world.json(&["config", "rollback", "w1/SOUL.md", "latest~1"]).await;
    let soul = world.stack.data().join("workspaces/w1/SOUL.md");
    assert!(std::fs::read_to_string(&soul).unwrap().contains("Your name is Ada."));
    // The agent is told it, too.
    world.owner().await.say("hello").await;
    let asked = world.model.requests();
    assert!(asked.last().unwrap().system_prompt().contains("Your name is Ada."));
    assert_eq!(
        log(&world, &["w1/SOUL.md"]).await.len(),
        versions.len() + 1,
        "a way back is a version"
    );
    // Nothing of it is in what everybody's operator reads of the platform.
    let before = versions[1]["version"].as_str().unwrap();
    let platform = world.json(&["config", "diff", before]).await;
    assert_eq!(platform["text"], "");
    let (_, refused) = world.failing(&["config", "rollback", "ALL", "beef"]).await;
    assert!(refused.error.message.contains("no version"), "{}", refused.error.message);
}

#[tokio::test]
async fn what_was_edited_by_hand_is_found_and_what_is_broken_is_not_put_back() {
    let mut world = World::start().await;
    world.owner().await.say("hello").await;
    let toml = world.stack.data().join("cloister.toml");
    let soul = world.stack.data().join("workspaces/w1/SOUL.md");
    let good = std::fs::read_to_string(&toml).unwrap();
    let versions_of = async |world: &World, path: &str, count: usize| {
        eventually(&format!("{count} versions of {path}"), || async {
            let versions = log(world, &[path]).await;
            (versions.len() >= count).then_some(versions)
        })
        .await
    };
    versions_of(&world, "cloister.toml", 1).await;

    // Edited while it is down, and first so that it does not start.
    world.stack.stop().await.unwrap();
    std::fs::write(&soul, "# Who the agent is\n\nEdited by hand.\n").unwrap();
    std::fs::write(&toml, format!("{good}\nnonsense = true\n")).unwrap();
    let refused = run(cloister(world.stack.data()).args(["up", "--listen", "127.0.0.1:0"])).await;
    assert_eq!(refused.status.code(), Some(64));
    std::fs::write(&toml, format!("{good}\n[users]\nexecutors = 3\n")).unwrap();
    world.stack.restart().await.unwrap();
    let edited = versions_of(&world, "w1/SOUL.md", 1).await;
    assert_eq!(who_and_what(&edited[0]).0, "found on disk");
    let versions = versions_of(&world, "cloister.toml", 2).await;
    assert_eq!(who_and_what(&versions[0]), ("found on disk", vec!["cloister.toml"]));

    // Back, and told when it counts.
    let before = versions[1]["version"].as_str().unwrap();
    let done = world.json(&["config", "rollback", "cloister.toml", before]).await;
    assert!(done["note"].as_str().unwrap().contains("next start"), "{done}");
    assert_eq!(std::fs::read_to_string(&toml).unwrap(), good);
    assert_eq!(log(&world, &["cloister.toml"]).await[0]["author"], "operator");

    // A version that could not be used is refused, and nothing changes: it was found before a change.
    std::fs::write(&toml, "nonsense = true\n").unwrap();
    world.failing(&["config", "rollback", "policies", "00000000"]).await;
    world.json(&["config", "rollback", "cloister.toml", "latest"]).await;
    let broken = versions_of(&world, "cloister.toml", 4).await;
    let broken = broken.iter().find(|change| {
        change["author"] == "found on disk" && change["version"] != versions[0]["version"]
    });
    let broken = broken.unwrap()["version"].as_str().unwrap();
    std::fs::write(&toml, &good).unwrap();
    let (_, refused) = world.failing(&["config", "rollback", "cloister.toml", broken]).await;
    assert!(refused.error.message.contains("is not right"), "{}", refused.error.message);
    assert_eq!(std::fs::read_to_string(&toml).unwrap(), good);
}

/// The agent proposes and the control plane writes: its own files are read-only to it, and nothing in
/// the data directory is a repository that a tool would act on (E12, E86).
#[tokio::test]
async fn the_history_is_the_control_planes_alone() {
    use std::os::unix::fs::MetadataExt;
    let world = World::start().await;
    world.owner().await.say("hello").await;
    let data = world.stack.data();
    let root = rustix::process::geteuid().is_root();
    for name in ["SOUL.md", "USER.md", "MEMORY.md", "HEARTBEAT.md", "skills", "tools", "schedules"]
    {
        let meta = std::fs::metadata(data.join("workspaces/w1").join(name)).unwrap();
        assert!(!root || meta.uid() == 0, "{name} is the cell's");
        assert!(!root || meta.mode() & 0o022 == 0, "{name} can be written by others");
    }
    let meta = std::fs::metadata(data.join("workspaces/w1")).unwrap();
    assert!(!root || (meta.uid() == 0 && meta.mode() & 0o022 == 0), "the cell could replace files");
    let history = std::fs::metadata(data.join("history")).unwrap();
    assert_eq!(history.mode() & 0o077, 0, "the history is for this account alone");
    assert!(!data.join("workspaces/w1/.git").exists());
    assert!(!data.join("history/hooks").exists());
}
