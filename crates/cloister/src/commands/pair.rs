//! `cloister pair`: an account on a surface becomes a person's.

use cloister_protocol::admin::{PairingAnswer, PairingCode, PairingView, PersonView, RoleChange};

use super::Context;
use crate::args::Pair;
use crate::output::CliError;

pub(super) async fn run(context: Context, pair: Pair) -> Result<(), CliError> {
    let client = context.client().await?;
    let Pair { code, user, role, scope } = pair;
    let Some(user) = user else {
        let who: PairingView = client.post("/admin/v1/pairings", &PairingCode { code }).await?;
        return context.output.result(&who, || shown(&who));
    };
    let role = role.map(|role| RoleChange { role, scope });
    let answer = PairingAnswer { code, user, role };
    let person: PersonView = client.post("/admin/v1/pairings/link", &answer).await?;
    context.output.result(&person, || match &person.asked {
        None => super::user::person(&person),
        Some(question) => format!(
            "{} was here before and is asked first: {question} waits for their answer, where they were last.",
            person.name
        ),
    })
}

fn shown(who: &PairingView) -> String {
    format!(
        "{} on {}\nwho calls themselves {:?} there (anyone can call themselves anything)\n\
         Good until {}. To link it: cloister pair CODE --user NAME",
        who.id, who.surface, who.display_name, who.expires_at
    )
}
