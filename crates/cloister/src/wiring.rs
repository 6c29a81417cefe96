//! Puts the parts together.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cloister_broker::{BuildError, ConnectorsWayOut, DoorServer, ModelGateway};
use cloister_control::layout::Layout;
use cloister_control::ports::{ModelDefaults, SurfaceHost, SurfaceHosts, TriedModel, Upstream};
use cloister_control::{
    AuditParts, Books, CellOptions, Clients, ConnectorOptions, ConnectorProgram, Control, Metrics,
    Parts, Policies, RemoteHost, SecretOptions, finish_interrupted_change,
};
use cloister_policy::engine::PolicyErrors;
use cloister_protocol::admin::Key;
use cloister_protocol::{ErrorBody, ErrorCode, with_causes};
use cloister_sandbox::NativeBackend;
use cloister_store::Store;
use cloister_store::models::Model;
use cloister_vault::Keyring;
use futures_util::future::BoxFuture;

use crate::config::Config;
use crate::master;
use crate::output::{BAD_CONFIG, CliError, UNAVAILABLE};

/// Everything that runs, or could.
pub struct Built {
    pub(crate) control: Control,
    pub(crate) store: Store,
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) gateway: ModelGateway,
    pub(crate) egress: cloister_broker::EgressHandle,
    pub(crate) config: Config,
    pub(crate) remote: cloister_web::Remote,
    /// Built and not started: that is for `up` alone.
    pub(crate) surfaces: SurfaceHosts,
    /// Held as long as this process owns the data directory.
    _lock: File,
}

/// Takes the data directory for this process alone and builds the control plane on it.
pub(crate) async fn build(data: &Path) -> Result<Built, CliError> {
    build_with(Config::load(data)?, data, Arc::default()).await
}

/// The same, with settings that are read already, and counting where somebody else counts too.
pub(crate) async fn build_with(
    config: Config,
    data: &Path,
    metrics: Arc<Metrics>,
) -> Result<Built, CliError> {
    let layout = create_layout(data)?;
    let lock = lock(&layout)?;
    finish_interrupted_change(&layout)?;
    adopt_old_state(&layout)?;
    let policies = Policies::load(&layout.policies()).map_err(|wrong| bad_policies(&wrong))?;
    refuse_lost_database(&layout)?;
    let store = Store::open_with(&layout.database(), config.store).await?;
    let keys = master::unlock(&store, layout.root(), &config.secrets).await?;
    let books = Books::new(store.clone(), keys.clone()).speaking(config.surfaces.language);
    let witnesses = cloister_broker::witnesses(&config.audit, &books).map_err(no_witnesses)?;
    let audit = AuditParts { options: config.audit.clone(), witnesses };
    let master = master::settings(layout.root());
    let mut options = cloister_broker::Options::new(layout.keys());
    options.upstream = (&config.models).into();
    options.egress = config.egress.clone();
    options.search = config.search.clone();
    options.metrics = Arc::clone(&metrics);
    let doors = DoorServer::new(options, books).map_err(no_doors)?;
    let gateway = doors.gateway().clone();
    let egress = doors.egress();
    let backend = backend(&layout)?;
    let ca = layout.root().join("ca");
    let remote = cloister_web::Remote::open(&ca, Clients::new(store.clone()), config.admin.clone());
    let remote = remote.map_err(no_authority)?;
    let control = Control::new(Parts {
        store: store.clone(),
        layout,
        cells: CellOptions { web_search: config.search.provider.is_some(), ..config.cells.clone() },
        users: config.users.clone(),
        work: config.work.clone(),
        limits: config.limits.clone(),
        gates: config.gates.clone(),
        files: config.files.clone(),
        surfaces: config.surfaces.clone(),
        backend: Arc::new(backend),
        doors: Arc::new(doors),
        metrics,
        keys,
        policies,
        audit,
        master,
    });
    control.config().check_settings_with(Config::check);
    control.models().seal_plain_keys().await?;
    let upstream = Arc::new(Gateway(gateway.clone()));
    let surfaces = surfaces(&control, &config)?;
    Ok(Built { control, store, upstream, gateway, egress, config, remote, surfaces, _lock: lock })
}

/// Every surface that connectors can be added to.
fn surfaces(control: &Control, config: &Config) -> Result<SurfaceHosts, CliError> {
    let way_out = Arc::new(ConnectorsWayOut::default());
    let mut hosts: Vec<Arc<dyn SurfaceHost>> = Vec::new();
    for of in ours(config)?.into_iter().chain(own(config)) {
        let surface = of.surface;
        let program = ConnectorProgram::new(control.clone(), of, Arc::clone(&way_out) as _);
        hosts.push(RemoteHost::new(control.clone(), surface, program));
    }
    Ok(SurfaceHosts::new(hosts))
}

/// How many surfaces are ours: the numbers of others begin after them.
const OURS: u8 = 3;
/// The longest path that Linux knows.
const LONGEST_PATH: u64 = 4096;

/// Where our connectors may go besides the servers of their accounts, whatever their programs say: what parses
/// hostile bytes does not decide that. Every Matrix account has its homeserver, and where that is may be said
/// anywhere while the account is added.
const MATRIX_HOSTS: &[&str] = &["*"];
const TELEGRAM_HOSTS: &[&str] = &["api.telegram.org"];
const DISCORD_HOSTS: &[&str] = &[
    "discord.com",
    "gateway.discord.gg",
    "*.discord.gg",
    "cdn.discordapp.com",
    "media.discordapp.net",
];

/// The surfaces that are part of the product.
fn ours(config: &Config) -> Result<Vec<ConnectorOptions>, CliError> {
    let ours: [_; OURS as usize] = [
        ("matrix", MATRIX_HOSTS, serde_json::to_value(&config.matrix)),
        ("telegram", TELEGRAM_HOSTS, serde_json::to_value(&config.telegram)),
        ("discord", DISCORD_HOSTS, serde_json::to_value(&config.discord)),
    ];
    let mut all = Vec::new();
    for (number, (surface, hosts, options)) in (0..).zip(ours) {
        let program = beside(&format!("cloister-{surface}"))?;
        all.push(ConnectorOptions {
            surface,
            number,
            own: false,
            hosts: Some(hosts),
            missing: how_to_build(surface, &program),
            program,
            options: options.unwrap_or_default(),
            log: crate::config::log_filter(),
        });
    }
    Ok(all)
}

/// The command that builds a connector where it is looked for.
fn how_to_build(surface: &str, program: &Path) -> String {
    let folder = program.parent();
    let is = |name: &str| {
        let target = folder.and_then(Path::parent).and_then(Path::file_name);
        folder.and_then(Path::file_name) == Some(name.as_ref()) && target == Some("target".as_ref())
    };
    let command = match (is("debug"), is("release")) {
        (true, _) => format!("cargo build -p cloister-{surface}"),
        (_, true) => format!("cargo build --release -p cloister-{surface}"),
        (false, false) => format!("make {surface}-connector"),
    };
    format!("build it with `{command}`, or take it from a release archive; then try again")
}

/// That the connector of a surface of ours is not beside the control plane that runs on this data directory. None: it
/// is, or the control plane will say.
pub(crate) fn missing_connector(data: &Path, surface: &str) -> Option<CliError> {
    let mut running = Vec::new();
    let lock = File::open(data.join("lock")).ok()?;
    lock.take(LONGEST_PATH).read_to_end(&mut running).ok()?;
    if running.is_empty() {
        return None;
    }
    let running = Path::new(OsStr::from_bytes(&running));
    let program = running.with_file_name(format!("cloister-{surface}"));
    if program.exists() {
        return None;
    }
    let message = format!("the connector of {surface} is not here: {}", program.display());
    let fix = how_to_build(surface, &program);
    Some(CliError::new(ErrorCode::NotFound, message).fix(fix))
}

/// The surfaces that an operator brought along.
fn own(config: &Config) -> impl Iterator<Item = ConnectorOptions> {
    (OURS..).zip(config.connectors.iter()).map(|(number, (name, own))| ConnectorOptions {
        // A surface has its name as long as the process lives, and there are a handful: nothing is to be given back.
        surface: Box::leak(Box::<str>::from(name)),
        number,
        own: true,
        program: own.program.clone(),
        hosts: None,
        missing: format!("put it there, or change `[connectors.{name}] program`"),
        options: own.options.clone().into(),
        log: crate::config::log_filter(),
    })
}

/// The keys of a data directory that has no settings of its own.
pub async fn unlock(store: &Store, layout: &Layout) -> Result<Keyring, CliError> {
    master::unlock(store, layout.root(), &SecretOptions::default()).await
}

fn no_witnesses(error: cloister_broker::WitnessSetupError) -> CliError {
    CliError::new(ErrorCode::BadRequest, with_causes(&error))
        .fix("docs/operating.md lists every setting")
        .exit(BAD_CONFIG)
}

fn bad_policies(errors: &PolicyErrors) -> CliError {
    CliError::new(ErrorCode::BadRequest, format!("the policies can't take effect:\n{errors}"))
        .fix("change these files; `cloister policy check` looks at them again")
        .exit(BAD_CONFIG)
}

fn no_authority(error: cloister_pki::PkiError) -> CliError {
    let message = format!("the certificate authority can't be used: {}", with_causes(&error));
    match error {
        cloister_pki::PkiError::BadRequest { .. } => CliError::new(ErrorCode::BadRequest, message)
            .fix("see `[admin] names` in cloister.toml")
            .exit(BAD_CONFIG),
        _ => CliError::new(ErrorCode::Internal, message).exit(UNAVAILABLE),
    }
}

fn no_doors(error: BuildError) -> CliError {
    match error {
        BuildError::Egress(wrong) => CliError::new(
            ErrorCode::BadRequest,
            format!("cloister.toml is not right: {}", with_causes(&wrong)),
        )
        .fix("docs/operating.md lists every setting")
        .exit(BAD_CONFIG),
        BuildError::Client(_) => CliError::new(ErrorCode::Internal, with_causes(&error))
            .fix("if no CA certificates were found, install them: `apt install ca-certificates`"),
        BuildError::NoRuntime(_) => CliError::new(ErrorCode::Internal, with_causes(&error)),
    }
}

/// Moves what the one connector kept that is older than the place for what connectors keep.
fn adopt_old_state(layout: &Layout) -> Result<(), CliError> {
    let failed = "what the connector of Matrix keeps could not be moved to its place";
    layout.adopt_surface_state("matrix").map_err(CliError::io(failed))
}

pub fn create_layout(data: &Path) -> Result<Layout, CliError> {
    let failed = || format!("the data directory {} can't be used", data.display());
    Layout::new(data).create().map_err(CliError::io(failed()))?;
    // The sandbox refuses paths with links in them.
    let real = data.canonicalize().map_err(CliError::io(failed()))?;
    Ok(Layout::new(real))
}

/// A new database beside what an old one knew of would be a start from nothing that nobody asked for.
pub(crate) fn refuse_lost_database(layout: &Layout) -> Result<(), CliError> {
    let path = layout.database();
    if std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
        return Ok(());
    }
    let holds = |dir: PathBuf| std::fs::read_dir(dir).is_ok_and(|mut all| all.next().is_some());
    let kept = [layout.workspaces(), layout.objects(), layout.root().join("audit")];
    if !kept.into_iter().any(holds) {
        return Ok(());
    }
    let message =
        format!("the database {} is gone, and what belongs to it is there", path.display());
    Err(CliError::new(ErrorCode::Conflict, message)
        .fix("put back a backup of the whole data directory; to begin anew, choose another with --data")
        .exit(UNAVAILABLE))
}

/// The native backend, with the two programs that are installed beside this one.
pub fn backend(layout: &Layout) -> Result<NativeBackend, CliError> {
    let mut tag = std::collections::hash_map::DefaultHasher::new();
    std::hash::Hash::hash(layout.root(), &mut tag);
    Ok(NativeBackend::new(cloister_sandbox::Options {
        launcher: beside("cloister-launcher")?,
        agent: beside("cloister-agent")?,
        instance: format!("{:08x}", std::hash::Hasher::finish(&tag) & 0xffff_ffff),
        first_uid: cloister_sandbox::Options::FIRST_UID,
    }))
}

fn beside(name: &str) -> Result<PathBuf, CliError> {
    let failed = "this program's own place can't be found";
    let own = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(CliError::io(failed))?;
    Ok(own.with_file_name(name))
}

fn lock(layout: &Layout) -> Result<File, CliError> {
    let path = layout.root().join("lock");
    let failed = format!("{} could not be opened", path.display());
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(CliError::io(failed))?;
    match file.try_lock() {
        Ok(()) => {
            // Whoever asks may be another program than the one that runs, from another place.
            let own = std::env::current_exe().and_then(|path| path.canonicalize());
            let noted = own.and_then(|own| {
                file.set_len(0)?;
                (&file).write_all(own.as_os_str().as_bytes())
            });
            noted.map_err(CliError::io(format!("{} could not be written", path.display())))?;
            Ok(file)
        }
        Err(std::fs::TryLockError::WouldBlock) => Err(CliError::new(
            ErrorCode::Conflict,
            format!("another cloister uses {}", layout.root().display()),
        )
        .fix("stop it, or choose another directory with --data")
        .exit(UNAVAILABLE)),
        Err(std::fs::TryLockError::Error(error)) => {
            Err(CliError::io("the data directory could not be locked")(error))
        }
    }
}

/// The broker's model gateway, as administration sees it.
struct Gateway(ModelGateway);

impl Upstream for Gateway {
    fn defaults(&self, model_id: &str) -> ModelDefaults {
        let prices = cloister_broker::prices_of(model_id);
        ModelDefaults {
            prompt_price: prices.prompt,
            completion_price: prices.completion,
            max_output_tokens: prices.max_output_tokens,
        }
    }

    fn probe<'a>(
        &'a self,
        model: &'a Model,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<TriedModel, ErrorBody>> {
        Box::pin(async move {
            let probe = self.0.probe(model, key).await?;
            let answer = format!("answered in {} ms", probe.answered_in.as_millis());
            Ok(TriedModel { answer, profile: probe.profile })
        })
    }

    fn model_ids<'a>(
        &'a self,
        base_url: &'a str,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Vec<String>, ErrorBody>> {
        Box::pin(self.0.model_ids(base_url, key))
    }
}
