use cloister_protocol::ChatId;

use super::*;
use crate::test_world::World;

/// Every notice of a role that somebody was told of.
async fn told(world: &World, user: &User) -> Vec<String> {
    let chat = world.store().users().last_chat(user.workspace).await.unwrap();
    let rows = world.store().outbox().outbox_after(user.workspace, chat, 0).await.unwrap();
    let frames = rows.iter().map(|row| format!("{:?}", row.frame));
    frames.filter(|frame| frame.contains("the role")).collect()
}

fn at(user: &User, role: &str) -> Assignment {
    format!("{role}@workspace:{}", user.workspace).parse().unwrap()
}

/// Whose workspace it is and whose role it is, are told; who does it is not.
#[tokio::test]
async fn whom_a_role_concerns_is_told_of_it() {
    let world = World::new().await;
    let (ada, bob) = (world.ada.clone(), world.bob.clone());
    let by = |user: &User| Giver { user: user.id, actor: &Actor::Operator };
    let root = by(&world.root);
    let viewer = at(&ada, "viewer");
    assert!(world.control.people().give_role(root, &bob, &viewer).await.unwrap());
    assert!(!world.control.people().give_role(root, &bob, &viewer).await.unwrap(), "he has it");
    let (to_ada, to_bob) = (told(&world, &ada).await, told(&world, &bob).await);
    assert_eq!((to_ada.len(), to_bob.len()), (1, 1), "{to_ada:?} {to_bob:?}");
    let undo = format!("cloister role take bob viewer --scope workspace:{}", ada.workspace);
    let said = "the operator gave bob the role viewer in your private workspace";
    assert!(to_ada[0].contains(said) && to_ada[0].contains(&undo), "{to_ada:?}");
    assert!(to_bob[0].contains("the operator gave you the role viewer in"), "{to_bob:?}");

    // The owner takes it: she knows.
    world.control.people().take_role(by(&ada), &bob, &viewer).await.unwrap();
    assert_eq!((told(&world, &ada).await.len(), told(&world, &bob).await.len()), (1, 2));
    // Her own membership, taken by somebody else: she is told once.
    world.control.people().take_role(root, &ada, &at(&ada, "member")).await.unwrap();
    let to_ada = told(&world, &ada).await;
    assert!(to_ada.len() == 2 && to_ada[1].contains("took the role member in"), "{to_ada:?}");
    // Elsewhere it is a matter of his alone.
    world
        .control
        .people()
        .give_role(root, &bob, &"operator@platform".parse().unwrap())
        .await
        .unwrap();
    let to_bob = told(&world, &bob).await;
    assert!(to_bob[2].contains("gave you the role operator on the platform"), "{to_bob:?}");
    assert_eq!(told(&world, &ada).await.len(), 2);
}

/// A role that goes with an account is told of like any other; who was never here has nothing to be told of, and
/// yet the owner of the workspace has.
#[tokio::test]
async fn a_role_that_comes_with_an_account_is_told_of_to_the_owner() {
    let world = World::new().await;
    let ada = world.ada.clone();
    let new = "new".parse().unwrap();
    let new =
        world.store().users().add_user(&Actor::Operator, &new, world.ada.limits).await.unwrap();
    world.store().chats().ensure_first_chat(&Actor::person("test"), new.workspace).await.unwrap();
    let code = world.control.people().begin_pairing("discord", "4711", "New").await.unwrap();
    let by = crate::Linker { user: world.root.id, actor: &Actor::Operator, sure: true };
    let viewer = at(&ada, "viewer");
    world.control.people().answer_pairing(by, &code, &new, Some(&viewer)).await.unwrap();
    assert_eq!((told(&world, &ada).await.len(), told(&world, &new).await.len()), (1, 0));
    assert_eq!(
        world.store().users().last_chat(new.workspace).await.unwrap(),
        ChatId::from_number(1)
    );
}
