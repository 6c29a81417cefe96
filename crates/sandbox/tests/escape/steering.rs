//! What steers the agent (who it is, skills, tools, schedules) is not the cell's to change, where the
//! coordinator runs: not what is there, not its place, and not what is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use cloister_control::layout::Layout;
use cloister_control::ports::{Access, CellBackend, Inhabitant, Mount, Role, SandboxSpec};
use cloister_protocol::{ChatId, WorkspaceId};

use crate::suite::{Build, Suite, limits};

const WORKSPACE: WorkspaceId = WorkspaceId::from_number(1);

/// Each step says whether it got through; `done` that all were tried.
const SCRIPT: &str = r#"#!/bin/bash
cd /workspace || exit 1
try() { if bash -c "$2" 2>/dev/null; then echo "ESCAPE $1"; else echo "held $1"; fi; }
grep -q 'Who the agent is' SOUL.md || echo "ESCAPE not even read"
echo mine > chats/C1/files/own || echo "ESCAPE not even its own chat"
echo evil > chats/C1/evil
mkdir -p chats/C1/folder
try "append" 'echo evil >> SOUL.md'
try "truncate" ': > USER.md'
try "open for writing through /proc" 'echo evil > /proc/self/cwd/MEMORY.md'
try "change the mode" 'chmod 666 HEARTBEAT.md && echo evil >> HEARTBEAT.md'
try "rename over" 'mv -f chats/C1/evil SOUL.md && grep -q evil SOUL.md'
try "rename away" 'mv MEMORY.md chats/C1/memory && test ! -e MEMORY.md'
try "unlink" 'rm -f USER.md && test ! -e USER.md'
try "hard link, then write" 'ln HEARTBEAT.md chats/C1/linked && echo evil >> chats/C1/linked'
try "make a skill" 'mkdir skills/evil && echo evil > skills/evil/SKILL.md'
try "make a tool" 'echo evil > tools/evil'
try "make a schedule" 'ln -s /etc/passwd schedules/evil'
try "make what is missing" 'echo evil > AGENTS.md'
try "replace a folder" 'mv skills chats/C1/skills && mv chats/C1/folder skills'
try "remove a folder" 'rmdir tools'
try "remount" 'mount -o remount,rw,bind /workspace'
try "unmount the chats" 'umount /workspace/chats'
echo done
"#;

pub(crate) async fn attack(suite: &mut Suite) {
    let ran = run(suite, Build::Hardened, "hardened").await;
    let held = ran.iter().filter(|line| line.starts_with("held ")).count();
    let hardened = match ran.iter().find_map(|line| line.strip_prefix("ESCAPE ")) {
        Some(escape) => Err(format!("ESCAPED: {escape}")),
        None if ran.iter().any(|line| line == "done") => Ok(format!("held, {held} steps")),
        None => Err(format!("the attack did not finish: {ran:?}")),
    };
    let missing = if suite.root { "own_uid+read_only+landlock" } else { "read_only+landlock" };
    let ran = run(suite, Build::Without(missing), "weakened").await;
    let through = |line: &&String| line.starts_with("ESCAPE ") && !line.contains("not even");
    let escapes = ran.iter().filter(through).count();
    // Mounting, and linking from one mount to another, is for other layers to refuse.
    let weakened = if escapes >= 10 {
        Ok(format!("without {missing}: {escapes} steps got through"))
    } else {
        Err(format!("DOES NOT BITE: {ran:?}"))
    };
    suite.row("E12", "change what steers the agent", hardened, weakened);
}

async fn run(suite: &Suite, build: Build<'_>, name: &str) -> Vec<String> {
    let root = suite.host.root.join(format!("steering-{name}"));
    let layout = Layout::new(&root);
    layout.create().unwrap();
    let script = suite.host.root.join(format!("agents/steering-{name}"));
    fs::write(&script, SCRIPT).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let backend = suite.backend(build, script);
    let prepared = layout.prepare(WORKSPACE, &[ChatId::from_number(1)]).unwrap();
    // Without a uid of its own the cell is whoever we are, and the chats are its own already.
    if matches!(build, Build::Hardened) {
        prepared.given.iter().for_each(|file| backend.adopt(WORKSPACE, file).unwrap());
    }
    prepared.shown.iter().for_each(|file| backend.show(WORKSPACE, file).unwrap());
    let door = suite.host.root.join(format!("doors/steering-{name}"));
    let _listener = UnixListener::bind(&door).unwrap();
    let workspace = layout.workspace(WORKSPACE);
    let mount =
        |source: PathBuf, target: &str, access| Mount { source, target: target.into(), access };
    let spec = SandboxSpec {
        name: format!("steering-{name}"),
        inhabitant: Inhabitant::Agent(Role::Coordinator),
        owner: WORKSPACE.into(),
        mounts: vec![
            mount(workspace.clone(), "/workspace", Access::ReadOnly),
            mount(workspace.join("chats"), "/workspace/chats", Access::ReadWrite),
        ],
        door,
        cwd: "/workspace".into(),
        limits: limits(),
    };
    let sandbox = match backend.launch(spec).await {
        Ok(sandbox) => sandbox,
        Err(error) => return vec![format!("not launched: {error}")],
    };
    sandbox.wait().await;
    sandbox.log_tail().lines().map(str::to_owned).collect()
}
