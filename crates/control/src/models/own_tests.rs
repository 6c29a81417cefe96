use cloister_protocol::{ErrorBody, ErrorCode, ModelSettings};
use futures_util::future::BoxFuture;

use super::*;
use crate::ports::{ModelDefaults, TriedModel};
use crate::test_world::World;

const KNOWN: &str = "https://openrouter.ai/api/v1";

/// Every model answers.
struct Answers;

impl Upstream for Answers {
    fn defaults(&self, _model_id: &str) -> ModelDefaults {
        ModelDefaults { prompt_price: 3_000, completion_price: 15_000, max_output_tokens: 8_192 }
    }

    fn probe<'a>(
        &'a self,
        _model: &'a Model,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<TriedModel, ErrorBody>> {
        let answer = format!("answered {} a key", if key.is_some() { "with" } else { "without" });
        let profile = ModelProfile::default();
        Box::pin(std::future::ready(Ok(TriedModel { answer, profile })))
    }

    fn model_ids<'a>(
        &'a self,
        _base_url: &'a str,
        _key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Vec<String>, ErrorBody>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

fn new(name: &str, base_url: &str) -> NewModel {
    NewModel {
        name: name.to_owned(),
        base_url: base_url.to_owned(),
        model: "p/m".to_owned(),
        key: Some(Key::new("sk-own")),
        key_env: None,
        prompt_usd: None,
        completion_usd: None,
        max_output_tokens: None,
        replace: false,
        keep_key: false,
        keep_settings: false,
        untested: false,
        settings: ModelSettings::default(),
    }
}

async fn refused(world: &World, user: &User, addresses: Addresses, new: NewModel) -> ErrorCode {
    let actor = Actor::person("ada");
    let models = world.control.models();
    models.connect_own(&actor, &Answers, (user, addresses), new).await.unwrap_err().body().code
}

/// Whoever is not an overlord can make this machine ask the known places alone, and with a key of theirs alone.
#[tokio::test]
async fn a_member_names_known_places_and_no_key_but_their_own() {
    let world = World::new().await;
    for elsewhere in [
        "http://127.0.0.1:11434/v1",
        "http://169.254.169.254/latest",
        "https://openrouter.ai.evil.example/api/v1",
        "https://openrouter.ai/api/v1/../../x",
        "https://openrouter.ai/api/v2",
    ] {
        let code = refused(&world, &world.ada, Addresses::Known, new("mine", elsewhere)).await;
        assert_eq!(code, ErrorCode::Forbidden, "{elsewhere}");
    }
    let keyless = NewModel { key: None, ..new("mine", KNOWN) };
    let code = refused(&world, &world.ada, Addresses::Known, keyless).await;
    assert_eq!(code, ErrorCode::BadRequest);
    let borrowed =
        NewModel { key: None, key_env: Some("OPENAI_API_KEY".to_owned()), ..new("mine", KNOWN) };
    let code = refused(&world, &world.ada, Addresses::Any, borrowed).await;
    assert_eq!(code, ErrorCode::BadRequest);
    let code = refused(&world, &world.club, Addresses::Any, new("mine", KNOWN)).await;
    assert_eq!(code, ErrorCode::BadRequest);
    assert!(world.control.models().own(&world.ada).await.unwrap().is_empty());
}

#[tokio::test]
async fn it_answers_in_all_chats_of_its_owner_until_it_is_removed() {
    let world = World::new().await;
    let (actor, models) = (Actor::person("ada"), world.control.models());
    let whose = (&world.ada, Addresses::Known);
    let connected = models.connect_own(&actor, &Answers, whose, new("mine", KNOWN)).await.unwrap();
    assert_eq!(connected.answer.as_deref(), Some("answered with a key"));
    let chat = cloister_protocol::ChatId::from_number(1);
    let usable = async |user: &User| models.usable((user.workspace, chat)).await.unwrap();
    assert_eq!(usable(&world.ada).await, ["mine", "demo"]);
    assert_eq!(usable(&world.bob).await, ["demo"]);
    let place = (world.ada.workspace, chat);
    assert_eq!(models.chosen(place).await.unwrap().as_deref(), Some("mine"));
    // Again, with the key that is there; not under a name that is taken.
    let again = NewModel { key: None, replace: true, keep_key: true, ..new("mine", KNOWN) };
    models.connect_own(&actor, &Answers, whose, again).await.unwrap();
    let code = refused(&world, &world.ada, Addresses::Known, new("mine", KNOWN)).await;
    assert_eq!(code, ErrorCode::Conflict);
    let code = refused(&world, &world.ada, Addresses::Known, new("demo", KNOWN)).await;
    assert_eq!(code, ErrorCode::BadRequest);
    models.remove_own(&actor, &world.ada, "mine").await.unwrap();
    assert_eq!(models.chosen(place).await.unwrap(), None);
    assert!(models.own(&world.ada).await.unwrap().is_empty());
}
