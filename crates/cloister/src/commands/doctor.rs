//! `cloister doctor`: every check has a stable id, what was found, and what to do.

use std::process::ExitCode;

use cloister_control::layout::Layout;
use cloister_control::ports::{CellBackend, Check, CheckStatus};

use super::Context;
use crate::client::connect;
use crate::config::Config;
use crate::output::CliError;

pub(super) async fn run(context: Context) -> Result<ExitCode, CliError> {
    let mut checks = vec![config(&context), data(&context), running(&context).await];
    let backend = crate::wiring::backend(&Layout::new(&context.data))?;
    checks.extend(backend.check().await);
    checks.push(quota());
    let failed = checks.iter().any(|check| check.status == CheckStatus::Failed);
    context.output.result(&checks, || words(&checks))?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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

fn check(id: &'static str, status: CheckStatus, found: impl Into<String>) -> Check {
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
            format!("{dir} is not there yet; `cloister up` makes it"),
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
            fix: Some("cloister up".to_owned()),
            ..check(
                "control.running",
                CheckStatus::Note,
                "no control plane runs on this data directory",
            )
        },
    }
}

fn quota() -> Check {
    check(
        "limits.quota",
        CheckStatus::Ok,
        "held by accounting: a file-size limit of the room left, and a watcher that turns writes off",
    )
}
