//! A backend whose agent is a shell script.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use cloister_control::ports::{
    Access, CellBackend, Inhabitant, Limits, Mount, Role, Sandbox, SandboxSpec,
};
use cloister_protocol::WorkspaceId;
use cloister_sandbox::{NativeBackend, Options};

/// A backend whose agent is a shell script, and a spec for it.
pub(crate) struct Bench {
    pub(crate) backend: NativeBackend,
    pub(crate) spec: SandboxSpec,
    _door: UnixListener,
    _scratch: tempfile::TempDir,
}

/// The launcher, beside the folder of the tests.
fn launcher() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(std::path::Path::parent).unwrap().join("cloister-launcher")
}

impl Bench {
    pub(crate) fn new(name: &str, script: &str) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(scratch.path()).unwrap();
        let (agent, door, chat) = (root.join("agent"), root.join("door"), root.join("chat"));
        std::fs::write(&agent, format!("#!/bin/bash\n{script}\n")).unwrap();
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::create_dir(&chat).unwrap();
        let backend = NativeBackend::new(Options {
            launcher: launcher(),
            agent,
            instance: format!("backend-{}-{name}", std::process::id()),
            first_uid: Options::FIRST_UID,
        });
        let workspace = WorkspaceId::from_number(7);
        backend.adopt(workspace, &std::fs::File::open(&chat).unwrap()).unwrap();
        let mount =
            Mount { source: chat, target: PathBuf::from("/chat"), access: Access::ReadWrite };
        let spec = SandboxSpec {
            name: name.to_owned(),
            inhabitant: Inhabitant::Agent(Role::Executor),
            owner: workspace.into(),
            mounts: vec![mount],
            door: door.clone(),
            cwd: PathBuf::from("/chat"),
            limits: Limits {
                memory_bytes: 128 << 20,
                processes: 32,
                cpu_percent: 100,
                cpu_weight: 10,
                file_bytes: 1 << 20,
                open_files: 64,
                tmp_bytes: 8 << 20,
                log_bytes: 1000,
                wall: Some(Duration::from_secs(30)),
            },
        };
        let door = UnixListener::bind(&door).unwrap();
        Self { backend, spec, _door: door, _scratch: scratch }
    }

    pub(crate) async fn launch(&self) -> Box<dyn Sandbox> {
        self.backend.launch(self.spec.clone()).await.unwrap()
    }
}
