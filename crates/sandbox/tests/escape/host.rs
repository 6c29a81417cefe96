//! The host that is attacked: what is planted on it and the programs the attack uses.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;

use crate::halves::command;

/// Planted in the environment of whoever starts launchers, and in files.
pub(crate) const CANARY: &str = "SECRET_CANARY_5e1f";

/// The programs under attack and the one that attacks.
pub(crate) struct Tools {
    pub(crate) launcher: PathBuf,
    pub(crate) weak_launcher: PathBuf,
    pub(crate) probe: PathBuf,
}

impl Tools {
    /// Next to the test if it was copied, else where cargo builds them.
    pub(crate) fn find() -> Self {
        let test = std::env::current_exe().unwrap();
        let beside = test.parent().unwrap();
        if beside.join("cloister-launcher").exists() {
            return Self {
                launcher: beside.join("cloister-launcher"),
                weak_launcher: beside.join("weak_launcher"),
                probe: beside.join("probe"),
            };
        }
        let built = beside.parent().unwrap();
        Self {
            launcher: built.join("cloister-launcher"),
            weak_launcher: built.join("examples/weak_launcher"),
            probe: compile_probe(),
        }
    }

    pub(crate) fn copy_to(&self, dir: &Path) {
        for (from, name) in [
            (&self.launcher, "cloister-launcher"),
            (&self.weak_launcher, "weak_launcher"),
            (&self.probe, "probe"),
        ] {
            fs::copy(from, dir.join(name)).unwrap();
        }
    }
}

fn compile_probe() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escape/probe.c");
    let probe = Path::new(env!("CARGO_TARGET_TMPDIR")).join("probe");
    let fresh = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    if fresh(&probe) < fresh(&source) {
        // Tests run side by side: each builds its own and the last one stays.
        let own = probe.with_extension(std::process::id().to_string());
        let status = command(Path::new("cc")).arg("-O1").arg("-o").arg(&own).arg(source).status();
        assert!(status.unwrap().success(), "the probe does not compile");
        fs::rename(own, &probe).unwrap();
    }
    probe
}

/// Everything planted on the host.
pub(crate) struct Host {
    _dir: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) tools: Tools,
    pub(crate) loopback: TcpListener,
    pub(crate) abstract_name: String,
    _abstract: UnixListener,
    _path: UnixListener,
}

impl Host {
    pub(crate) fn plant() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
        for name in ["host", "cells", "cells/a", "cells/b", "probe", "agents", "launchers", "doors"]
        {
            fs::create_dir(root.join(name)).unwrap();
        }
        let tools = Tools::find();
        fs::write(root.join("host/canary"), CANARY).unwrap();
        fs::set_permissions(root.join("host/canary"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(root.join("host"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(root.join("cells/b/secret.txt"), CANARY).unwrap();
        fs::copy(&tools.probe, root.join("probe/probe")).unwrap();
        fs::copy(&tools.probe, root.join("probe/setuid")).unwrap();
        let setuid = fs::Permissions::from_mode(0o4755);
        fs::set_permissions(root.join("probe/setuid"), setuid).unwrap();
        let calls = cloister_sandbox::launcher::allowed_calls();
        let listed: String = calls.iter().map(|call| format!("{call}\n")).collect();
        fs::write(root.join("probe/listed"), listed).unwrap();
        let abstract_name = format!("cloister-escape-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&abstract_name).unwrap();
        Self {
            _abstract: UnixListener::bind_addr(&address).unwrap(),
            _path: UnixListener::bind(root.join("host.sock")).unwrap(),
            loopback: TcpListener::bind("127.0.0.1:0").unwrap(),
            abstract_name,
            tools,
            root,
            _dir: dir,
        }
    }

    pub(crate) fn path(&self, below: &str) -> String {
        self.root.join(below).to_str().unwrap().to_owned()
    }

    /// A handle of the canary, as type and bytes.
    pub(crate) fn canary_handle(&self) -> Vec<String> {
        let probe = command(&self.tools.probe).arg("handle").arg(self.path("host/canary")).output();
        let text = String::from_utf8(probe.unwrap().stdout).unwrap();
        text.split_whitespace().map(str::to_owned).collect()
    }

    /// A launcher with layers missing: its name says which.
    pub(crate) fn weak_launcher(&self, name: &str) -> PathBuf {
        let link = self.root.join("launchers").join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(&self.tools.weak_launcher, &link).unwrap();
        }
        link
    }
}

/// A process on the host that a cell of the first workspace might reach if it could see it.
pub(crate) struct Sentinel(pub(crate) Child);

impl Sentinel {
    pub(crate) fn start(uid: u32) -> Self {
        let mut sleep = command(Path::new("sleep"));
        if rustix::process::geteuid().is_root() {
            let id = uid.to_string();
            sleep = command(Path::new("setpriv"));
            sleep.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--", "sleep"]);
        }
        Self(sleep.arg("300").spawn().unwrap())
    }

    pub(crate) fn alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Answers a door as the broker does: reads bytes, takes no descriptors.
pub(crate) fn answer(door: &UnixListener) -> std::io::Result<()> {
    let (mut stream, _): (UnixStream, _) = door.accept()?;
    let mut taken = Vec::new();
    stream.read_to_end(&mut taken)?;
    stream.write_all(b"x")
}
