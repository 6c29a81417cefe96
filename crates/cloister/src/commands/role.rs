//! `cloister role`: who may do what.

use cloister_protocol::admin::{PersonView, RoleChange, RoleView};

use super::Context;
use crate::args::{Role, RoleOf};
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Role) -> Result<(), CliError> {
    let client = context.client().await?;
    let (of, take) = match command {
        Role::List => {
            let held: Vec<RoleView> = client.get("/admin/v1/roles").await?;
            return context.output.result(&held, || roles(&held));
        }
        Role::Give(of) => (of, ""),
        Role::Take(of) => (of, "/take"),
    };
    let RoleOf { user, role, scope } = of;
    let change = RoleChange { role, scope };
    let person: PersonView =
        client.post(&format!("/admin/v1/users/{user}/roles{take}"), &change).await?;
    context.output.result(&person, || roles(&person.roles))
}

pub(super) fn roles(held: &[RoleView]) -> String {
    let rows = held.iter().map(|held| {
        vec![
            held.user.to_string(),
            held.role.clone(),
            held.scope.clone(),
            held.given_by.clone(),
            held.given_at.clone(),
        ]
    });
    table(&["USER", "ROLE", "SCOPE", "GIVEN BY", "SINCE"], &rows.collect::<Vec<_>>())
}
