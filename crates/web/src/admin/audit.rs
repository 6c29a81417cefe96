//! The audit trail: read, proven, taken along. No call removes an entry.

use axum::extract::State as Extract;
use cloister_control::Actor;
use cloister_control::rows::{AuditRow, Finding, Report};
use cloister_policy::engine::{PlatformCall, Request, WorkspaceCall};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AuditEntryProof, AuditEntryView, AuditExportPart, AuditFinding, AuditQuery, AuditRedacted,
    AuditRedaction, AuditReport,
};
use cloister_vault::Owner;
use schemars::JsonSchema;
use serde::Deserialize;

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, Query, json};

const USUAL_COUNT: u32 = 50;
const MOST_COUNT: u32 = 1000;

pub(super) fn routes() -> Vec<Route> {
    let read = About::Platform(PlatformCall::ReadAudit);
    let export_platform = About::Platform(PlatformCall::ExportAudit);
    let erase = About::Workspace(WorkspaceCall::EraseData);
    vec![
        Route::get("/admin/v1/audit", read, tail),
        Route::get(
            "/admin/v1/audit/entries/{chain}/{entry}",
            About::Handler(WorkspaceCall::ReadAudit.as_str()),
            show,
        ),
        Route::get("/admin/v1/audit/export", export_platform, export),
        Route::post("/admin/v1/audit/verify", About::Platform(PlatformCall::VerifyAudit), verify),
        Route::post(
            "/admin/v1/audit/redactions",
            About::Platform(PlatformCall::ChangeSettings),
            redact,
        ),
        Route::get(
            "/admin/v1/users/{user}/audit",
            About::Workspace(WorkspaceCall::ReadAudit),
            tail_of_user,
        ),
        Route::get(
            "/admin/v1/users/{user}/audit/export",
            About::Workspace(WorkspaceCall::ExportAudit),
            export,
        ),
        Route::post("/admin/v1/users/{user}/audit/redactions", erase, redact),
    ]
}

/// Whose chain a path is about; without a user, the platform's.
#[derive(Deserialize, JsonSchema)]
struct Whose {
    user: Option<String>,
}

async fn chain(admin: &Admin, whose: &Whose) -> Result<Owner, Failure> {
    match &whose.user {
        Some(name) => Ok(Owner::User(super::user(admin, name).await?.id)),
        None => Ok(Owner::Platform),
    }
}

fn view(row: AuditRow) -> AuditEntryView {
    AuditEntryView {
        entry: format!("{}/{}", row.chain, row.seq),
        id: row.id,
        at: time(row.at),
        actor: row.actor,
        action: row.action,
        subject: row.subject,
        detail: row.detail,
        redacted: row.redacted,
    }
}

/// The platform's chain, and those of everybody that the asker may read.
async fn tail(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Query(query): Query<AuditQuery>,
) -> Answer<Vec<AuditEntryView>> {
    let mut chains = vec![Owner::Platform];
    if !query.platform {
        for user in admin.control.accounts().all().await? {
            let place = admin.control.people().place(user.workspace).await?;
            let request = Request::workspace(asker.person(), WorkspaceCall::ReadAudit, &place);
            if asker.may(&request) {
                chains.push(Owner::User(user.id));
            }
        }
    }
    among(&admin, &chains, &query).await
}

async fn tail_of_user(
    Extract(admin): Extract<Admin>,
    Path(whose): Path<Whose>,
    Query(query): Query<AuditQuery>,
) -> Answer<Vec<AuditEntryView>> {
    let chain = chain(&admin, &whose).await?;
    among(&admin, &[chain], &query).await
}

async fn among(admin: &Admin, chains: &[Owner], query: &AuditQuery) -> Answer<Vec<AuditEntryView>> {
    let count = query.count.unwrap_or(USUAL_COUNT).min(MOST_COUNT);
    let rows = admin.control.audit().among(chains, query.after, count).await?;
    json(rows.into_iter().map(view).collect())
}

/// One entry, by the id of its chain: only here is it known whose that is.
async fn show(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((chain, entry)): Path<(String, u64)>,
) -> Answer<AuditEntryProof> {
    let owner: Owner = chain.parse()?;
    match owner {
        Owner::Platform => {
            asker.require(&Request::platform(asker.person(), PlatformCall::ReadAudit)).await?;
        }
        Owner::User(id) => {
            let user = admin.control.accounts().by_id(id).await?;
            let place = admin.control.people().place(user.workspace).await?;
            let request = Request::workspace(asker.person(), WorkspaceCall::ReadAudit, &place);
            asker.require_of_user(&request, user.name.as_str(), &place).await?;
        }
    }
    let (row, ties) = admin.control.audit().entry(owner, entry).await?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    json(AuditEntryProof {
        entry: view(row),
        hash: hex(&ties.hash),
        previous: hex(&ties.prev),
        segment: ties.segment.map(i64::unsigned_abs),
        checkpoint: ties.checkpoint.map(i64::unsigned_abs),
    })
}

#[derive(Deserialize, JsonSchema)]
struct FirstEntry {
    #[serde(default)]
    from: u64,
}

async fn export(
    Extract(admin): Extract<Admin>,
    Path(whose): Path<Whose>,
    Query(FirstEntry { from }): Query<FirstEntry>,
) -> Answer<AuditExportPart> {
    let chain = chain(&admin, &whose).await?;
    let part = admin.control.audit().export_audit(chain, from.max(1)).await?;
    json(AuditExportPart { lines: part.lines, next: part.next })
}

async fn verify(Extract(admin): Extract<Admin>) -> Answer<AuditReport> {
    json(report(admin.control.audit().verify_audit(None).await?))
}

/// What was found, as it is told.
pub fn report(found: Report) -> AuditReport {
    AuditReport {
        whole: found.is_whole(),
        findings: found.findings.iter().map(finding).collect(),
        notes: found.notes,
        chains: found.chains,
        entries: found.entries,
        sealed_entries: found.sealed_entries,
        checkpoints: found.checkpoints,
        witnessed: found.witnessed,
    }
}

fn finding(found: &Finding) -> AuditFinding {
    let fault = serde_json::to_value(found.fault).ok();
    let entry = found.chain.zip(found.entry).map(|(chain, entry)| format!("{chain}/{entry}"));
    AuditFinding {
        fault: fault.and_then(|fault| fault.as_str().map(str::to_owned)).unwrap_or_default(),
        entry,
        text: found.to_string(),
    }
}

async fn redact(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(whose): Path<Whose>,
    Body(asked): Body<AuditRedaction>,
) -> Answer<AuditRedacted> {
    if asked.why.trim().is_empty() {
        return Err(Failure::new(ErrorCode::BadRequest, "a redaction says why it is made"));
    }
    let chain = chain(&admin, &whose).await?;
    let (control, by) = (&admin.control, Actor::person(asker.user()));
    let entries = control
        .audit()
        .redact_audit(&by, chain, &asked.entries, asked.names, asked.why.trim())
        .await?;
    json(AuditRedacted { entries })
}
