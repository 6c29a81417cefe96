use cloister_protocol::{Level, ModelProfile, ModelSettings, WorkKind};
use cloister_store::models::{KeyRef, Model};

use super::*;

pub(super) async fn using(world: &World, names: &[&str]) {
    let actor = Actor::person("test");
    for name in names {
        let model = Model {
            name: (*name).to_owned(),
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            model: (*name).to_owned(),
            key: KeyRef::None,
            prompt_price: 0,
            completion_price: 0,
            max_output_tokens: 1,
            profile: ModelProfile::default(),
            settings: ModelSettings::default(),
        };
        world.store().models().add_model(&actor, &model).await.unwrap();
    }
    set_in_use(world, names).await;
}

async fn set_in_use(world: &World, names: &[&str]) {
    let chain: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    for level in Level::ALL {
        let actor = Actor::person("test");
        world.control.models().use_chain(&actor, level, &chain).await.unwrap();
    }
}

/// Who answers first there.
pub(super) async fn first(world: &World, chat: (cloister_protocol::WorkspaceId, ChatId)) -> String {
    let chain =
        world.store().models().chain_for(chat, Level::Coordinator, WorkKind::Talk).await.unwrap();
    chain.first().unwrap().name.clone()
}

/// What was said unasked of choices that were lost.
async fn told(world: &World, workspace: cloister_protocol::WorkspaceId) -> Vec<String> {
    let items = world.store().outbox().outbox_after(workspace, C1, 0).await.unwrap();
    let notice = |frame: AgentFrame| match frame {
        AgentFrame::Update(cloister_protocol::Update::Notice { text }) => Some(text),
        _ => None,
    };
    items.into_iter().filter_map(|item| notice(item.frame)).collect()
}

#[tokio::test]
async fn a_model_is_chosen_among_those_in_use() {
    let world = World::new().await;
    using(&world, &["fast", "strong"]).await;
    let web = Typing::on_web(&world, &world.ada);
    assert_eq!(
        web.gets("/model").await,
        "fast answers in this chat.\nTo choose from: fast, strong.\n\
         /model NAME chooses one for this chat, /model NAME always for all of them; \
         /model default takes it back. /model NAME for vision chooses one for pictures alone; so do talk, \
         work, summarise and research."
    );
    for nobodys in ["/model gpt", "/model demo", "/model ../fast"] {
        let refused = web.is_refused(nobodys).await;
        assert!(refused.contains("choose from: fast, strong"), "{refused}");
    }
    web.is_refused("/model strong tomorrow").await;
    web.is_refused("/model strong always and ever").await;
    assert_eq!(first(&world, web.chat).await, "fast");
    assert!(web.gets("/model strong").await.starts_with("In this chat strong answers"));
    assert!(web.gets("/model").await.starts_with("strong answers in this chat."));
    assert_eq!(first(&world, (web.chat.0, ChatId::from_number(2))).await, "fast");
    assert_eq!(first(&world, (world.bob.workspace, C1)).await, "fast");
    assert!(web.gets("/model default").await.contains("the default model"));
    assert_eq!(first(&world, web.chat).await, "fast");

    // For all chats of the person; one chat may still differ.
    assert!(web.gets("/model strong always").await.starts_with("In all your chats strong answers"));
    assert_eq!(first(&world, (web.chat.0, ChatId::from_number(2))).await, "strong");
    web.gets("/model fast").await;
    assert_eq!(first(&world, web.chat).await, "fast");
    web.gets("/model default").await;
    assert_eq!(first(&world, web.chat).await, "strong");
    web.gets("/model default always").await;
    assert_eq!(first(&world, web.chat).await, "fast");
}

#[tokio::test]
async fn a_choice_that_is_lost_is_told_and_the_default_answers() {
    let world = World::new().await;
    using(&world, &["fast", "strong", "large"]).await;
    let web = Typing::on_web(&world, &world.ada);
    web.gets("/model strong").await;
    web.gets("/model large always").await;

    // Out of use: it comes back when it is used again.
    set_in_use(&world, &["fast", "large"]).await;
    assert_eq!(first(&world, web.chat).await, "fast");
    assert!(web.gets("/model").await.contains("strong was chosen, and can't be used here now."));
    let words = told(&world, world.ada.workspace).await;
    assert_eq!(words.len(), 1, "{words:?}");
    assert!(words[0].starts_with("The model strong, which was chosen here, is not in use"));
    set_in_use(&world, &["fast", "large", "strong"]).await;
    assert_eq!(first(&world, web.chat).await, "strong");

    // Removed: gone for good, also from who comes by its name later.
    let actor = Actor::person("test");
    world.control.models().remove(&actor, "strong").await.unwrap();
    world.control.models().remove(&actor, "large").await.unwrap();
    let words = told(&world, world.ada.workspace).await;
    assert_eq!(words.len(), 3, "{words:?}");
    assert!(words[2].contains("large, which was chosen in all chats"), "{words:?}");
    using(&world, &["strong"]).await;
    set_in_use(&world, &["fast", "strong"]).await;
    assert_eq!(first(&world, web.chat).await, "fast");
    assert!(told(&world, world.bob.workspace).await.is_empty());
}

#[tokio::test]
async fn in_a_room_the_model_is_chosen_by_who_directs_it() {
    let world = club().await;
    using(&world, &["fast", "strong"]).await;
    world.role(&world.ada, "member").await;
    world.role(&world.bob, "admin").await;
    let member = Typing::heard(&world, &world.ada, ADA, Heard::Shared(CLUB)).await;
    assert!(member.gets("!model").await.contains("!model NAME chooses"));
    let over_the_socket = Typing::in_club(&world, &world.ada, member.chat.1);
    for attack in ["!model strong", "!model strong always", "!model default"] {
        for place in [&member, &over_the_socket] {
            place.is_refused(attack).await;
            assert_eq!(first(&world, place.chat).await, "fast", "{attack}");
        }
    }
    let admin = Typing::heard(&world, &world.bob, BOB, Heard::Shared(CLUB)).await;
    admin.gets("!model strong").await;
    assert_eq!(first(&world, admin.chat).await, "strong");
    // Their own chats are not the community's.
    assert_eq!(first(&world, (world.bob.workspace, C1)).await, "fast");
}

#[tokio::test]
async fn a_model_is_chosen_for_one_kind_of_work_alone() {
    let world = World::new().await;
    using(&world, &["fast", "eyes"]).await;
    let web = Typing::on_web(&world, &world.ada);
    let looks = async |chat| {
        let models = world.store().models();
        let chain = models.chain_for(chat, Level::Coordinator, WorkKind::Vision).await.unwrap();
        chain.first().unwrap().name.clone()
    };
    assert_eq!(
        web.gets("/model eyes for vision").await,
        "In this chat eyes is asked first to look at pictures."
    );
    assert_eq!(
        (looks(web.chat).await, first(&world, web.chat).await),
        ("eyes".into(), "fast".into())
    );
    assert!(web.gets("/model").await.contains("\neyes was chosen to look at pictures.\n"));
    web.gets("/model eyes always for summarise").await;
    web.gets("/model default for vision").await;
    assert_eq!(looks(web.chat).await, "fast");
    for wrong in ["/model eyes for", "/model eyes for everything", "/model eyes for talk for work"]
    {
        web.is_refused(wrong).await;
    }
    assert!(web.is_refused("/model gpt for vision").await.contains("choose from: fast, eyes"));
}

/// Several models can be offered without being anybody's fallback.
#[tokio::test]
async fn a_model_on_offer_is_chosen_and_nobodys_fallback() {
    let world = World::new().await;
    using(&world, &["strong"]).await;
    let actor = Actor::person("test");
    world.store().models().set_offered(&actor, "strong", true).await.unwrap();
    using(&world, &["fast"]).await;
    let web = Typing::on_web(&world, &world.ada);
    let chain = async || {
        let models = world.store().models();
        let chain = models.chain_for(web.chat, Level::Coordinator, WorkKind::Talk).await.unwrap();
        chain.into_iter().map(|model| model.name).collect::<Vec<_>>()
    };
    assert_eq!(chain().await, ["fast"]);
    assert!(web.gets("/model").await.contains("To choose from: fast, strong."));
    web.gets("/model strong").await;
    assert_eq!(chain().await, ["strong", "fast"]);
}
