//! `cloister secret`: what agents may use, and never see.

use axum::http::Method;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    Key, MasterRotated, NewSecret, SecretBinding, SecretForm, SecretRotation, SecretView,
};

use super::Context;
use crate::args::secret::{Binding, Secret, Value, Whose};
use crate::client::Client;
use crate::config::secret_from_env;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Secret) -> Result<(), CliError> {
    match command {
        Secret::Set { name, whose, binding, value } => {
            let new = NewSecret { binding: bound(binding)?, value: read(value)? };
            let client = context.client().await?;
            let path = path(&client, &whose, Some(&name)).await?;
            let set: SecretView = client.call(Method::PUT, &path, Some(&new)).await?;
            context.output.result(&set, || list(std::slice::from_ref(&set)))
        }
        Secret::List { whose } => {
            let client = context.client().await?;
            let secrets: Vec<SecretView> = client.get(&path(&client, &whose, None).await?).await?;
            context.output.result(&secrets, || list(&secrets))
        }
        Secret::Rotate { name, whose, value, grace } => {
            let rotation = SecretRotation { value: read(value)?, grace_s: grace };
            let client = context.client().await?;
            let path = format!("{}/rotate", path(&client, &whose, Some(&name)).await?);
            let rotated: SecretView = client.post(&path, &rotation).await?;
            context.output.result(&rotated, || list(std::slice::from_ref(&rotated)))
        }
        Secret::Rebind { name, whose, binding } => {
            let client = context.client().await?;
            let path = path(&client, &whose, Some(&name)).await?;
            let bound: SecretView =
                client.call(Method::PATCH, &path, Some(&bound(binding)?)).await?;
            context.output.result(&bound, || list(std::slice::from_ref(&bound)))
        }
        Secret::Rm { name, whose } => {
            let client = context.client().await?;
            let path = path(&client, &whose, Some(&name)).await?;
            let left: Vec<SecretView> = client.call(Method::DELETE, &path, None::<&()>).await?;
            context.output.result(&left, || format!("{name} is gone"))
        }
        Secret::RotateMaster => rotate_master(&context).await,
    }
}

async fn rotate_master(context: &Context) -> Result<(), CliError> {
    let client = context.client().await?;
    let done: MasterRotated = client.post("/admin/v1/master-key/rotate", &()).await?;
    context.output.result(&done, || {
        let next = done.next.as_ref().map(|next| format!("\nNow, {next}.")).unwrap_or_default();
        format!(
            "{} data keys are sealed under master key {} now; {} opens nothing any more.{next}",
            done.data_keys, done.to, done.from
        )
    })
}

/// Where an owner's secrets are, or one of them.
async fn path(client: &Client, whose: &Whose, name: Option<&str>) -> Result<String, CliError> {
    let all = if whose.platform {
        "/admin/v1/secrets".to_owned()
    } else {
        let user = client.user(whose.user.as_ref()).await?;
        format!("/admin/v1/users/{user}/secrets")
    };
    let Some(name) = name else { return Ok(all) };
    // Checked here too, because it becomes a part of a path.
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if name.is_empty() || !plain {
        let message = format!("{name:?} can't name a secret: use letters, digits, '-' and '_'");
        return Err(CliError::new(ErrorCode::BadRequest, message));
    }
    Ok(format!("{all}/{name}"))
}

fn bound(binding: Binding) -> Result<SecretBinding, CliError> {
    let form = match (binding.header, binding.query, binding.basic) {
        (Some(header), _, _) => header_form(&header),
        (None, Some(name), _) => SecretForm::Query { name },
        (None, None, Some(user)) => SecretForm::Basic { user },
        (None, None, None) => {
            let message = "say how it is used: --header, --query or --basic";
            return Err(CliError::new(ErrorCode::BadRequest, message));
        }
    };
    Ok(SecretBinding { hosts: binding.hosts, form })
}

fn header_form(said: &str) -> SecretForm {
    let (name, template) = match said.split_once('=') {
        Some((name, template)) => (name, template),
        None if said.eq_ignore_ascii_case("authorization") => (said, "Bearer {}"),
        None => (said, "{}"),
    };
    SecretForm::Header { name: name.to_owned(), template: template.to_owned() }
}

/// The value, from where it was said to be.
fn read(value: Value) -> Result<Key, CliError> {
    let empty =
        |place: String| CliError::new(ErrorCode::BadRequest, format!("{place} holds no value"));
    if let Some(file) = &value.value_file {
        let failed = format!("{} could not be read", file.display());
        let text = std::fs::read_to_string(file).map_err(CliError::io(failed))?;
        let text = text.trim_end_matches(['\r', '\n']);
        if text.is_empty() {
            return Err(empty(file.display().to_string()));
        }
        return Ok(Key::new(text));
    }
    if let Some(variable) = &value.value_env {
        let value = secret_from_env(variable);
        return value.map(Key::new).ok_or_else(|| empty(format!("the variable {variable}")));
    }
    let nothing = |place: &str| {
        empty(place.to_owned()).fix(
            "give it on a terminal, through a pipe, or with --value-file FILE or --value-env VAR",
        )
    };
    let key = match super::questions::prompt_secret("Value (it is not shown): ") {
        Err(ended) if ended.body.code == ErrorCode::Cancelled => {
            return Err(nothing("standard input"));
        }
        said => said?,
    };
    if key.expose().is_empty() { Err(nothing("the answer")) } else { Ok(key) }
}

fn list(secrets: &[SecretView]) -> String {
    if secrets.is_empty() {
        return "There are no secrets. `cloister secret set NAME --host HOST --header authorization` keeps one."
            .to_owned();
    }
    let rows: Vec<Vec<String>> = secrets
        .iter()
        .map(|secret| {
            let form = match &secret.binding.form {
                SecretForm::Header { name, template } => format!("header {name}: {template}"),
                SecretForm::Query { name } => format!("query {name}"),
                SecretForm::Basic { user } => format!("basic {user}"),
            };
            let until = secret.expires_at.as_ref().map(|at| format!("replaced, known until {at}"));
            vec![
                secret.name.clone(),
                secret.version.to_string(),
                secret.binding.hosts.join(" "),
                form,
                secret.set_by.clone(),
                until.unwrap_or_else(|| secret.set_at.clone()),
            ]
        })
        .collect();
    table(&["SECRET", "VERSION", "HOSTS", "FORM", "SET BY", "SINCE"], &rows)
}
