use super::*;
use crate::SurfaceOptions;
use crate::test_world::{ADA, BOB, C1, CLUB, World};

const DM: Heard<'_> = Heard::Direct("!dm:example.org");

fn nowhere(located: &Located) -> bool {
    matches!(located, Located::NotHere { .. } | Located::Stranger { .. })
}

/// X9: the first contact in a direct conversation leads to the first chat, and the conversation is known.
#[tokio::test]
async fn a_first_contact_leads_home_and_is_remembered() {
    let world = World::new().await;
    let first = world.speaker(ADA, DM).await;
    assert_eq!((first.user, first.name.as_str()), (world.ada.id, "ada"));
    assert_eq!((first.workspace, first.chat), (world.ada.workspace, C1));
    assert_eq!(first.conversation.kind, ConversationKind::Door);
    assert_eq!(first.conversation.user, Some(world.ada.id));
    assert_eq!(world.speaker(ADA, DM).await, first, "the same conversation the next time");
}

/// X2: a room leads to the chat that it was made for.
#[tokio::test]
async fn a_room_leads_to_its_chat() {
    let world = World::new().await;
    let chat = world.store().new_chat(world.ada.workspace, "Taxes", None).await.unwrap().id;
    let room = world.room_of(&world.ada, chat, "!taxes").await;
    let speaker = world.speaker(ADA, Heard::Direct("!taxes")).await;
    assert_eq!((speaker.chat, speaker.conversation), (chat, room));
}

/// E81, I3: nobody speaks in somebody else's room, whatever role they hold, and nothing of a private
/// workspace is taken where others read along.
#[tokio::test]
async fn a_private_room_hears_its_owner_alone() {
    let world = World::new().await;
    world.room_of(&world.ada, C1, "!ada").await;
    let overlord = crate::account("matrix", "@root:example.org", "").unwrap();
    world.control.link_identity(&world.root, &overlord, "root").await.unwrap();
    for other in [BOB, "@root:example.org", "@eve:example.org"] {
        let located = world.locate(other, Heard::Direct("!ada")).await;
        assert!(nowhere(&located), "{other}: {located:?}");
    }
    let located = world.locate(ADA, Heard::Shared("!ada")).await;
    assert!(nowhere(&located), "others read along: {located:?}");
    world.speaker(ADA, Heard::Direct("!ada")).await;
}

#[tokio::test]
async fn who_may_not_speak_is_told_why_once() {
    let world = World::new().await;
    world.room_of(&world.ada, C1, "!ada").await;
    let first = world.locate(ADA, Heard::Shared("!ada")).await;
    let Located::NotHere { tell: Some(words) } = first else { panic!("{first:?}") };
    assert!(words.contains("Others read along"), "{words}");
    let again = world.locate(ADA, Heard::Shared("!ada")).await;
    assert_eq!(again, Located::NotHere { tell: None });
}

/// I3: a group room leads to its community for members, and to nothing for anybody else.
#[tokio::test]
async fn a_group_room_is_refused_unless_it_is_a_context() {
    let world = World::new().await;
    let shared = Heard::Shared(CLUB);
    assert!(nowhere(&world.locate(ADA, shared).await), "nobody connected it");
    world.club_room("general", CLUB).await;
    assert!(nowhere(&world.locate(ADA, shared).await), "not a member");
    world.role(&world.bob, "viewer").await;
    assert!(nowhere(&world.locate(BOB, shared).await), "viewers do not speak");
    world.role(&world.ada, "member").await;
    let speaker = world.speaker(ADA, shared).await;
    assert_eq!(speaker.workspace, world.club.workspace);
    assert_eq!(speaker.conversation.kind, ConversationKind::Shared);
    assert_eq!(speaker.conversation.user, None);
    assert_ne!(speaker.chat, C1, "the room has a chat of its own");
    assert!(nowhere(&world.locate("@eve:example.org", shared).await), "a stranger");
}

/// I3: a room that is no longer a context is told nothing more, and one that another community took over is
/// told nothing of the first.
#[tokio::test]
async fn a_room_that_is_disconnected_is_forgotten() {
    let world = World::new().await;
    world.club_room("general", CLUB).await;
    world.role(&world.ada, "member").await;
    let before = world.speaker(ADA, Heard::Shared(CLUB)).await;
    world.control.remove_context(world.club.workspace, "general", "root").await.unwrap();
    let known = world.store().conversation(world.connector.id, CLUB).await.unwrap();
    assert_eq!(known, None);
    assert!(nowhere(&world.locate(ADA, Heard::Shared(CLUB)).await));

    world.club_room("reading", CLUB).await;
    let after = world.speaker(ADA, Heard::Shared(CLUB)).await;
    assert_ne!((after.chat, after.conversation.id), (before.chat, before.conversation.id));
}

/// I3: Ada's own room that is made a community's shows the community's chat from then on, and what was still
/// to be told of hers is not told there.
#[tokio::test]
async fn a_private_room_that_becomes_a_communitys_tells_nothing_private() {
    let world = World::new().await;
    let own = world.speaker(ADA, Heard::Direct(CLUB)).await;
    let frame = cloister_protocol::AgentFrame::Update(cloister_protocol::Update::Notice {
        text: "private".into(),
    });
    let row = world.stored((own.workspace, C1), &world.ada, "hi", Some(&own.conversation)).await;
    drop(row);
    let notice = (own.workspace, C1);
    world.store().notify(notice, "one", &frame).await.unwrap();
    world.club_room("general", CLUB).await;
    world.role(&world.ada, "member").await;
    let shared = world.speaker(ADA, Heard::Shared(CLUB)).await;
    assert_eq!(shared.workspace, world.club.workspace);
    assert_ne!(shared.conversation.id, own.conversation.id);
    let told = world.store().to_tell(shared.conversation.id).await.unwrap();
    assert!(told.is_empty(), "{told:?}");
    assert!(world.store().conversation_by_id(own.conversation.id).await.unwrap().is_none());
}

/// X9, X11: a stranger is told once, also across a restart; all of them together at a bounded rate.
#[tokio::test]
async fn strangers_are_told_once_and_not_all_of_them_at_once() {
    let world = World::new().await;
    let eve = "@eve:example.org";
    let first = world.locate(eve, DM).await;
    let words = SurfaceOptions::default().refusal;
    assert_eq!(first, Located::Stranger { tell: Some(words) });
    assert_eq!(world.locate(eve, DM).await, Located::Stranger { tell: None });

    let own = SurfaceOptions { refusal: "Ask Root.".into(), ..SurfaceOptions::default() };
    let world = world.restarted(own).await;
    assert_eq!(world.locate(eve, DM).await, Located::Stranger { tell: None }, "after a restart");
    let other = world.locate("@mallory:example.org", DM).await;
    assert_eq!(other, Located::Stranger { tell: Some("Ask Root.".into()) });

    let mut told = 0;
    for number in 0..200 {
        let located = world.locate(&format!("@spam{number}:example.org"), DM).await;
        told += usize::from(matches!(located, Located::Stranger { tell: Some(_) }));
    }
    assert!((1..50).contains(&told), "{told} of 200 strangers were told");
    let known = world.store().conversations(world.connector.id).await.unwrap();
    assert!(known.is_empty(), "a stranger leaves nothing behind: {known:?}");
}

/// I1: an account that is unlinked is nobody's at once, in its own rooms too.
#[tokio::test]
async fn an_unlinked_account_is_a_stranger_in_its_own_room() {
    let world = World::new().await;
    world.room_of(&world.ada, C1, "!ada").await;
    world.speaker(ADA, Heard::Direct("!ada")).await;
    let account = crate::account("matrix", ADA, "").unwrap();
    world.control.unlink_identity(&world.ada, &account, "root").await.unwrap();
    let located = world.locate(ADA, Heard::Direct("!ada")).await;
    assert!(matches!(located, Located::Stranger { .. }), "{located:?}");
}
