//! What a hostile agent asks for without end: all of it is kept, and all of it is for a person to see.

use cloister_protocol::link::{Asked, Downlink, Reply, Request, Uplink};
use cloister_protocol::{ChatId, ErrorCode, TurnId};
use cloister_store::Actor;
use cloister_store::users::UserLimits;

use crate::cells::Poke;
use crate::options::CellOptions;
use crate::test_cells::FakeAgent;
use crate::test_world::{C1, World};

/// A test in the place of a coordinator, in a turn, with a file of a kilobyte to send.
struct Scene {
    world: World,
    agent: FakeAgent,
    turn: TurnId,
    asked: u32,
}

impl Scene {
    async fn new() -> Self {
        let (world, cells) = World::with_cells(CellOptions::default()).await;
        let key = (world.ada.workspace, C1);
        let row = world.stored(key, &world.ada, "hello", None).await;
        world.control.cells().poke(key, Poke::Inbox);
        let own = |chat: ChatId| chat == C1;
        let mut agent = cells.agent(|who| own(who.chat) && who.task.is_none()).await;
        while !matches!(agent.hear().await, Some(Downlink::Trigger(_))) {}
        let folder = world.control.layout().chat_files(key.0, C1);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("a.txt"), [b'x'; 1 << 10]).unwrap();
        let turn = TurnId::of_trigger(&row.trigger().unwrap());
        Self { world, agent, turn, asked: 0 }
    }

    async fn ask(&mut self, ask: Asked) -> Result<(), ErrorCode> {
        self.asked += 1;
        let id: cloister_protocol::RequestId = format!("r{}", self.asked).parse().unwrap();
        let turn = Some(self.turn.clone());
        self.agent.say(Uplink::Request(Request { id: id.clone(), chat: None, turn, ask })).await;
        loop {
            match self.agent.hear().await.unwrap() {
                Downlink::Reply { id: of, result: Reply::Refused { error } } if of == id => {
                    return Err(error.code);
                }
                Downlink::Reply { id: of, .. } if of == id => return Ok(()),
                _ => {}
            }
        }
    }

    async fn send(&mut self) -> Result<(), ErrorCode> {
        self.ask(Asked::SendFile { path: "a.txt".into(), name: None }).await
    }

    fn objects(&self) -> usize {
        std::fs::read_dir(self.world.control.layout().objects()).unwrap().count()
    }
}

/// E56: the same file sent again and again was kept again and again, in no quota, until the disk of everybody was full;
/// and the person was told of each.
#[tokio::test]
async fn a_turn_sends_so_many_files() {
    let mut scene = Scene::new().await;
    for _ in 0..super::MOST_FILES {
        assert_eq!(scene.send().await, Ok(()));
    }
    assert_eq!(scene.send().await, Err(ErrorCode::TooLarge));
    assert_eq!(scene.objects(), usize::try_from(super::MOST_FILES).unwrap());
}

#[tokio::test]
async fn a_workspace_sends_no_more_in_a_day_than_it_may_have() {
    let mut scene = Scene::new().await;
    let limits = UserLimits { quota_bytes: 3 << 10, ..scene.world.ada.limits };
    let (root, ada) = (Actor::person("root"), &scene.world.ada.name);
    scene.world.store().users().set_limits(&root, ada, limits).await.unwrap();
    for sent in [Ok(()), Ok(()), Ok(()), Err(ErrorCode::TooLarge)] {
        assert_eq!(scene.send().await, sent);
    }
    assert_eq!(scene.objects(), 3);
}

/// Each request is remembered, and each refusal is in the audit trail.
#[tokio::test]
async fn a_turn_asks_so_often() {
    let mut scene = Scene::new().await;
    let mut refused = 0;
    while refused == 0 && scene.asked < 1200 {
        refused += u32::from(scene.ask(Asked::ListTasks).await == Err(ErrorCode::Refused));
    }
    assert!((1000..1100).contains(&scene.asked), "{}", scene.asked);
}

/// What a cell calls a file is noted in so many words.
#[tokio::test]
async fn the_trail_of_a_refused_file_is_short() {
    let mut scene = Scene::new().await;
    let path = format!("../{}", "x".repeat(500_000));
    assert!(scene.ask(Asked::SendFile { path, name: None }).await.is_err());
    let entries = scene.world.store().audit().audit_tail(20).await.unwrap();
    let noted = entries.iter().find(|entry| entry.action == "file.refused").unwrap();
    assert!(noted.subject.len() <= 400, "{}", noted.subject.len());
}
