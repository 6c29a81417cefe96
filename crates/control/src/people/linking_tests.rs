use cloister_policy::engine::{Assignment, Role, Scope};
use cloister_store::approvals::ApprovalState;

use super::*;
use crate::people::account;
use crate::test_world::{World, quietly};

/// A question to a person, and the account it is about.
async fn asked(world: &World, user: &User, by: Linker<'_>) -> Approval {
    let code = world.control.people().begin_pairing("discord", "666", "Ada").await.unwrap();
    let linked = world.control.people().answer_pairing(by, &code, user, None).await.unwrap();
    let Linking::Asked(id) = linked else { panic!("{linked:?}") };
    world.control.store().approvals().approval(id).await.unwrap()
}

/// An admin enters the code of an account of their own for somebody who is here. That person is
/// asked; nobody else can answer for them; and what they say happens.
#[tokio::test]
async fn an_account_is_linked_when_its_person_says_so() {
    let world = World::new().await;
    let (ada, bob) = (world.ada.clone(), world.bob.clone());
    let admin = Assignment { role: Role::Admin, scope: Scope::Platform };
    world.control.people().give_role(quietly(&bob), &bob, &admin).await.unwrap();
    let by = Linker { user: bob.id, actor: &Actor::person("bob"), sure: false };
    let known = world.control.store().users().identities_of(ada.id).await.unwrap();
    assert!(!known.is_empty(), "ada is here");
    let store = world.control.store();
    for (answer, linked) in [(Answer::Deny, 0), (Answer::Allow, 1)] {
        let question = asked(&world, &ada, by).await;
        assert_eq!((question.workspace, question.user), (ada.workspace, ada.id));
        assert!(question.text.contains("666 on discord") && question.text.contains("bob"));
        let digest = Some(question.digest.clone());
        let give = async |user: UserId, answer| {
            let digest = digest.as_deref();
            world
                .control
                .gates()
                .answer_approval(user, ada.workspace, question.id, answer, digest)
                .await
        };
        assert!(give(bob.id, Answer::Allow).await.is_err(), "the admin answers for her");
        assert_eq!(store.users().identities_of(ada.id).await.unwrap(), known);
        give(ada.id, answer).await.unwrap();
        let now = store.users().identities_of(ada.id).await.unwrap();
        assert_eq!(now.len(), known.len() + linked);
        assert!(store.approvals().pending_approvals(ada.workspace).await.unwrap().is_empty());
    }
    let linked = store.users().identity("discord", "666").await.unwrap().unwrap();
    assert_eq!((linked.user, linked.linked_by.as_str()), (ada.id, "bob, allowed by ada"));
}

/// What was allowed just before a stop is linked at the next start, and once.
#[tokio::test]
async fn what_was_allowed_before_a_stop_is_linked_after_it() {
    let world = World::new().await;
    let ada = world.ada.clone();
    let by = Linker { user: world.bob.id, actor: &Actor::person("bob"), sure: false };
    let question = asked(&world, &ada, by).await;
    assert_eq!(question.state, ApprovalState::Pending);
    world.control.gates().apply_allowed_proposals().await.unwrap();
    assert!(world.control.store().users().identity("discord", "666").await.unwrap().is_none());
    let given = world.control.gates().answer_approval(
        ada.id,
        ada.workspace,
        question.id,
        Answer::Allow,
        Some(&question.digest),
    );
    given.await.unwrap();
    world.control.gates().apply_allowed_proposals().await.unwrap();
    assert!(world.control.store().users().identity("discord", "666").await.unwrap().is_some());
}

/// An overlord needs nobody's word, and the person is told where they were before; who links their own is not.
#[tokio::test]
async fn an_overlord_links_and_the_person_is_told() {
    let world = World::new().await;
    let ada = world.ada.clone();
    let told = async || {
        let chat = world.control.store().users().last_chat(ada.workspace).await.unwrap();
        let rows =
            world.control.store().outbox().outbox_after(ada.workspace, chat, 0).await.unwrap();
        rows.iter().filter(|row| format!("{:?}", row.frame).contains("linked the account")).count()
    };
    let new = account("discord", "777", "Ada").unwrap();
    let by = Linker { user: world.bob.id, actor: &Actor::Operator, sure: true };
    let code = world.control.people().begin_pairing("discord", "777", "Ada").await.unwrap();
    let linked = world.control.people().answer_pairing(by, &code, &ada, None).await.unwrap();
    assert!(matches!(linked, Linking::Linked(account) if account == new));
    assert_eq!(told().await, 1);
    let own = Linker { user: ada.id, actor: &Actor::person("ada"), sure: true };
    let code = world.control.people().begin_pairing("discord", "778", "Ada").await.unwrap();
    world.control.people().answer_pairing(own, &code, &ada, None).await.unwrap();
    assert_eq!(told().await, 1);
}

/// A model somewhere else reads what people write: they are told where, once, and who did it is not.
#[tokio::test]
async fn people_are_told_who_reads_what_they_write() {
    let world = World::new().await;
    let store = world.control.store();
    let told = async |user: &User| {
        let chat = store.users().last_chat(user.workspace).await.unwrap();
        let rows = store.outbox().outbox_after(user.workspace, chat, 0).await.unwrap();
        rows.iter().filter(|row| format!("{:?}", row.frame).contains("spy.example:8443")).count()
    };
    let mut model = cloister_store::models::Model::demo();
    model.name = "spy".to_owned();
    model.base_url = "https://spy.example:8443/v1".to_owned();
    let before = world.control.people().readers().await.unwrap();
    store.models().add_model(&Actor::person("test"), &model).await.unwrap();
    world.control.people().tell_of_readers(world.bob.id, &before).await.unwrap();
    assert_eq!(told(&world.ada).await, 0, "no chain has it");
    for level in cloister_protocol::Level::ALL {
        let before = world.control.people().readers().await.unwrap();
        store.models().set_chain(&Actor::person("test"), level, &["spy".to_owned()]).await.unwrap();
        world.control.people().tell_of_readers(world.bob.id, &before).await.unwrap();
    }
    assert_eq!((told(&world.ada).await, told(&world.bob).await), (1, 0));
}
