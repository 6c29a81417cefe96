//! Models of one person's own: `cloister model add --mine` and its like.

use axum::http::Method;
use cloister_protocol::admin::ModelView;

use super::shown::found_out;
use super::{Context, add_model, list as table_of};
use crate::args::{AddModel, Whose};
use crate::client::Client;
use crate::output::CliError;

impl Whose {
    pub(super) const fn is_given(&self) -> bool {
        self.mine || self.user.is_some()
    }
}

/// Where the models of one person are.
async fn path(client: &Client, whose: &Whose) -> Result<String, CliError> {
    let user = client.user(whose.user.as_ref()).await?;
    Ok(format!("/admin/v1/users/{user}/models"))
}

pub(super) async fn list(
    context: &Context,
    client: &Client,
    whose: &Whose,
) -> Result<(), CliError> {
    let models: Vec<ModelView> = client.get(&path(client, whose).await?).await?;
    context.output.result(&models, || table_of(&models, &[]))
}

pub(super) async fn add(context: &Context, client: &Client, add: AddModel) -> Result<(), CliError> {
    let path = path(client, &add.whose).await?;
    let model = add_model(client, &path, add).await?;
    context.output.result(&model, || {
        let name = &model.name;
        format!(
            "{name} is connected for this person alone, and answers in all their chats.\n{}\n\
             In a chat, /model default always takes that back.",
            found_out(&model.profile)
        )
    })
}

pub(super) async fn remove(
    context: &Context,
    client: &Client,
    whose: &Whose,
    name: &str,
) -> Result<(), CliError> {
    let path = format!("{}/{name}", path(client, whose).await?);
    let left: Vec<ModelView> = client.call(Method::DELETE, &path, None::<&()>).await?;
    context.output.result(&left, || format!("{name} is gone"))
}
