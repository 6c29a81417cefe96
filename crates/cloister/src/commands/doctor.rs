//! `cloister doctor`: every check has a stable id, what was found, and what to do.

use std::process::ExitCode;

use cloister_control::layout::Layout;
use cloister_control::ports::{CellBackend, Check, CheckStatus};
use cloister_control::{Layering, check_policy_files, read_policy_dir};
use cloister_protocol::admin::{ConnectorState, ConnectorView, Judgement, StatusView, StopView};

use super::{Context, connectors as surfaces, doctor_kept as kept};
use crate::client::connect;
use crate::config::{Config, OwnConnector};
use crate::output::CliError;

pub(super) async fn run(context: Context) -> Result<ExitCode, CliError> {
    let mut checks = vec![config(&context), data(&context)];
    checks.extend(kept::checks(&context.data).await);
    checks.push(running(&context).await);
    let backend = crate::wiring::backend(&Layout::new(&context.data))?;
    checks.extend(backend.check().await);
    checks.push(layers(&context, &backend).await);
    checks.push(quota());
    checks.push(policies(&context));
    checks.extend(stopped(&context).await);
    checks.extend(safety(&context).await);
    checks.extend(connectors(&context).await);
    let failed = checks.iter().any(|check| check.status == CheckStatus::Failed);
    context.output.result(&checks, || words(&checks))?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How the changes of tasks are kept apart from the files of chats.
async fn layers(context: &Context, backend: &impl CellBackend) -> Check {
    let id = "files.layers";
    let wanted = Config::load(&context.data).map(|config| config.cells.layers).unwrap_or_default();
    if wanted == Layering::Copy {
        let found = "each task works on a copy of the chat's files, as `[cells] layers` says";
        return check(id, CheckStatus::Ok, found);
    }
    let layers = Layout::new(&context.data).layers();
    let place = if layers.is_dir() { layers } else { std::env::temp_dir() };
    match (backend.can_lay(&place).await, wanted) {
        (Ok(()), _) => check(id, CheckStatus::Ok, "a task's files are laid over the chat's"),
        (Err(why), Layering::Overlay) => Check {
            fix: Some("set `[cells] layers = \"auto\"`: tasks then work on copies".to_owned()),
            ..check(id, CheckStatus::Failed, format!("no overlay can be made: {why}"))
        },
        (Err(why), _) => {
            let found = format!("no overlay can be made ({why}): each task works on a copy");
            check(id, CheckStatus::Note, found)
        }
    }
}

fn words(checks: &[Check]) -> String {
    let lines: Vec<String> = checks
        .iter()
        .map(|check| {
            let mark = match check.status {
                CheckStatus::Ok => "ok  ",
                CheckStatus::Note => "note",
                CheckStatus::Failed => "FAIL",
            };
            let fix =
                check.fix.as_ref().map(|fix| format!("\n       fix: {fix}")).unwrap_or_default();
            format!("{mark}  {}: {}{fix}", check.id, check.found)
        })
        .collect();
    let failed = checks.iter().filter(|check| check.status == CheckStatus::Failed).count();
    let sum = match failed {
        0 => "This machine can run Cloister. `note` is worth knowing; nothing has to be done."
            .to_owned(),
        1 => "One thing stands in the way: see FAIL.".to_owned(),
        more => format!("{more} things stand in the way: see FAIL."),
    };
    format!("{}\n{sum}", lines.join("\n"))
}

pub(super) fn check(id: &'static str, status: CheckStatus, found: impl Into<String>) -> Check {
    Check { id, status, found: found.into(), fix: None }
}

fn config(context: &Context) -> Check {
    match Config::load(&context.data) {
        Ok(_) => check("config.file", CheckStatus::Ok, "readable, or not there (defaults)"),
        Err(error) => Check {
            fix: error.body.fix,
            ..check("config.file", CheckStatus::Failed, error.body.message)
        },
    }
}

fn data(context: &Context) -> Check {
    let dir = context.data.display();
    match std::fs::metadata(&context.data) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => check(
            "data.dir",
            CheckStatus::Ok,
            format!("{dir} is not there yet; `{}` makes it", context.typed("up")),
        ),
        Err(error) => Check {
            fix: Some("choose a directory of yours with --data".to_owned()),
            ..check("data.dir", CheckStatus::Failed, format!("{dir}: {error}"))
        },
        Ok(meta) if !meta.is_dir() => Check {
            fix: Some("choose a directory with --data".to_owned()),
            ..check("data.dir", CheckStatus::Failed, format!("{dir} is not a directory"))
        },
        Ok(meta) => {
            let open = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 != 0;
            if open {
                let fix = Some(format!("chmod 700 {dir}"));
                Check {
                    fix,
                    ..check("data.dir", CheckStatus::Note, format!("{dir} can be read by others"))
                }
            } else {
                check("data.dir", CheckStatus::Ok, format!("{dir}"))
            }
        }
    }
}

async fn running(context: &Context) -> Check {
    match connect(&crate::client::socket_path(&context.data)).await {
        Ok(_) => {
            check("control.running", CheckStatus::Ok, "a control plane runs on this data directory")
        }
        Err(_) => Check {
            fix: Some(context.typed("up")),
            ..check(
                "control.running",
                CheckStatus::Note,
                "no control plane runs on this data directory",
            )
        },
    }
}

fn policies(context: &Context) -> Check {
    let found = read_policy_dir(&context.data.join("policies"));
    let wrong = |message: String| Check {
        fix: Some("change these files; `cloister policy check` says all that is wrong".to_owned()),
        ..check("policies", CheckStatus::Failed, message)
    };
    let checked = match found {
        Ok(files) => check_policy_files(&files),
        Err(errors) => return wrong(errors.to_string()),
    };
    match checked.problems.first().or(checked.failures.first()) {
        None => {
            let own = checked.policies;
            check("policies", CheckStatus::Ok, format!("the default ones and {own} of your own"))
        }
        Some(problem) => {
            let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
            wrong(format!("{}{line}: {}", problem.file, problem.message))
        }
    }
}

/// Whether everything is stopped; nothing is said if it is not, or nothing runs.
async fn stopped(context: &Context) -> Option<Check> {
    let client = context.running().await.ok()?;
    let view: StopView = client.get("/admin/v1/stop").await.ok()?;
    let by = view.by.filter(|_| view.stopped)?;
    let since = view.since.unwrap_or_default();
    Some(Check {
        fix: Some(context.typed("release")),
        ..check(
            "control.stopped",
            CheckStatus::Note,
            format!("everything is stopped, by {by} since {since}"),
        )
    })
}

/// Who holds the database, what waits for people, and whether the audit is kept, where a control plane runs.
async fn safety(context: &Context) -> Vec<Check> {
    let Ok(client) = context.running().await else { return Vec::new() };
    let Ok(status) = client.get::<StatusView>("/admin/v1/status").await else { return Vec::new() };
    let shown = [
        // These are there only when something is wrong.
        ("ready.database_held", "control.database_held"),
        ("ready.database", "control.database"),
        ("ready.disk", "control.disk"),
        ("ready.database_reads", "control.database_reads"),
        ("approvals", "control.approvals"),
        ("audit", "control.audit"),
    ];
    let found = shown.iter().filter_map(|(line, id)| {
        let line = status.lines.iter().find(|found| found.id == *line)?;
        let status = match line.judgement {
            Judgement::Ok => CheckStatus::Ok,
            Judgement::Attention => CheckStatus::Note,
            Judgement::Act => CheckStatus::Failed,
        };
        Some(Check { fix: line.fix.clone(), ..check(id, status, line.value.clone()) })
    });
    found.collect()
}

/// One check per bot account; where nothing runs, what the database knows of them.
async fn connectors(context: &Context) -> Vec<Check> {
    let client = match context.running().await {
        Ok(client) => client,
        Err(_) if !context.data.join("cloister.db").exists() => return Vec::new(),
        Err(_) => match context.client().await {
            Ok(client) => client,
            // What stands in the way has its own check.
            Err(_) => return Vec::new(),
        },
    };
    let runs = client.line().is_some();
    let mut checks = Vec::new();
    let config = Config::load(&context.data).unwrap_or_default();
    let own = config.connectors.iter().map(|(name, _)| surfaces::Surface::own(name));
    for surface in surfaces::ALL.into_iter().chain(own) {
        match client.get::<Vec<ConnectorView>>(&surface.connectors()).await {
            Ok(views) if views.is_empty() && surface.own => checks.push(without_accounts(surface)),
            Ok(views) => checks.extend(views.iter().map(|view| connector(surface, view, runs))),
            Err(_) if surface.own => checks.push(not_served(surface)),
            Err(_) => {}
        }
    }
    checks.extend(config.connectors.iter().filter_map(|(name, own)| no_program(name, own)));
    checks
}

fn without_accounts(surface: surfaces::Surface) -> Check {
    let add = format!("`{} --account ACCOUNT` connects one", surface.typed("add"));
    let found = format!("{} has no account yet, and does not run", surface.name);
    Check { fix: Some(add), ..check("surfaces.connector", CheckStatus::Note, found) }
}

/// Named since the control plane was started.
fn not_served(surface: surfaces::Surface) -> Check {
    let fix = "end the control plane and start it again with `cloister up`".to_owned();
    let found =
        format!("{} is in cloister.toml, and the control plane has not read it", surface.name);
    Check { fix: Some(fix), ..check("surfaces.connector", CheckStatus::Note, found) }
}

fn no_program(name: &str, own: &OwnConnector) -> Option<Check> {
    let fix = format!("put it there, or change `[connectors.{name}] program`");
    let found = format!("the program of {name} is not here: {}", own.program.display());
    let missing =
        || Check { fix: Some(fix), ..check("surfaces.program", CheckStatus::Failed, found) };
    (!own.program.is_file()).then(missing)
}

fn connector(surface: surfaces::Surface, view: &ConnectorView, runs: bool) -> Check {
    let account = &view.account;
    let address = match view.address.trim_end_matches('/') {
        "" => surface.title,
        address => address,
    };
    let heard = || match view.last_heard_at {
        Some(at) => format!("last heard at {}", crate::output::time(at)),
        None => "not heard since the start".to_owned(),
    };
    let problem = view.problem.as_deref().unwrap_or("no reason is known");
    let status_says = Some(format!("`{} {account}` says more", surface.typed("status")));
    let (status, found, fix) = match view.state {
        _ if !runs => {
            let there = format!("{} {}", view.conversations, surface.places);
            let found = format!("{account} on {address}, with {there}");
            (CheckStatus::Note, format!("{found}; it connects when the control plane runs"), None)
        }
        ConnectorState::Connected => {
            (CheckStatus::Ok, format!("{account} is connected, {}", heard()), None)
        }
        ConnectorState::Starting => {
            (CheckStatus::Note, format!("{account} is starting, {}", heard()), status_says)
        }
        ConnectorState::Retrying => {
            let found =
                format!("{account} can't reach {address} and tries again, {}: {problem}", heard());
            (CheckStatus::Note, found, status_says)
        }
        ConnectorState::LoggedOut => {
            let again = format!("`{}` connects it again", surface.connect_again(account));
            (CheckStatus::Failed, format!("{account} is logged out: {problem}"), Some(again))
        }
    };
    Check { fix, ..check("surfaces.connector", status, found) }
}

fn quota() -> Check {
    check(
        "limits.quota",
        CheckStatus::Ok,
        "held by accounting: a file-size limit of the room left, and a watcher that turns writes off",
    )
}
