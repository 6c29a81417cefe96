use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cloister_protocol::surface::{
    BeginFile, ConversationAt, Conversations, DiscardFile, DropFile, EndFile, Expect,
    ForgetConversations, Heard, Incoming, LetWait, Locate, Located, OpenSecret, PutConnector,
    Receive, RefusedDevice, RemoveConnector, SetBroken, SetEncrypted, Speaker, WhoIs, WhyWaiting,
    WriteFile,
};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;

use super::*;
use crate::test_world::{ADA, World};

/// Connectors that are not there.
struct Nobody;

impl Reach for Nobody {
    fn order(
        &self,
        _order: cloister_protocol::surface::AnyOrder,
    ) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        Box::pin(std::future::pending())
    }

    fn errand(
        &self,
        _by: Actor,
        order: cloister_protocol::surface::AnyOrder,
    ) -> BoxFuture<'_, Result<Value, ErrorBody>> {
        self.order(order)
    }

    fn is_outside(&self, _host: String, _port: u16) -> BoxFuture<'_, bool> {
        Box::pin(std::future::ready(false))
    }
}

fn desk(world: &World, surface: &'static str) -> Arc<SurfaceDesk> {
    SurfaceDesk::new(world.control.clone(), surface, Arc::new(Nobody))
}

async fn ask<C: Call>(desk: &Arc<SurfaceDesk>, call: C) -> Result<C::Answer, ErrorCode>
where
    C::Answer: DeserializeOwned,
{
    let answer = desk.answer(call.into()).await.map_err(|body| body.code)?;
    Ok(serde_json::from_value(answer).unwrap())
}

/// S1, E-row of connectors: a surface reaches what is its own and nothing of another, whatever ids it says.
#[tokio::test]
async fn a_surface_reaches_nothing_of_another() {
    let world = World::new().await;
    let (own, other) = (desk(&world, "matrix"), desk(&world, "telegram"));
    let connector = world.connector.id;
    let place = "!room:test".to_owned();
    assert!(ask(&own, Conversations { connector }).await.is_ok());
    let not_found = Err(ErrorCode::NotFound);
    assert_eq!(ask(&other, Conversations { connector }).await.map(|_| ()), not_found);
    assert_eq!(ask(&other, OpenSecret { connector }).await.map(|_| ()), not_found);
    let at = ConversationAt { connector, place };
    assert_eq!(ask(&other, at).await.map(|_| ()), not_found);
}

/// A connector that says somebody else speaks is not believed: the person must have an account there, and the
/// conversation must be theirs.
#[tokio::test]
async fn nobody_speaks_for_somebody_else() {
    let world = World::new().await;
    let own = desk(&world, "matrix");
    let (connector, sender) = (world.connector.id, ADA.to_owned());
    let heard = Heard::Direct("!own:test".to_owned());
    let located = ask(&own, Locate { connector, sender: sender.clone(), heard, language: None })
        .await
        .unwrap();
    let Located::To(speaker) = located else { panic!("{located:?}") };
    let say = |speaker: Speaker, id: &str| {
        let (text, attachments) = ("hello".to_owned(), Vec::new());
        let id = id.parse().unwrap();
        Receive { message: Incoming { id, speaker, text, attachments, origin: None } }
    };
    assert!(ask(&own, say((*speaker).clone(), "m-1")).await.is_ok());
    let nobody = Speaker { user: UserId::from_number(77), ..(*speaker).clone() };
    assert_eq!(ask(&own, say(nobody, "m-2")).await.map(|_| ()), Err(ErrorCode::NotFound));
    let elsewhere = Speaker {
        workspace: cloister_protocol::WorkspaceId::from_number(99),
        ..(*speaker).clone()
    };
    assert_eq!(ask(&own, say(elsewhere, "m-3")).await.map(|_| ()), Err(ErrorCode::NotFound));
    let other = desk(&world, "telegram");
    let said = say((*speaker).clone(), "m-4");
    assert_eq!(ask(&other, said).await.map(|_| ()), Err(ErrorCode::NotFound));
    let broken = SetBroken { conversation: speaker.conversation.id, why: None };
    assert_eq!(ask(&other, broken).await, Err(ErrorCode::NotFound));
    assert_eq!(ask(&other, WhoIs { account: sender }).await, Ok(None));
}

async fn ada(desk: &Arc<SurfaceDesk>, world: &World) -> Speaker {
    let (connector, sender) = (world.connector.id, ADA.to_owned());
    let heard = Heard::Direct("!own:test".to_owned());
    let located = ask(desk, Locate { connector, sender, heard, language: None }).await.unwrap();
    let Located::To(speaker) = located else { panic!("{located:?}") };
    *speaker
}

/// E3, E12: a connector that takes a file back said which by its path, and any file of whoever has an account there was
/// deleted: journals, memory, what they had sent elsewhere. Its own are those that it brought and that no message has.
#[tokio::test]
async fn a_connector_takes_back_what_it_brought_and_nothing_else() {
    let world = World::new().await;
    let own = desk(&world, "matrix");
    let speaker = ada(&own, &world).await;
    let home = world.control.layout().workspace(world.ada.workspace);
    let bring = async |name: &str| {
        let begin = BeginFile { speaker: speaker.clone(), name: name.to_owned() };
        let file = ask(&own, begin).await.unwrap();
        ask(&own, EndFile { file }).await.unwrap()
    };
    let (loose, said) = (bring("loose.txt").await, bring("said.txt").await);
    let attachments = vec![said.clone()];
    let (text, id) = ("look".to_owned(), "m-1".parse().unwrap());
    let message = Incoming { id, speaker: speaker.clone(), text, attachments, origin: None };
    ask(&own, Receive { message }).await.unwrap();
    let workspace = world.ada.workspace;
    let take_back = |path: &str| {
        let attachment = cloister_protocol::Attachment { path: path.into(), ..loose.clone() };
        ask(&own, DiscardFile { workspace, attachment })
    };
    let others =
        ["MEMORY.md", "chats/C1/history.db", "chats/C1/incoming/web.pdf", "chats/C1/files/a"];
    for path in others {
        let file = home.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, "kept").unwrap();
    }
    for path in others.into_iter().chain([said.path.as_str(), "./chats/C1/incoming/loose.txt"]) {
        assert_eq!(take_back(path).await, Err(ErrorCode::NotFound), "{path}");
    }
    assert!(others.iter().all(|path| home.join(path).exists()));
    assert!(home.join(&said.path).exists() && home.join(&loose.path).exists());
    assert_eq!(take_back(&loose.path).await, Ok(()));
    assert!(!home.join(&loose.path).exists());
    assert_eq!(take_back(&loose.path).await, Err(ErrorCode::NotFound), "once");
}

/// A8: what becomes of accounts is put down to the operator whose order is under way, whoever the connector says it
/// was, and without an order nothing becomes of them.
#[tokio::test]
async fn an_operator_s_order_is_theirs_whatever_the_connector_says() {
    let world = World::new().await;
    let own = desk(&world, "telegram");
    let by = || "somebody else".to_owned();
    let new = serde_json::json!({"account": "@bot", "credential": {"token": "123:abc"}});
    let new: AddConnector = serde_json::from_value(new).unwrap();
    let put = || PutConnector {
        account: "@bot".to_owned(),
        address: String::new(),
        settings: serde_json::json!({}),
        by: by(),
    };
    let role = Some("operator@platform");
    let root = Actor::Person { name: "root".to_owned(), role, user: None };
    let order = own.operated(root.clone(), Some(new)).await;
    let connector = ask(&own, put()).await.unwrap();
    assert_eq!(connector.added_by, "root");
    let connector = connector.id;
    drop(order);
    let forget = || ForgetConversations { connector, by: by() };
    assert_eq!(ask(&own, forget()).await.map(|_| ()), Err(ErrorCode::Forbidden));
    assert_eq!(ask(&own, put()).await.map(|_| ()), Err(ErrorCode::Forbidden));
    let order = own.operated(Actor::Operator, None).await;
    assert_eq!(ask(&own, put()).await.map(|_| ()), Err(ErrorCode::Forbidden), "nothing is added");
    ask(&own, RemoveConnector { connector, by: by() }).await.unwrap();
    drop(order);
    let entries = world.store().audit().audit_tail(20).await.unwrap();
    let about = entries.iter().filter(|entry| entry.action.starts_with("connector."));
    let done: Vec<_> = about.map(|entry| (entry.actor.as_str(), entry.action.as_str())).collect();
    assert!(done.contains(&("root", "connector.add")), "{done:?}");
    assert!(done.contains(&("operator", "connector.rm")), "{done:?}");
    assert!(!done.iter().any(|(actor, _)| *actor == "somebody else"), "{done:?}");
}

/// Orders of two operators do not mix: the second waits for the first.
#[tokio::test]
async fn one_operator_s_order_waits_for_another_s() {
    let world = World::new().await;
    let own = desk(&world, "telegram");
    let first = own.operated(Actor::person("ada"), None).await;
    let mut second = Box::pin(own.operated(Actor::person("bob"), None));
    assert!(futures_util::poll!(&mut second).is_pending());
    assert_eq!(own.operator().unwrap(), Actor::person("ada"));
    drop(first);
    let _second = second.await;
    assert_eq!(own.operator().unwrap(), Actor::person("bob"));
}

/// A connector that is broken, or somebody else's by now, had ever new names kept, as long as it liked.
#[tokio::test]
async fn the_names_that_a_connector_has_kept_are_few_and_short() {
    let world = World::new().await;
    let own = desk(&world, "matrix");
    let connector = world.connector.id;
    let expect = |name: String| {
        let proof = Key::new("proof");
        ask(&own, Expect { connector, name, proof })
    };
    let mut taken = 0;
    for number in 0..1_000 {
        taken += usize::from(expect(format!("name-{number}")).await.is_ok());
    }
    assert_eq!(taken, MOST_NAMES);
    assert_eq!(lock(&own.expected).len(), MOST_NAMES);
    assert_eq!(expect("name-0".to_owned()).await, Ok(()), "its own again");
    assert!(own.proof_of("name-0").is_some() && own.proof_of("name-999").is_none());

    let long = "n".repeat(4096);
    let refused = Err(ErrorCode::BadRequest);
    let (why, sealed) = (WhyWaiting::Busy, None);
    let wait = |place: &str, event: &str| {
        let (place, event) = (place.to_owned(), event.to_owned());
        ask(&own, LetWait { connector, place, event, why, sealed: sealed.clone() })
    };
    assert_eq!(wait("!room:test", &long).await.map(drop), refused);
    assert_eq!(wait(&long, "$event").await.map(drop), refused);
    assert_eq!(wait("!room:test", "$event").await, Ok(true));
    assert_eq!(ask(&own, SetEncrypted { place: long.clone() }).await, refused);
    let device = RefusedDevice {
        connector,
        place: "!room:test".to_owned(),
        account: ADA.to_owned(),
        device: long.clone(),
        event: "$event".to_owned(),
    };
    assert_eq!(ask(&own, device).await, refused);
    let heard = Heard::Direct(long);
    let locate = Locate { connector, sender: ADA.to_owned(), heard, language: None };
    assert_eq!(ask(&own, locate).await.map(drop), refused);
}

/// Files that are begun and never ended have so many places, however many are begun at the same moment.
#[tokio::test]
async fn so_many_files_are_on_their_way_and_no_more() {
    let world = World::new().await;
    let own = desk(&world, "matrix");
    let speaker = ada(&own, &world).await;
    let begins = (0..200).map(|number| {
        let begin = BeginFile { speaker: speaker.clone(), name: format!("file-{number}.txt") };
        ask(&own, begin)
    });
    let begun = futures_util::future::join_all(begins).await;
    let files: Vec<u64> = begun.iter().filter_map(|begun| begun.ok()).collect();
    assert!(!files.is_empty() && files.len() <= files::MOST_COMING, "{} are", files.len());
    assert!(begun.iter().all(|begun| matches!(begun, Ok(_) | Err(ErrorCode::Busy))), "{begun:?}");
    // A place is free again when a file is given up, and for nobody before.
    let data = STANDARD.encode("bytes");
    for file in files {
        assert_eq!(ask(&own, WriteFile { file, data: data.clone() }).await, Ok(()));
        assert_eq!(ask(&own, DropFile { file }).await, Ok(()));
        assert_eq!(
            ask(&own, WriteFile { file, data: data.clone() }).await,
            Err(ErrorCode::NotFound)
        );
    }
    let begin = BeginFile { speaker, name: "after.txt".to_owned() };
    let file = ask(&own, begin).await.unwrap();
    assert!(ask(&own, EndFile { file }).await.is_ok());
}
