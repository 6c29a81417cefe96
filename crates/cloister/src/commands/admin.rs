//! `cloister admin`: machines that may administer, and the authority that vouches for them.

use std::io::Read;

use axum::http::Method;
use cloister_pki::Invitation;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::clients::{
    CaPhase, CaView, ClientInvitation, ClientView, FinishRotation, NewClientInvitation,
};
use serde::Serialize;
use serde_json::json;

use super::Context;
use crate::args::{Admin, Ca};
use crate::output::{CliError, table};

/// The longest invitation that is read.
const MAX_INVITATION: u64 = 8 << 10;

pub(super) async fn run(context: Context, command: Admin) -> Result<(), CliError> {
    match command {
        Admin::Invite { user } => invite(context, NewClientInvitation { user }).await,
        Admin::Enroll { invitation, name, known_as, default } => {
            enroll(context, &invitation, name, known_as, default).await
        }
        Admin::Remotes => remotes(&context),
        Admin::Clients => {
            let clients: Vec<ClientView> = context.client().await?.get("/admin/v1/clients").await?;
            context.output.result(&clients, || list(&clients))
        }
        Admin::Revoke { client } => {
            let path = format!("/admin/v1/clients/{client}");
            let admin = context.client().await?;
            let gone: ClientView = admin.call(Method::DELETE, &path, None::<&()>).await?;
            context.output.result(&gone, || format!("{} ({}) is revoked", gone.id, gone.name))
        }
        Admin::Ca(command) => ca(context, command).await,
    }
}

async fn invite(context: Context, asked: NewClientInvitation) -> Result<(), CliError> {
    let client = context.running().await?;
    let invited: ClientInvitation = client.post("/admin/v1/client_invitations", &asked).await?;
    if !context.output.json {
        context.output.note(&format!(
            "For one machine of {}, until {}. On it: `cloister admin enroll -` and paste this line. \
             It finds {} by the root {}.",
            invited.user, invited.expires_at, invited.address, invited.fingerprint
        ));
        if ["127.0.0.1:", "[::1]:", "localhost:"]
            .iter()
            .any(|here| invited.address.starts_with(here))
        {
            context.output.remark(
                "(it works on this machine only; `[admin] listen` and `address` in cloister.toml open it to others)",
            );
        }
    }
    context.output.result(&invited, || invited.invitation.expose().to_owned())
}

async fn enroll(
    context: Context,
    invitation: &str,
    device: Option<String>,
    known_as: Option<String>,
    default: bool,
) -> Result<(), CliError> {
    let text = if invitation == "-" { read_line()? } else { invitation.to_owned() };
    let invitation: Invitation =
        text.parse().map_err(|error: cloister_pki::ParseInvitationError| {
            CliError::new(ErrorCode::BadRequest, error.to_string())
                .fix("copy the whole line that `cloister admin invite` printed")
        })?;
    let device =
        device.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
    let host = || {
        let host = invitation.address.rsplit_once(':').map_or(invitation.address.as_str(), |p| p.0);
        host.trim_start_matches('[').trim_end_matches(']').to_owned()
    };
    let name = known_as.unwrap_or_else(host);
    let identity = context.remotes()?.enrol(&invitation, &device, &name, default).await?;
    let enrolled = json!({
        "remote": name,
        "user": identity.user,
        "client": identity.client,
        "address": identity.address,
        "expires_at": crate::output::time(identity.expires_at),
    });
    context.output.result(&enrolled, || {
        let how = if default {
            "cloister …".to_owned()
        } else {
            format!("cloister --remote {name} …")
        };
        format!(
            "enrolled as {} of {} at {}: `{how}`",
            identity.client, identity.user, identity.address
        )
    })
}

fn read_line() -> Result<String, CliError> {
    let mut text = String::new();
    std::io::stdin()
        .take(MAX_INVITATION)
        .read_to_string(&mut text)
        .map_err(CliError::io("standard input could not be read"))?;
    Ok(text)
}

fn remotes(context: &Context) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct KnownRemote {
        name: String,
        address: String,
        user: String,
        client: String,
        expires_at: String,
        default: bool,
    }
    let remotes = context.remotes()?;
    let default = remotes.default_name();
    let known = remotes.list()?.into_iter().map(|(name, identity)| KnownRemote {
        default: default.as_ref() == Some(&name),
        name,
        address: identity.address,
        user: identity.user.to_string(),
        client: identity.client.to_string(),
        expires_at: crate::output::time(identity.expires_at),
    });
    let known: Vec<KnownRemote> = known.collect();
    let rows = || {
        let row = |one: &KnownRemote| {
            let mark = if one.default { " (default)" } else { "" };
            vec![
                format!("{}{mark}", one.name),
                one.address.clone(),
                one.user.clone(),
                one.client.clone(),
                one.expires_at.clone(),
            ]
        };
        let rows: Vec<Vec<String>> = known.iter().map(row).collect();
        table(&["REMOTE", "ADDRESS", "USER", "CLIENT", "CERTIFICATE UNTIL"], &rows)
    };
    context.output.result(&known, rows)
}

async fn ca(context: Context, command: Ca) -> Result<(), CliError> {
    let client = context.client().await?;
    let nothing = json!({});
    let now: CaView = match command {
        Ca::Status => client.get("/admin/v1/ca").await?,
        Ca::Rotate => client.post("/admin/v1/ca/rotate", &nothing).await?,
        Ca::Rollback => client.post("/admin/v1/ca/rollback", &nothing).await?,
        Ca::Finish { force } => {
            client.post("/admin/v1/ca/finish", &FinishRotation { force }).await?
        }
    };
    context.output.result(&now, || describe(&now))
}

fn describe(ca: &CaView) -> String {
    let phase = match ca.phase {
        CaPhase::Settled => "settled: one root, trusted and issuing",
        CaPhase::Rotating => {
            "rotating: the new root issues, the old one is trusted still; `finish` or `rollback`"
        }
        CaPhase::RolledBack => {
            "rolled back: the old root issues, the newer one is trusted still; `finish` ends that"
        }
    };
    let rows: Vec<Vec<String>> = ca
        .roots
        .iter()
        .map(|root| {
            let role = if root.issues { "issues" } else { "trusted" };
            vec![
                root.number.to_string(),
                role.to_owned(),
                root.fingerprint.clone(),
                root.expires_at.clone(),
            ]
        })
        .collect();
    let behind: Vec<String> = ca.behind.iter().map(ToString::to_string).collect();
    let behind = match behind.as_slice() {
        [] => String::new(),
        some => format!("`finish` would lock out: {}\n", some.join(", ")),
    };
    let address =
        ca.address.as_ref().map(|at| format!("admin listener: {at}\n")).unwrap_or_default();
    format!("{phase}\n{address}{behind}{}", table(&["ROOT", "ROLE", "FINGERPRINT", "UNTIL"], &rows))
}

fn list(clients: &[ClientView]) -> String {
    let row = |client: &ClientView| {
        let state = match &client.revoked_at {
            Some(at) => format!("revoked {at}"),
            None => format!("until {}", client.expires_at),
        };
        vec![
            client.id.to_string(),
            client.user.to_string(),
            client.name.clone(),
            state,
            client.connections.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = clients.iter().map(row).collect();
    table(&["CLIENT", "USER", "MACHINE", "CERTIFICATE", "CONNECTED"], &rows)
}
