//! `cloister invite`: a link with which another person comes in.

use cloister_protocol::admin::{Invitation, NewUser};

use super::Context;
use crate::args::Invite;
use crate::output::CliError;

pub(super) async fn run(context: Context, invite: Invite) -> Result<(), CliError> {
    let client = context.running().await?;
    let new = NewUser {
        name: invite.name,
        quota_mb: invite.limits.quota_mb,
        executors: invite.limits.executors,
        daily_usd: invite.daily,
        task_usd: None,
    };
    let invited: Invitation = client.post("/admin/v1/invitations", &new).await?;
    if !context.output.json {
        let added = if invited.new { "is added" } else { "was here already: their limits stay" };
        context.output.note(&format!(
            "{} {added}. Send them this link; it works once, until {}:",
            invited.user, invited.expires_at
        ));
        if ["//127.0.0.1", "//[::1]", "//localhost"].iter().any(|here| invited.link.contains(here))
        {
            context.output.remark(
                "(it works on this machine only; `cloister up --url https://your.address` makes links for elsewhere)",
            );
        }
    }
    context.output.result(&invited, || invited.link.clone())
}
