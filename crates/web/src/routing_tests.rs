//! The router of surfaces: whose message it is, and where it goes; I3, I4 and E81.

use cloister_control::Actor;
use cloister_control::{Giver, Heard, Route, Routed};
use cloister_policy::engine::Names;
use cloister_protocol::ChatId;
use cloister_protocol::admin::{ContextChange, NameList};
use cloister_store::users::User;

use crate::test_world::World;

const C1: ChatId = ChatId::from_number(1);

static ROOT: Actor = Actor::System { part: "root" };

fn by_root(user: &User) -> Giver<'static> {
    Giver { user: user.id, actor: &ROOT }
}

struct People {
    world: World,
    ada: User,
    bob: User,
    club: User,
}

impl People {
    async fn new() -> Self {
        let world = World::new().await;
        world.add("root").await;
        let (ada, bob) = (world.add("ada").await.user, world.add("bob").await.user);
        let name = "book-club".parse().unwrap();
        let club =
            world.control().people().add_community(&Actor::person("root"), &name).await.unwrap();
        let people = Self { world, ada, bob, club };
        people.link(&people.ada, "@ada:example.org").await;
        people.link(&people.bob, "@bob:example.org").await;
        people
    }

    async fn link(&self, user: &User, id: &str) {
        let account = cloister_control::account("matrix", id, "anybody").unwrap();
        self.world
            .control()
            .people()
            .link_identity(&Actor::person("root"), user, &account)
            .await
            .unwrap();
    }

    async fn role(&self, user: &User, role: &str) {
        let held = format!("{role}@workspace:{}", self.club.workspace).parse().unwrap();
        self.world.control().people().give_role(by_root(user), user, &held).await.unwrap();
    }

    async fn room(&self, of: &User, name: &str, room: &str, tools: Option<&[&str]>) {
        let tools = tools
            .map(|tools| NameList::Only(tools.iter().map(|tool| (*tool).to_owned()).collect()));
        let change = ContextChange {
            tools,
            surface: Some("matrix".into()),
            conversation: Some(room.into()),
            new: true,
            ..ContextChange::default()
        };
        self.world
            .control()
            .contexts()
            .change_context(&Actor::person("root"), of.workspace, name, change)
            .await
            .unwrap();
    }

    async fn route(&self, id: &str, heard: Heard<'_>) -> Route {
        self.world.control().contexts().route("matrix", id, heard).await.unwrap()
    }

    async fn goes(&self, id: &str, heard: Heard<'_>) -> Option<Routed> {
        match self.route(id, heard).await {
            Route::To(routed) => Some(routed),
            Route::Refused { .. } => None,
        }
    }
}

/// E81: an identity is the account that the surface vouches for; a name says nothing.
#[tokio::test]
async fn only_a_linked_account_is_somebody() {
    let people = People::new().await;
    let ada = people.goes("@ada:example.org", Heard::Direct("!dm")).await.unwrap();
    let expected =
        Routed { user: people.ada.id, workspace: people.ada.workspace, chat: C1, context: None };
    assert_eq!(ada, expected);
    for spoofed in
        ["@ADA:example.org", "@ada:example.org.evil", "ada", "anybody", "@ada:example.or"]
    {
        assert_eq!(people.goes(spoofed, Heard::Direct("!dm")).await, None, "{spoofed}");
    }
    let elsewhere =
        people.world.control().contexts().route("telegram", "@ada:example.org", Heard::Direct("1"));
    assert!(matches!(elsewhere.await.unwrap(), Route::Refused { .. }));
}

/// I2: who is not known is told how to pair, once, and the answer is the same for everybody.
#[tokio::test]
async fn strangers_are_told_how_to_pair_once() {
    let people = People::new().await;
    let first = people.route("@eve:example.org", Heard::Direct("!x")).await;
    assert!(
        matches!(&first, Route::Refused { text: Some(text) } if text.contains("`pair`")),
        "{first:?}"
    );
    let again = people.route("@eve:example.org", Heard::Shared("!y")).await;
    assert_eq!(again, Route::Refused { text: None });
    let other = people.route("@mallory:example.org", Heard::Direct("!x")).await;
    assert_eq!(other, first);

    let control = people.world.control();
    let known = control.people().begin_pairing("matrix", "@ada:example.org", "x").await.unwrap();
    let unknown = control.people().begin_pairing("matrix", "@eve:example.org", "x").await.unwrap();
    assert_eq!(known.len(), unknown.len());
    assert_ne!(known, unknown);
    let mut refused = 0;
    for _ in 0..10 {
        let asked = control.people().begin_pairing("matrix", "@eve:example.org", "x").await;
        refused += usize::from(asked.is_err());
    }
    assert_eq!(refused, 8, "one account gets three codes, then waits");
}

/// I3: a shared conversation leads to its community, for its members, and else nowhere.
#[tokio::test]
async fn a_conversation_leads_to_one_workspace_or_none() {
    let people = People::new().await;
    let shared = Heard::Shared("!room:example.org");
    assert_eq!(people.goes("@ada:example.org", shared).await, None, "unrouted fails closed");

    people.room(&people.club, "general", "!room:example.org", Some(&["ls"])).await;
    assert_eq!(people.goes("@ada:example.org", shared).await, None, "not a member");
    people.role(&people.bob, "viewer").await;
    assert_eq!(people.goes("@bob:example.org", shared).await, None, "viewers do not speak");
    people.role(&people.ada, "member").await;
    let routed = people.goes("@ada:example.org", shared).await.unwrap();
    assert_eq!((routed.user, routed.workspace), (people.ada.id, people.club.workspace));
    assert_eq!(routed.context.as_deref(), Some("general"));

    let lists = people
        .world
        .control()
        .contexts()
        .context_lists(routed.workspace, routed.chat)
        .await
        .unwrap();
    assert_eq!(lists.tools, Names::Only(["ls".to_owned()].into()));
    let own =
        people.world.control().contexts().context_lists(people.ada.workspace, C1).await.unwrap();
    assert_eq!(own.tools, Names::All);
}

/// I3: a private workspace is never told where others read along, and never to somebody else.
#[tokio::test]
async fn a_private_workspace_is_reached_by_its_owner_alone() {
    let people = People::new().await;
    people.room(&people.ada, "corner", "!corner:example.org", None).await;
    let (direct, shared) =
        (Heard::Direct("!corner:example.org"), Heard::Shared("!corner:example.org"));
    let routed = people.goes("@ada:example.org", direct).await.unwrap();
    assert_eq!(routed.workspace, people.ada.workspace);
    assert_eq!(people.goes("@ada:example.org", shared).await, None, "others would read along");
    assert_eq!(people.goes("@bob:example.org", direct).await, None, "bob in ada's conversation");
}

/// I1: a role or an identity that is taken away counts no more, at once.
#[tokio::test]
async fn what_is_taken_away_counts_no_more() {
    let people = People::new().await;
    let dm = Heard::Direct("!dm");
    let own = format!("member@workspace:{}", people.ada.workspace).parse().unwrap();
    let control = people.world.control();
    let mut changes = control.people().access_changes();
    control.people().take_role(by_root(&people.ada), &people.ada, &own).await.unwrap();
    changes.next().await;
    assert_eq!(people.goes("@ada:example.org", dm).await, None);

    let account = cloister_control::account("matrix", "@bob:example.org", "").unwrap();
    control.people().unlink_identity(&Actor::person("root"), &people.bob, &account).await.unwrap();
    changes.next().await;
    assert_eq!(people.goes("@bob:example.org", dm).await, None);
}
