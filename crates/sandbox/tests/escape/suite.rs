//! Runs attacks against both builds and keeps the table.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use cloister_control::ports::{
    Access, CellBackend, Exit, Inhabitant, LaunchError, Limits, Mount, Role, Sandbox, SandboxSpec,
};
use cloister_protocol::WorkspaceId;
use cloister_protocol::link::DOOR_PATH;
use cloister_sandbox::{NativeBackend, Options};

use crate::host::Host;

pub(crate) const WALL: Duration = Duration::from_secs(100);

/// One row of the list.
pub(crate) struct Attack {
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    /// For the probe. `{probe}` is where its directory is, `{door}` where the door is.
    pub(crate) args: Vec<String>,
    pub(crate) as_root: Weak,
    pub(crate) as_user: Weak,
}

/// The build that the attack must succeed against.
#[derive(Clone)]
pub(crate) enum Weak {
    /// These layers are missing, joined by `+`.
    Without(&'static str),
    Looser(Box<Limits>),
    /// Nothing we could leave out opens it; why.
    NotShown(&'static str),
}

#[derive(Clone, Copy)]
pub(crate) enum Build<'a> {
    Hardened,
    Without(&'a str),
}

impl Build<'_> {
    fn own_root(self) -> bool {
        match self {
            Self::Hardened => true,
            Self::Without(layers) => !layers.split('+').any(|layer| layer == "own_root"),
        }
    }
}

/// What a probe said.
pub(crate) struct Ran {
    pub(crate) lines: Vec<String>,
    pub(crate) exit: Exit,
}

impl Ran {
    pub(crate) fn escapes(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("ESCAPE ")).collect()
    }

    pub(crate) fn finished(&self) -> bool {
        self.lines.iter().any(|line| line == "done")
    }

    fn held(&self) -> usize {
        self.lines.iter().filter(|line| line.starts_with("held ")).count()
    }
}

pub(crate) struct Suite {
    pub(crate) host: Host,
    pub(crate) root: bool,
    launches: u32,
    failures: Vec<String>,
}

impl Suite {
    pub(crate) fn new() -> Self {
        let host = Host::plant();
        let suite = Self {
            host,
            root: rustix::process::geteuid().is_root(),
            launches: 0,
            failures: Vec::new(),
        };
        let backend = suite.backend(Build::Hardened, PathBuf::from("/bin/true"));
        for (cell, workspace) in [("cells/a", 1), ("cells/b", 2)] {
            let dir = fs::File::open(suite.host.root.join(cell)).unwrap();
            backend.adopt(WorkspaceId::from_number(workspace), &dir).unwrap();
        }
        println!("| {:<4} | {:<38} | {:<34} | weakened", "row", "attack", "hardened");
        suite
    }

    /// Runs an attack against both builds and writes its line.
    pub(crate) async fn attack(&mut self, attack: Attack) {
        self.attack_with(attack, limits()).await;
    }

    pub(crate) async fn attack_with(&mut self, attack: Attack, limits: Limits) {
        let Attack { id, what, args, as_root, as_user } = attack;
        let ran = self.run(Build::Hardened, id, &args, limits.clone()).await;
        let hardened = match ran.escapes().first() {
            Some(escape) => Err(format!("ESCAPED: {escape}")),
            None if ran.finished() => Ok(format!("held, {} steps", ran.held())),
            None => Err(format!("the probe did not finish: {:?} {:?}", ran.exit, ran.lines)),
        };
        let weak = if self.root { as_root } else { as_user };
        let weakened = match weak {
            Weak::NotShown(why) => Ok(format!("not shown: {why}")),
            Weak::Without(layers) => self
                .bites(id, &args, Build::Without(layers), limits)
                .await
                .map(|how| format!("without {layers}: {how}")),
            Weak::Looser(limits) => self
                .bites(id, &args, Build::Hardened, *limits)
                .await
                .map(|how| format!("looser limits: {how}")),
        };
        self.row(id, what, hardened, weakened);
    }

    async fn bites(
        &mut self,
        id: &str,
        args: &[String],
        build: Build<'_>,
        limits: Limits,
    ) -> Result<String, String> {
        let ran = self.run(build, id, args, limits).await;
        match ran.escapes().first() {
            Some(escape) => Ok(format!("escaped: {escape}")),
            None => Err(format!("DOES NOT BITE: {:?} {:?}", ran.exit, ran.lines)),
        }
    }

    pub(crate) fn row(
        &mut self,
        id: &str,
        what: &str,
        hardened: Result<String, String>,
        weakened: Result<String, String>,
    ) {
        let text = |result: &Result<String, String>| match result {
            Ok(text) | Err(text) => text.clone(),
        };
        println!("| {id:<4} | {what:<38} | {:<34} | {}", text(&hardened), text(&weakened));
        for result in [hardened, weakened] {
            self.failures.extend(result.err().map(|why| format!("{id} {what}: {why}")));
        }
    }

    pub(crate) fn finish(self) {
        assert!(self.failures.is_empty(), "{:#?}", self.failures);
    }

    pub(crate) fn backend(&self, build: Build<'_>, agent: PathBuf) -> NativeBackend {
        let launcher = match build {
            Build::Hardened => self.host.tools.launcher.clone(),
            Build::Without(layers) => self.host.weak_launcher(&format!("weak-{layers}")),
        };
        self.backend_with(launcher, agent)
    }

    /// The backend of another installation.
    pub(crate) fn backend_of(&self, instance: &str) -> NativeBackend {
        NativeBackend::new(Options {
            launcher: self.host.tools.launcher.clone(),
            agent: PathBuf::from("/bin/true"),
            instance: instance.to_owned(),
            first_uid: Options::FIRST_UID,
        })
    }

    pub(crate) fn backend_with(&self, launcher: PathBuf, agent: PathBuf) -> NativeBackend {
        NativeBackend::new(Options {
            launcher,
            agent,
            instance: format!("escape-{}", std::process::id()),
            first_uid: Options::FIRST_UID,
        })
    }

    /// A script that becomes the probe; it stands in for the agent.
    pub(crate) fn agent(&mut self, build: Build<'_>, row: &str, args: &[String]) -> PathBuf {
        self.launches += 1;
        let own_root = build.own_root();
        let probe = if own_root { "/probe".to_owned() } else { self.host.path("probe") };
        let door = if own_root { DOOR_PATH.to_owned() } else { self.door() };
        let cwd = if own_root { "/chat".to_owned() } else { self.host.path("cells/a") };
        let args: Vec<_> = args
            .iter()
            .map(|arg| arg.replace("{probe}", &probe).replace("{door}", &door))
            .collect();
        let script =
            format!("#!/bin/sh\ncd {cwd} && exec {probe}/probe {row} {}\n", args.join(" "));
        let path = self.host.root.join(format!("agents/agent-{}", self.launches));
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// How many sandboxes were launched so far.
    pub(crate) fn launches(&self) -> u32 {
        self.launches
    }

    fn door(&self) -> String {
        self.host.path(&format!("doors/{}", self.launches))
    }

    pub(crate) fn spec(&self, limits: Limits) -> SandboxSpec {
        let mount = |source: &str, target: &str, access| Mount {
            source: self.host.root.join(source),
            target: PathBuf::from(target),
            access,
        };
        SandboxSpec {
            name: format!("probe-{}", self.launches),
            inhabitant: Inhabitant::Agent(Role::Executor),
            owner: WorkspaceId::from_number(1).into(),
            mounts: vec![
                mount("cells/a", "/chat", Access::ReadWrite),
                mount("probe", "/probe", Access::ReadOnly),
            ],
            door: PathBuf::from(self.door()),
            cwd: PathBuf::from("/chat"),
            limits,
        }
    }

    /// Starts a probe and leaves it running.
    pub(crate) async fn start(
        &mut self,
        build: Build<'_>,
        row: &str,
        args: &[String],
        limits: Limits,
    ) -> Result<(Box<dyn Sandbox>, UnixListener), LaunchError> {
        let agent = self.agent(build, row, args);
        let door = UnixListener::bind(self.door()).unwrap();
        let sandbox = self.backend(build, agent).launch(self.spec(limits)).await?;
        Ok((sandbox, door))
    }

    pub(crate) async fn run(
        &mut self,
        build: Build<'_>,
        row: &str,
        args: &[String],
        limits: Limits,
    ) -> Ran {
        match self.start(build, row, args, limits).await {
            Ok((sandbox, door)) => {
                let exit = sandbox.wait().await;
                drop(door);
                let lines = sandbox.log_tail().lines().map(str::to_owned).collect();
                Ran { lines, exit }
            }
            Err(error) => {
                Ran { lines: vec![format!("not launched: {error}")], exit: Exit::Code(-1) }
            }
        }
    }
}

pub(crate) fn strings<const N: usize>(args: [&str; N]) -> Vec<String> {
    args.map(str::to_owned).to_vec()
}

pub(crate) fn limits() -> Limits {
    Limits {
        memory_bytes: 256 << 20,
        processes: 64,
        cpu_percent: 200,
        cpu_weight: 10,
        file_bytes: 16 << 20,
        open_files: 256,
        tmp_bytes: 32 << 20,
        log_bytes: 64 << 10,
        wall: Some(WALL),
    }
}
