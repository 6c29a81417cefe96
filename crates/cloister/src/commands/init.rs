//! `cloister init`: set up by answering a few questions, or none. Running it again is safe: it shows
//! what is there, and changes only what is said.

use std::io::{self, IsTerminal};

use axum::http::Method;
use cloister_protocol::admin::{
    Chain, Identity, IdentityChange, Key, KindView, ModelView, NewModel, NewUser, PresetView,
    UserChange, UserView,
};
use cloister_protocol::{ErrorCode, Language, UserName};

use super::Context;
use super::model::TRIAL;
use super::questions::{ask, prompt_secret, say};
use crate::args::Init;
use crate::client::Client;
use crate::config::secret_from_env;
use crate::output::CliError;

/// The name of a model that `init` connects.
const MODEL_NAME: &str = "main";
/// The scripted model.
const DEMO: &str = "demo";
/// The name of the first user when nobody says.
const FIRST_USER: &str = "owner";
/// The longest name for commands.
const MOST_NAME_CHARS: usize = 32;
/// Ids of a server on this machine that are named.
const MOST_IDS: usize = 5;

pub(super) async fn run(context: Context, init: Init) -> Result<(), CliError> {
    let key = given_key(&init)?;
    if !init.unattended && !io::stdin().is_terminal() {
        return Err(CliError::new(
            ErrorCode::BadRequest,
            "there is no terminal to ask questions on",
        )
        .fix("give the answers as options and add --unattended (see `cloister init --help`)"));
    }
    let client = context.client().await?;
    // The model goes first: when it does not answer, nothing has been changed.
    let (user, model) = if init.unattended {
        let model = connect_given_model(&client, &init, key).await?;
        let name = wanted_user(&client, &init).await?;
        (make_user(&client, name, given(&init)).await?, model)
    } else {
        let change = given(&init);
        let language = change.language.map_or_else(ask_language, |chosen| Ok(Some(chosen)))?;
        let (name, called) = ask_user(&client, &init).await?;
        let display_name = change.display_name.or(called);
        let change = UserChange { language, display_name, ..UserChange::default() };
        let user = make_user(&client, name, change).await?;
        ask_identity(&client, &user, &init).await?;
        let model = ask_model(&client, &init, key).await?;
        let daily_usd = Some(ask_budget(&init, &user)?);
        let change = UserChange { daily_usd, ..UserChange::default() };
        (make_user(&client, user.name.clone(), change).await?, model)
    };
    write_identity(&client, &user, given_identity(&init)).await?;
    summary(&context, &user, model.as_ref())
}

fn summary(context: &Context, user: &UserView, model: Option<&ModelView>) -> Result<(), CliError> {
    let summary = serde_json::json!({
        "data": context.data,
        "user": user,
        "model": model.map_or("demo", |model| model.name.as_str()),
    });
    context.output.result(&summary, || {
        let model = match model {
            Some(model) => format!("Your agent uses {} at {}.", model.model, model.base_url),
            None => {
                "Your agent uses the demo model, a script; connect a real one on the page /model \
                     or with `cloister model add`."
                    .to_owned()
            }
        };
        format!(
            "{} is set up for {}. {model}\nStart it, if it does not run: {}",
            context.data.display(),
            match user.display_name.as_str() {
                "" => user.name.to_string(),
                called => format!("{called} ({} in commands)", user.name),
            },
            context.typed("up")
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

/// What was said of the person.
fn given(init: &Init) -> UserChange {
    UserChange {
        display_name: init.display_name.clone(),
        language: init.language,
        daily_usd: init.daily,
        ..UserChange::default()
    }
}

fn given_identity(init: &Init) -> IdentityChange {
    IdentityChange {
        agent_name: init.agent_name.clone(),
        manner: init.manner.clone(),
        about: init.about.clone(),
        seen: None,
    }
}

/// The user that is meant: the one named, the first, or a new one.
async fn wanted_user(client: &Client, init: &Init) -> Result<UserName, CliError> {
    if let Some(name) = &init.user {
        return Ok(name.clone());
    }
    let users: Vec<UserView> = client.get("/admin/v1/users").await?;
    match users.into_iter().next() {
        Some(first) => Ok(first.name),
        None => Ok(FIRST_USER.parse().map_err(cloister_control::ControlError::from)?),
    }
}

/// What the person is to commands, and what they are called if that is something else.
async fn ask_user(client: &Client, init: &Init) -> Result<(UserName, Option<String>), CliError> {
    let usual = wanted_user(client, init).await?;
    if init.user.is_some() {
        return Ok((usual, None));
    }
    let answer = ask(&format!("What are you called? [{usual}]: "))?;
    Ok(match answer.parse::<UserName>() {
        Ok(name) => (name, None),
        Err(_) if answer.is_empty() => (usual, None),
        Err(_) => {
            let name = user_name_of(&answer).unwrap_or(usual);
            say(&format!("In commands and links you are {name}.\n"))?;
            (name, Some(answer))
        }
    })
}

/// The language that was chosen; none: what their browser and surfaces ask for.
fn ask_language() -> Result<Option<Language>, CliError> {
    let all = Language::ALL.map(|one| format!("{} ({one})", one.own_name())).join(", ");
    loop {
        let answer = ask(&format!("Your language: {all} (Enter: as your browser asks) "))?;
        if answer.is_empty() {
            return Ok(None);
        }
        match answer.parse() {
            Ok(chosen) => return Ok(Some(chosen)),
            Err(error) => say(&format!("{error}\n"))?,
        }
    }
}

/// A name for commands out of what somebody is called: the letters of it that can be in one.
fn user_name_of(called: &str) -> Option<UserName> {
    const FOLDED: [(&str, &str); 16] = [
        ("a", "àáâãåăą"),
        ("ae", "äæ"),
        ("c", "çćč"),
        ("e", "èéêëęě"),
        ("i", "ìíîïı"),
        ("o", "òóôõø"),
        ("oe", "öœ"),
        ("s", "śšş"),
        ("ss", "ß"),
        ("u", "ùúûů"),
        ("ue", "ü"),
        ("n", "ñńň"),
        ("l", "ł"),
        ("y", "ýÿ"),
        ("z", "źżž"),
        ("-", " "),
    ];
    let folded = |c: char| -> String {
        let known = FOLDED.iter().find(|(_, all)| all.contains(c));
        known.map_or_else(|| c.to_string(), |(plain, _)| (*plain).to_owned())
    };
    let fits = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(*c);
    let name: String = called.trim().to_lowercase().chars().map(folded).collect();
    let name: String = name.chars().filter(fits).take(MOST_NAME_CHARS).collect();
    name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).parse().ok()
}

/// Makes the user, or changes the one that is there.
async fn make_user(
    client: &Client,
    name: UserName,
    change: UserChange,
) -> Result<UserView, CliError> {
    let users: Vec<UserView> = client.get("/admin/v1/users").await?;
    let mut known = users.into_iter().find(|user| user.name == name);
    let path = format!("/admin/v1/users/{name}");
    if known.is_none() {
        let daily_usd = change.daily_usd;
        let new = NewUser { name, quota_mb: None, executors: None, daily_usd, task_usd: None };
        known = Some(client.post("/admin/v1/users", &new).await?);
    }
    let said = change.display_name.is_some() || change.language.is_some();
    match known {
        Some(user) if !said && change.daily_usd.is_none() => Ok(user),
        _ => client.call(Method::PATCH, &path, Some(&change)).await,
    }
}

/// Asks for what was not given; what is there is shown, and kept when nothing is said.
async fn ask_identity(client: &Client, user: &UserView, init: &Init) -> Result<(), CliError> {
    let now: Identity = client.get(&identity_path(user)).await?;
    let mut change = IdentityChange { seen: Some(now.seen.clone()), ..IdentityChange::default() };
    let or_none = |answer: String| (!answer.is_empty()).then_some(answer);
    let shown = |text: &str| {
        if text.is_empty() {
            String::new()
        } else {
            format!("  now: {}\n", text.replace('\n', "\n       "))
        }
    };
    if init.agent_name.is_none() {
        let now = if now.agent_name.is_empty() { "no name" } else { &now.agent_name };
        change.agent_name = or_none(ask(&format!("What is your agent called? [{now}]: "))?);
    }
    if init.manner.is_none() {
        let question = format!("How should it be? (Enter keeps it)\n{}> ", shown(&now.manner));
        change.manner = or_none(ask(&question)?);
    }
    if init.about.is_none() {
        let question =
            format!("What should it know about you? (Enter keeps it)\n{}> ", shown(&now.about));
        change.about = or_none(ask(&question)?);
    }
    write_identity(client, user, change).await
}

fn identity_path(user: &UserView) -> String {
    format!("/admin/v1/users/{}/identity", user.name)
}

async fn write_identity(
    client: &Client,
    user: &UserView,
    change: IdentityChange,
) -> Result<(), CliError> {
    if change.agent_name.is_none() && change.manner.is_none() && change.about.is_none() {
        return Ok(());
    }
    let _written: Identity =
        client.call(Method::PATCH, &identity_path(user), Some(&change)).await?;
    Ok(())
}

fn ask_budget(init: &Init, user: &UserView) -> Result<f64, CliError> {
    if let Some(daily) = init.daily {
        return Ok(daily);
    }
    loop {
        let answer = ask(&format!("Dollars it may spend on models a day [{}]: ", user.daily_usd))?;
        if answer.is_empty() {
            return Ok(user.daily_usd);
        }
        match answer.trim_start_matches('$').parse::<f64>() {
            Ok(usd) if (0.0..=1e6).contains(&usd) => return Ok(usd),
            Ok(_) | Err(_) => say("That is not an amount in dollars, such as 2.50.\n")?,
        }
    }
}

async fn connect_given_model(
    client: &Client,
    init: &Init,
    key: Option<Key>,
) -> Result<Option<ModelView>, CliError> {
    let (Some(base_url), Some(model)) = (&init.base_url, &init.model) else { return Ok(None) };
    connect_model(client, base_url, model, key, init.no_test).await.map(Some)
}

/// Asks until a model answers, or none is wanted.
async fn ask_model(
    client: &Client,
    init: &Init,
    key: Option<Key>,
) -> Result<Option<ModelView>, CliError> {
    if init.base_url.is_some() {
        return connect_given_model(client, init, key).await;
    }
    offer_found(client).await?;
    loop {
        let base_url =
            ask("Base URL of a model, such as https://openrouter.ai/api/v1, or a name of \
             `cloister model presets` (Enter: as it is now) ")?;
        let preset = cloister_control::preset(&base_url);
        let base_url = preset.map_or(base_url, |preset| preset.base_url.to_owned());
        if base_url.is_empty() {
            return current_model(client).await;
        }
        let key = match &key {
            Some(key) => Some(key.clone()),
            None => Some(prompt_secret("Its key (not shown; Enter: none): ")?)
                .filter(|key| !key.expose().is_empty()),
        };
        let model = ask("The model's id there, such as z-ai/glm-4.6: ")?;
        say("Trying it…\n")?;
        match connect_model(client, &base_url, &model, key, init.no_test).await {
            Ok(connected) => return Ok(Some(connected)),
            Err(error) => {
                let fix = error.body.fix.unwrap_or_default();
                say(&format!("That did not work: {}.\n{fix}\n", error.body.message))?;
            }
        }
    }
}

/// Names the servers that run on this machine. That it can't be found out stops nobody.
async fn offer_found(client: &Client) -> Result<(), CliError> {
    let places: Vec<PresetView> = client.get("/admin/v1/presets").await.unwrap_or_default();
    for place in places.iter().filter(|place| !place.models.is_empty()) {
        let ids: Vec<&str> = place.models.iter().map(String::as_str).take(MOST_IDS).collect();
        say(&format!("{} runs ({}), with {}.\n", place.title, place.name, ids.join(", ")))?;
    }
    Ok(())
}

/// The real model that is in use, if there is one.
async fn current_model(client: &Client) -> Result<Option<ModelView>, CliError> {
    let models: Vec<ModelView> = client.get("/admin/v1/models").await?;
    Ok(models.into_iter().find(|model| !model.base_url.is_empty() && !model.levels.is_empty()))
}

async fn connect_model(
    client: &Client,
    base_url: &str,
    model: &str,
    key: Option<Key>,
    untested: bool,
) -> Result<ModelView, CliError> {
    let new = NewModel {
        name: MODEL_NAME.to_owned(),
        base_url: base_url.to_owned(),
        model: model.to_owned(),
        key,
        key_env: None,
        prompt_usd: None,
        completion_usd: None,
        max_output_tokens: None,
        replace: true,
        keep_key: false,
        keep_settings: true,
        untested,
        settings: cloister_protocol::ModelSettings::default(),
    };
    let view: ModelView = client.post_within(TRIAL, "/admin/v1/models", &new).await?;
    let kinds: Vec<KindView> = client.get("/admin/v1/kinds").await?;
    for KindView { kind, models } in kinds.into_iter().filter(|of| of.kind.level().is_some()) {
        // The models that are there stay behind it; the script does not: it would answer unnoticed.
        let others = models.into_iter().filter(|name| name != MODEL_NAME && name != DEMO);
        let models = std::iter::once(MODEL_NAME.to_owned()).chain(others).collect();
        let path = format!("/admin/v1/kinds/{kind}");
        let _used: KindView = client.call(Method::PUT, &path, Some(&Chain { models })).await?;
    }
    Ok(view)
}

#[cfg(test)]
#[path = "init_tests.rs"]
mod tests;
