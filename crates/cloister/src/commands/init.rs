//! `cloister init`: a data directory set up by answering a few questions, or none.

use std::io::{self, BufRead, IsTerminal, Write};

use axum::http::Method;
use cloister_protocol::admin::{Chain, Key, ModelView, NewModel, NewUser, UserChange, UserView};
use cloister_protocol::{ErrorCode, UserName};

use super::Context;
use crate::args::Init;
use crate::client::Client;
use crate::config::secret_from_env;
use crate::output::CliError;

/// The name of a model that `init` connects.
const MODEL_NAME: &str = "main";

pub(super) async fn run(context: Context, mut init: Init) -> Result<(), CliError> {
    let mut key = given_key(&init)?;
    if !init.unattended {
        if !io::stdin().is_terminal() {
            return Err(CliError::new(
                ErrorCode::BadRequest,
                "there is no terminal to ask questions on",
            )
            .fix("give the answers as options and add --unattended (see `cloister init --help`)"));
        }
        ask_all(&mut init, &mut key)?;
    }
    let client = context.client().await?;
    let user = make_user(&client, &init).await?;
    write_identity(&context, &user, &init)?;
    let model = connect_model(&client, &init, key).await?;
    let summary = serde_json::json!({
        "data": context.data,
        "user": user,
        "model": model.as_ref().map_or("demo", |model| model.name.as_str()),
    });
    context.output.result(&summary, || {
        let model = match &model {
            Some(model) => format!("Your agent uses {} at {}.", model.model, model.base_url),
            None => {
                "Your agent uses the scripted demo model; `cloister model add` connects a real one."
                    .to_owned()
            }
        };
        format!(
            "{} is set up for {}. {model}\nStart it with: cloister up",
            context.data.display(),
            user.name
        )
    })
}

fn given_key(init: &Init) -> Result<Option<Key>, CliError> {
    if let Some(file) = &init.key_file {
        return super::model::key_from_file(file).map(Some);
    }
    let Some(variable) = &init.key_env else { return Ok(None) };
    match secret_from_env(variable) {
        Some(value) => Ok(Some(Key::new(value))),
        None => {
            Err(CliError::new(ErrorCode::BadRequest, format!("the variable {variable} is not set")))
        }
    }
}

fn ask_all(init: &mut Init, key: &mut Option<Key>) -> Result<(), CliError> {
    if init.user.is_none() {
        init.user = loop {
            let answer = ask("Your name, as the agent's owner [owner]: ")?;
            let name = if answer.is_empty() { "owner" } else { &answer };
            match name.parse::<UserName>() {
                Ok(name) => break Some(name),
                Err(error) => say(&format!("{error}\n"))?,
            }
        };
    }
    let or_none = |answer: String| (!answer.is_empty()).then_some(answer);
    if init.manner.is_none() {
        init.manner = or_none(ask("How should the agent be? (Enter: helpful and honest) ")?);
    }
    if init.about.is_none() {
        init.about = or_none(ask("What should it know about you? (Enter: nothing yet) ")?);
    }
    if init.base_url.is_none() {
        init.base_url = or_none(ask(
            "Base URL of a model, such as https://openrouter.ai/api/v1 (Enter: the demo) ",
        )?);
        if init.base_url.is_some() {
            init.model = or_none(ask("The model's id there: ")?);
            if init.model.is_none() {
                return Err(CliError::new(ErrorCode::BadRequest, "a model needs its id"));
            }
            if key.is_none() {
                *key = Some(prompt_secret("Its key (not shown; Enter: none): ")?)
                    .filter(|key| !key.expose().is_empty());
            }
        }
    }
    while init.daily.is_none() {
        let answer = ask("Budget in dollars per day [5]: ")?;
        match if answer.is_empty() { Ok(5.0) } else { answer.parse::<f64>() } {
            Ok(usd) if (0.0..=1e6).contains(&usd) => init.daily = Some(usd),
            Ok(_) | Err(_) => say("That is not an amount in dollars.\n")?,
        }
    }
    Ok(())
}

async fn make_user(client: &Client, init: &Init) -> Result<UserView, CliError> {
    let users: Vec<UserView> = client.get("/admin/v1/users").await?;
    let wanted = match &init.user {
        Some(name) => name.clone(),
        None => match users.first() {
            Some(first) => first.name.clone(),
            None => "owner".parse().map_err(cloister_control::ControlError::from)?,
        },
    };
    if users.iter().any(|user| user.name == wanted) {
        // Running it again is safe: only what was said changes.
        let change = UserChange { daily_usd: init.daily, ..UserChange::default() };
        return client
            .call(Method::PATCH, &format!("/admin/v1/users/{wanted}"), Some(&change))
            .await;
    }
    let new = NewUser {
        name: wanted,
        quota_mb: None,
        executors: None,
        daily_usd: init.daily,
        task_usd: None,
    };
    client.post("/admin/v1/users", &new).await
}

fn write_identity(context: &Context, user: &UserView, init: &Init) -> Result<(), CliError> {
    let layout = cloister_control::layout::Layout::new(&context.data);
    layout.prepare(user.workspace, &[]).map_err(cloister_control::ControlError::from)?;
    let dir = layout.workspace(user.workspace);
    for (file, title, text) in [
        ("SOUL.md", "# Who the agent is", &init.manner),
        ("USER.md", "# About the person", &init.about),
    ] {
        let Some(text) = text else { continue };
        let path = dir.join(file);
        let failed = format!("{} could not be written", path.display());
        std::fs::write(&path, format!("{title}\n\n{text}\n")).map_err(CliError::io(failed))?;
    }
    Ok(())
}

async fn connect_model(
    client: &Client,
    init: &Init,
    key: Option<Key>,
) -> Result<Option<ModelView>, CliError> {
    let (Some(base_url), Some(model)) = (&init.base_url, &init.model) else { return Ok(None) };
    let new = NewModel {
        name: MODEL_NAME.to_owned(),
        base_url: base_url.clone(),
        model: model.clone(),
        key,
        key_env: None,
        prompt_usd: None,
        completion_usd: None,
        max_output_tokens: None,
        replace: true,
    };
    let view: ModelView = client.post("/admin/v1/models", &new).await?;
    for level in ["coordinator", "executor"] {
        let chain = Chain { models: vec![MODEL_NAME.to_owned()] };
        let path = format!("/admin/v1/levels/{level}");
        let _used: serde_json::Value = client.call(Method::PUT, &path, Some(&chain)).await?;
    }
    Ok(Some(view))
}

fn say(text: &str) -> Result<(), CliError> {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes())
        .and_then(|()| err.flush())
        .map_err(CliError::io("the terminal is gone"))
}

fn ask(question: &str) -> Result<String, CliError> {
    say(question)?;
    let mut line = String::new();
    let read =
        io::stdin().lock().read_line(&mut line).map_err(CliError::io("the terminal is gone"))?;
    if read == 0 {
        return Err(CliError::new(ErrorCode::Cancelled, "the questions were not answered"));
    }
    Ok(line.trim().to_owned())
}

/// Reads a secret without showing it.
pub(super) fn prompt_secret(question: &str) -> Result<Key, CliError> {
    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
    let stdin = io::stdin();
    if !stdin.is_terminal() {
        return ask("").map(Key::new);
    }
    let failed = "the terminal can't hide what is typed";
    let shown = tcgetattr(&stdin).map_err(|errno| CliError::io(failed)(errno.into()))?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&stdin, OptionalActions::Now, &hidden)
        .map_err(|errno| CliError::io(failed)(errno.into()))?;
    let answer = ask(question);
    tcsetattr(&stdin, OptionalActions::Now, &shown)
        .map_err(|errno| CliError::io(failed)(errno.into()))?;
    say("\n")?;
    answer.map(Key::new)
}
