//! `cloister audit`: what was asked, decided, done and changed, and the proof that it is whole.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AuditEntryProof, AuditEntryView, AuditExportPart, AuditRedacted, AuditRedaction, AuditReport,
};
use cloister_store::Store;
use cloister_store::audit::export::verify_export;
use cloister_store::audit::{AuditError, Verification, verify_files};

use super::Context;
use crate::args::audit::Audit;
use crate::args::secret::Whose;
use crate::client::Client;
use crate::output::CliError;

/// How often new entries are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(super) async fn run(context: Context, command: Audit) -> Result<ExitCode, CliError> {
    match command {
        Audit::Tail { user, platform, count, follow } => {
            let client = context.client().await?;
            let path = match user {
                Some(user) => format!("/admin/v1/users/{user}/audit?"),
                None => format!("/admin/v1/audit?platform={platform}&"),
            };
            tail(&context, &client, &path, count, follow).await?;
        }
        Audit::Show { entry } => show(&context, &entry).await?,
        Audit::Export { whose, out } => {
            let client = context.client().await?;
            let path = format!("{}/export", path(&client, &whose).await?);
            let lines = export(&client, &path, &out).await?;
            let done = serde_json::json!({"out": out, "lines": lines});
            context.output.result(&done, || {
                format!(
                    "{} holds the chain and its proof; `cloister audit verify --export` checks it.",
                    out.display()
                )
            })?;
        }
        Audit::Verify { witness, export, files } => {
            return verify(&context, witness, export, files).await;
        }
        Audit::Redact { whose, entries, why, names } => {
            let client = context.client().await?;
            let path = format!("{}/redactions", path(&client, &whose).await?);
            let done: AuditRedacted =
                client.post(&path, &AuditRedaction { entries, names, why }).await?;
            context.output.result(&done, || {
                format!("{} entries were redacted; the chain is whole", done.entries)
            })?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn path(client: &Client, whose: &Whose) -> Result<String, CliError> {
    if whose.platform {
        return Ok("/admin/v1/audit".to_owned());
    }
    let user = client.user(whose.user.as_ref()).await?;
    Ok(format!("/admin/v1/users/{user}/audit"))
}

async fn tail(
    context: &Context,
    client: &Client,
    path: &str,
    count: u32,
    follow: bool,
) -> Result<(), CliError> {
    let newest: Vec<AuditEntryView> = client.get(&format!("{path}count={count}")).await?;
    let mut last = print(context, &newest)?.unwrap_or(0);
    if !follow {
        return Ok(());
    }
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let new: Vec<AuditEntryView> =
            client.get(&format!("{path}after={last}&count=1000")).await?;
        last = print(context, &new)?.unwrap_or(last);
    }
}

/// Prints entries, one line each; returns the id of the last.
fn print(context: &Context, entries: &[AuditEntryView]) -> Result<Option<i64>, CliError> {
    for entry in entries {
        context.output.result(entry, || line(entry))?;
    }
    Ok(entries.last().map(|entry| entry.id))
}

fn line(entry: &AuditEntryView) -> String {
    let gone = if entry.redacted { " (redacted)" } else { "" };
    let said = format!(
        "{}  {:<12} {:<18} {}  {}  {}{gone}",
        entry.at, entry.entry, entry.action, entry.actor, entry.subject, entry.detail
    );
    said.replace('\n', " ").trim_end().to_owned()
}

async fn show(context: &Context, entry: &str) -> Result<(), CliError> {
    let known =
        |chain: &&str| !chain.is_empty() && chain.bytes().all(|b| b.is_ascii_alphanumeric());
    let named = entry.split_once('/').filter(|(chain, number)| {
        known(chain) && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    let Some((chain, number)) = named else {
        let message = format!("{entry:?} does not name an entry: expected u1/57 or platform/12");
        return Err(CliError::new(ErrorCode::BadRequest, message));
    };
    let client = context.client().await?;
    let path = format!("/admin/v1/audit/entries/{chain}/{number}");
    let proof: AuditEntryProof = client.get(&path).await?;
    context.output.result(&proof, || {
        let number = |number: Option<u64>| {
            number.map_or_else(|| "not yet".to_owned(), |number| number.to_string())
        };
        let shown = &proof.entry;
        format!(
            "{}\n  at          {}\n  action      {}\n  by          {}\n  subject     {}\n  detail      {}{}\n\
             \x20 hash        {}\n  follows     {}\n  segment     {}\n  checkpoint  {}",
            shown.entry,
            shown.at,
            shown.action,
            shown.actor,
            shown.subject,
            shown.detail,
            if shown.redacted { " (redacted)" } else { "" },
            proof.hash,
            proof.previous,
            number(proof.segment),
            number(proof.checkpoint),
        )
    })
}

/// Writes a chain with its proofs; returns how many lines.
pub(super) async fn export(client: &Client, path: &str, out: &Path) -> Result<u64, CliError> {
    let failed = || format!("{} could not be written", out.display());
    let file = super::export::create(out)?;
    let mut file = std::io::BufWriter::new(file);
    let (mut from, mut lines) = (Some(1), 0);
    while let Some(first) = from {
        let part: AuditExportPart = client.get(&format!("{path}?from={first}")).await?;
        for line in &part.lines {
            writeln!(file, "{line}").map_err(CliError::io(failed()))?;
            lines += 1;
        }
        from = part.next;
    }
    let file = file.into_inner().map_err(|error| CliError::io(failed())(error.into_error()))?;
    file.sync_all().map_err(CliError::io(failed()))?;
    Ok(lines)
}

async fn verify(
    context: &Context,
    witness: Option<PathBuf>,
    export: Option<PathBuf>,
    files: Option<PathBuf>,
) -> Result<ExitCode, CliError> {
    let database = context.data.join("cloister.db");
    let report = match (export, files) {
        (Some(export), _) => {
            let failed = format!("{} could not be read", export.display());
            let input = std::fs::File::open(&export).map_err(CliError::io(failed))?;
            let tolerance = Verification::of(&export).clock_tolerance_ms;
            told(verify_export(BufReader::new(input), tolerance))?
        }
        (None, Some(dir)) => {
            told(verify_files(&Verification { witness, ..Verification::of(&dir) }))?
        }
        // Looked at with our own eyes, whether a control plane runs or not.
        (None, None) if !context.is_remote() && database.exists() => {
            let store = Store::open_to_read(&database).await?;
            let dir = context.data.join("audit");
            let what = Verification { witness, ..Verification::of(&dir) };
            told(store.audit().verify_audit(&what).await)?
        }
        (None, None) => context.client().await?.post("/admin/v1/audit/verify", &()).await?,
    };
    context.output.result(&report, || words(&report))?;
    Ok(if report.whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn told(found: Result<cloister_store::audit::Report, AuditError>) -> Result<AuditReport, CliError> {
    let found = found.map_err(cloister_control::ControlError::from)?;
    Ok(cloister_web::audit_report(found))
}

fn words(report: &AuditReport) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let entry = finding.entry.as_ref().map(|entry| format!(" {entry}")).unwrap_or_default();
        text.push_str(&format!("{}{entry}: {}\n", finding.fault.to_uppercase(), finding.text));
    }
    for note in &report.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    let verdict = if report.whole { "The audit is whole" } else { "THE AUDIT IS NOT WHOLE" };
    format!(
        "{text}{verdict}: {} chains, {} entries, {} of them sealed, {} checkpoints, {} seen by a witness.",
        report.chains, report.entries, report.sealed_entries, report.checkpoints, report.witnessed
    )
}
