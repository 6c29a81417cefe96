//! Group A: files.

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use cloister_control::ports::{CellBackend, SandboxSpec};
use cloister_protocol::WorkspaceId;

use crate::halves::command;
use crate::suite::{Attack, Build, Suite, Weak, limits, strings};

const HOST_TREE: &str = "own_root+own_uid+landlock";
const REAL_ROOT: &str = "user_namespace+own_uid+no_capabilities+own_root+landlock+seccomp+nosuid";

pub(crate) async fn attack(suite: &mut Suite) {
    let canary = suite.host.path("host/canary");
    suite
        .attack(Attack {
            id: "E1",
            what: "read the host's secrets",
            args: vec![canary.clone()],
            as_root: Weak::Without(HOST_TREE),
            as_user: Weak::Without(HOST_TREE),
        })
        .await;
    other_cell(suite).await;
    suite
        .attack(Attack {
            id: "E7",
            what: "hard link to a file outside",
            args: vec![canary, suite.host.path("host")],
            as_root: Weak::Without(HOST_TREE),
            as_user: Weak::Without(HOST_TREE),
        })
        .await;
    suite
        .attack(Attack {
            id: "E8",
            what: "make and open devices",
            args: Vec::new(),
            as_root: Weak::Without(REAL_ROOT),
            as_user: Weak::Without("own_root+landlock+seccomp"),
        })
        .await;
    suite
        .attack(Attack {
            id: "E9",
            what: "write to the system, remount, bind",
            args: Vec::new(),
            as_root: Weak::Without("own_uid+read_only+landlock+seccomp"),
            as_user: Weak::Without("read_only+landlock+seccomp"),
        })
        .await;
    suite
        .attack(Attack {
            id: "E10",
            what: "open by a handle of the host",
            args: suite.host.canary_handle(),
            as_root: Weak::Without(REAL_ROOT),
            as_user: Weak::NotShown("the kernel asks for a capability over the host"),
        })
        .await;
    planted_files(suite).await;
}

/// Cell B runs while cell A looks for its files.
async fn other_cell(suite: &mut Suite) {
    let agent = suite.host.root.join("agents/neighbour");
    fs::write(&agent, "#!/bin/sh\nexec sleep 300\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&agent, mode).unwrap();
    let door = suite.host.root.join("doors/neighbour");
    let _listener = UnixListener::bind(&door).unwrap();
    let mut spec = SandboxSpec {
        name: "neighbour".to_owned(),
        owner: WorkspaceId::from_number(2).into(),
        door,
        ..suite.spec(limits())
    };
    for mount in &mut spec.mounts {
        if mount.target == Path::new("/chat") {
            mount.source = suite.host.root.join("cells/b");
        }
    }
    let neighbour = suite.backend(Build::Hardened, agent).launch(spec).await.unwrap();
    let secret = suite.host.path("cells/b/secret.txt");
    suite
        .attack(Attack {
            id: "E2",
            what: "read another cell's workspace",
            args: vec![secret, "secret.txt".to_owned()],
            as_root: Weak::Without(HOST_TREE),
            as_user: Weak::Without(HOST_TREE),
        })
        .await;
    neighbour.kill().await;
}

/// Files that tools interpret are made inside; nothing on the host runs them.
async fn planted_files(suite: &mut Suite) {
    let marker = suite.host.path("cells/a/executed-on-the-host");
    let ran = suite.run(Build::Hardened, "E12", std::slice::from_ref(&marker), limits()).await;
    let dir = suite.host.root.join("cells/a");
    let backend = suite.backend(Build::Hardened, PathBuf::from("/bin/true"));
    backend.adopt(WorkspaceId::from_number(1), &fs::File::open(&dir).unwrap()).unwrap();
    backend.sweep().await;
    suite.run(Build::Hardened, "E7", &strings(["/nonexistent", "/nonexistent"]), limits()).await;
    let hardened = if !ran.finished() || !dir.join(".git/hooks/pre-commit").exists() {
        Err(format!("nothing was planted: {:?}", ran.lines))
    } else if Path::new(&marker).exists() {
        Err("the host executed it".to_owned())
    } else {
        Ok("held, the host executed nothing".to_owned())
    };
    // A host that treats the workspace as a repository of its own.
    let git = [
        "-c",
        "safe.directory=*",
        "-c",
        "core.hooksPath=.git/hooks",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ];
    let mut careless = command(Path::new("git"));
    careless.args(git).current_dir(&dir);
    let configuration = [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "safe.directory"),
        ("GIT_CONFIG_VALUE_0", "*"),
    ];
    careless.envs(configuration).output().unwrap();
    let weakened = if Path::new(&marker).exists() {
        Ok("a host that runs git there: escaped: hook executed".to_owned())
    } else {
        Err("DOES NOT BITE: the hook did not run".to_owned())
    };
    suite.row("E12", "plant files that tools interpret", hardened, weakened);
}
