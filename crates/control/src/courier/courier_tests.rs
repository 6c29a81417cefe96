//! The courier against a surface in memory.

use std::sync::atomic::{AtomicI64, Ordering};

use cloister_protocol::link::Cause;
use cloister_protocol::{
    AgentFrame, Answer, End, Language, SendFile, TextChunk, TurnId, Update, Usage,
};
use cloister_store::Actor;
use cloister_store::audit::Fingerprint;
use cloister_store::conversations::{Conversation, ConversationKind, NewConversation};
use cloister_store::inbox::{HeardIn, Inbound, Meant, MostOpen, Taken, trigger_id};

use super::fake::{Fake, Kill, LONGEST};
use super::split::{Limit, Piece, split};
use super::*;
use crate::ports::SendError;
use crate::test_world::{C1, World};

#[path = "kill_tests.rs"]
mod kills;
#[path = "lobby_tests.rs"]
mod lobbies;
#[path = "stream_tests.rs"]
mod streams;
#[path = "trouble_tests.rs"]
mod trouble;

fn brisk() -> Pace {
    Pace {
        first_after: Duration::from_millis(30),
        slowest_edit: Duration::from_millis(100),
        first_retry: Duration::from_millis(10),
        longest_retry: Duration::from_millis(40),
        look_every: Duration::from_millis(50),
        call: Duration::from_secs(5),
        stop: Duration::from_secs(2),
        typing_most: Duration::from_secs(20),
    }
}

/// A courier that runs. Dropped, it is killed where it stands.
struct Running {
    work: JoinSet<()>,
    stop: CancellationToken,
}

impl Running {
    async fn killed(mut self) {
        self.work.shutdown().await;
    }

    async fn stopped(mut self) {
        self.stop.cancel();
        while self.work.join_next().await.is_some() {}
    }
}

/// Looks again and again, within a bound.
async fn until(what: &str, mut look: impl AsyncFnMut() -> bool) {
    for _ in 0..2000 {
        if look().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to be that {what}");
}

impl World {
    fn fake(&self) -> Arc<Fake> {
        Arc::new(Fake::new(self.connector.id))
    }

    fn carry(&self, fake: &Arc<Fake>, pace: Pace) -> Running {
        let (mut work, stop) = (JoinSet::new(), CancellationToken::new());
        let surface: Arc<dyn Surface> = Arc::<Fake>::clone(fake);
        work.spawn(carry_at(self.control.clone(), surface, stop.clone(), pace));
        Running { work, stop }
    }

    /// Another conversation that shows Ada's first chat.
    async fn place(&self, name: &str) -> Conversation {
        let new = NewConversation {
            connector: self.connector.id,
            external_id: Some(name.to_owned()),
            chat: (self.ada.workspace, C1),
            kind: ConversationKind::Lobby,
            user: Some(self.ada.id),
        };
        self.store().conversations().put_conversation(&new).await.unwrap()
    }

    /// Ada writes something in a conversation; its inbox row.
    async fn writes(&self, place: &Conversation) -> i64 {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let inbound = Inbound {
            source: "matrix".to_owned(),
            external_id: format!("x{number}"),
            workspace: self.ada.workspace,
            chat: C1,
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: "hello".to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: Some(HeardIn { conversation: place.id, origin: Some("$hello".to_owned()) }),
        };
        let most = MostOpen { of_person: 1_000_000, in_workspace: 1_000_000, in_all: 1_000_000 };
        let Taken::Stored(accepted) =
            self.store().inbox().take_message(inbound, most).await.unwrap()
        else {
            panic!("the message was not taken");
        };
        let trigger = trigger_id(accepted.item.id).unwrap();
        let turn = TurnId::of_trigger(&trigger);
        self.control.hub().taken(&accepted.item, trigger, turn);
        accepted.item.id
    }

    /// Its answer is there.
    async fn ends(&self, row: i64, text: &str) {
        let turn = turn(row);
        let frame = AgentFrame::End(End {
            turn: turn.clone(),
            message: None,
            text: text.to_owned(),
            usage: Usage::default(),
            error: None,
        });
        let chat = (self.ada.workspace, C1);
        let ended = self.store().outbox().end_turn(row, chat, &turn, Some(&frame)).await.unwrap();
        self.control.hub().say_stored(ended.told.unwrap());
    }

    async fn answered(&self, place: &Conversation, text: &str) {
        let row = self.writes(place).await;
        self.ends(row, text).await;
    }

    /// Something that is told where Ada was last active.
    async fn notices(&self, text: &str) {
        static NEXT: AtomicI64 = AtomicI64::new(0);
        let key = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let frame = AgentFrame::Update(Update::Notice { text: text.to_owned() });
        let told =
            self.store().outbox().notify((self.ada.workspace, C1), &key, &frame).await.unwrap();
        self.control.hub().say_stored(told.unwrap());
    }

    fn says(&self, frame: AgentFrame) {
        self.control.hub().say(self.ada.workspace, C1, frame, None);
    }

    fn chunk(&self, row: i64, seq: u32, text: &str) {
        let chunk = TextChunk { turn: turn(row), seq, text: text.to_owned() };
        self.says(AgentFrame::TextChunk(chunk));
    }

    /// Everything in a conversation is told.
    async fn told(&self, place: &Conversation) {
        until("everything is told", async || {
            self.store().outbox().to_tell(place.id).await.unwrap().is_empty()
        })
        .await;
    }

    async fn sends_file(&self, row: i64, size: u64) {
        let id = format!("artifact{row}");
        std::fs::write(self.control.layout().objects().join(&id), "content").unwrap();
        let workspace = self.ada.workspace;
        let file = SendFile {
            turn: None,
            task: None,
            path: "report.txt".to_owned(),
            name: "report.txt".to_owned(),
            mime: "text/plain".to_owned(),
            size,
            url: Some(format!("/cells/{workspace}/v1/artifacts/{id}")),
        };
        let chat = (workspace, C1);
        let turn = turn(row);
        let file = (&file, &Fingerprint::of(b"content"));
        let told = self.store().outbox().send_artifact(&id, chat, (&turn, None), file, ("x", &id));
        self.control.hub().say_stored(told.await.unwrap());
    }
}

/// The messages of an answer.
fn messages(text: &str) -> Vec<String> {
    let limit = Limit { longest: LONGEST, measure: &str::len };
    split(text, &limit).iter().map(Piece::markdown).collect()
}

fn turn(row: i64) -> TurnId {
    TurnId::of_trigger(&trigger_id(row).unwrap())
}

/// X1: what was left over is told first, and everything in the order in which it was stored.
#[tokio::test]
async fn rows_are_told_in_order_with_what_was_left_over_first() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    world.answered(&place, "one").await;
    world.notices("two").await;
    let courier = world.carry(&fake, brisk());
    world.told(&place).await;
    world.answered(&place, "three").await;
    let row = world.writes(&place).await;
    world.sends_file(row, 7).await;
    world.sends_file(world.writes(&place).await, 101).await;
    world.ends(row, "").await;
    world.told(&place).await;
    let texts = fake.texts(place.id);
    assert_eq!(texts.len(), 5, "{texts:?}");
    assert_eq!(texts[..4], ["one", "notice: two", "three", "file: report.txt content"]);
    assert!(texts[4].starts_with("notice: `report.txt` (101 bytes) is larger"), "{texts:?}");
    assert_eq!(fake.message(place.id, 0).origin.as_deref(), Some("$hello"), "threads are honoured");
    assert_eq!(fake.message(place.id, 1).origin, None);
    courier.stopped().await;
    let counted = world.control.status().metrics_text().await;
    assert!(counted.contains("cloister_posts_total{surface=\"matrix\"} 5\n"), "{counted}");
}

/// X2: a long answer is several messages, whole and in order.
#[tokio::test]
async fn a_long_answer_is_told_in_parts() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let text = (0..20).map(|n| format!("This is sentence {n}. ")).collect::<String>();
    world.answered(&place, &text).await;
    world.told(&place).await;
    let texts = fake.texts(place.id);
    assert!(texts.len() > 2 && texts.iter().all(|text| text.len() <= LONGEST));
    assert_eq!(texts.concat(), text);
    courier.stopped().await;
}

/// X1: conversations do not wait for each other, no more is sent at once than the connector bears, and who
/// has nothing to do costs nothing.
#[tokio::test]
async fn a_thousand_conversations_are_told_at_the_side_of_one_that_hangs() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).slow(Duration::from_millis(1)));
    fake.judge(|name, _| (name == "!7").then(|| SendError::Unreachable("down".to_owned())));
    let mut places = Vec::new();
    for number in 0..1000 {
        let place = world.place(&format!("!{number}")).await;
        world.answered(&place, &format!("answer {number}")).await;
        places.push(place);
    }
    let courier = world.carry(&fake, brisk());
    for (number, place) in places.iter().enumerate().filter(|(number, _)| *number != 7) {
        world.told(place).await;
        assert_eq!(fake.texts(place.id), [format!("answer {number}")]);
    }
    assert!(fake.seen().most_at_once <= SENDS_AT_ONCE, "{}", fake.seen().most_at_once);
    assert!(fake.seen().most_at_once > 1);
    assert!(fake.texts(places[7].id).is_empty());
    fake.all_well();
    world.told(&places[7]).await;
    assert_eq!(fake.texts(places[7].id), ["answer 7"]);
    courier.stopped().await;
}

/// X2: a question shows how it was settled, wherever it was answered.
#[tokio::test]
async fn a_question_shows_how_it_was_settled() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    world.answered(&place, "hi").await;
    let courier = world.carry(&fake, brisk());
    let ada = &world.ada;
    let question = world.asked(ada.workspace, C1, ada.id, "middle").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["hi", "question: send it?"]);
    let answered =
        world.control.gates().answer_approval(ada.id, ada.workspace, question, Answer::Allow, None);
    answered.await.unwrap();
    let shown = || fake.texts(place.id).get(1).cloned().unwrap_or_default();
    until("the question says so", async || shown() == "settled: send it? allow ada").await;
    // One that is answered before it was told says so at once, and is not edited.
    courier.stopped().await;
    let question = world.asked(ada.workspace, C1, ada.id, "middle").await;
    let answered =
        world.control.gates().answer_approval(ada.id, ada.workspace, question, Answer::Deny, None);
    answered.await.unwrap();
    let courier = world.carry(&fake, brisk());
    world.told(&place).await;
    let message = fake.message(place.id, 2);
    assert_eq!((message.text.as_str(), message.edits), ("settled: send it? deny ada", 0));
    courier.stopped().await;
}

/// Why something is asked is said in the language of whom it is put to, also once it is settled; what is
/// kept and bound to the answer stays as it was.
#[tokio::test]
async fn a_question_says_why_in_the_language_of_who_reads_it() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    world.answered(&place, "hi").await;
    let ada = &world.ada;
    let languages = world.control.people().languages();
    let herself = Actor::person("ada");
    languages.choose_language(&herself, ada.id, Some(Language::De)).await.unwrap();
    let question = world.asked(ada.workspace, C1, ada.id, "middle").await;
    let kept = world.store().approvals().approval(question).await.unwrap();
    assert_eq!(kept.reason, "it sends something out");
    let courier = world.carry(&fake, brisk());
    world.told(&place).await;
    assert_eq!(fake.message(place.id, 1).reason, "es schickt etwas hinaus");
    let digest = Some(kept.digest.as_str());
    let gates = world.control.gates();
    let answered = gates.answer_approval(ada.id, ada.workspace, question, Answer::Allow, digest);
    answered.await.unwrap();
    until("it is settled", async || fake.message(place.id, 1).edits == 1).await;
    assert_eq!(fake.message(place.id, 1).reason, "es schickt etwas hinaus");
    courier.stopped().await;
}

/// What stands around an answer that broke off, a host that was refused and a file that is gone is said in the language of
/// whose conversation it is, and what can be pressed is too.
#[tokio::test]
async fn what_stands_around_is_said_in_the_language_of_who_reads_it() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let ada = &world.ada;
    let languages = world.control.people().languages();
    let herself = Actor::person("ada");
    languages.choose_language(&herself, ada.id, Some(Language::De)).await.unwrap();
    world.answered(&place, "hi").await;
    let blocked = AgentFrame::Update(Update::Blocked {
        task: None,
        host: "pypi.org".to_owned(),
        reason: "no rule".to_owned(),
        allow: Some("/allow pypi.org".to_owned()),
    });
    world.store().outbox().notify((ada.workspace, C1), "blocked", &blocked).await.unwrap();
    let courier = world.carry(&fake, brisk());
    world.told(&place).await;
    let told = fake.texts(place.id).join("\n");
    for words in ["`pypi.org` wurde nicht erreicht: no rule", "schreib `!allow pypi.org`"] {
        assert!(told.contains(words), "{told}");
    }
    courier.stopped().await;
}

/// A question is settled while nobody listens, or its task ends without an answer: its message shows that
/// later.
#[tokio::test]
async fn a_question_that_was_settled_unheard_shows_it_after_a_restart() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    world.answered(&place, "hi").await;
    let ada = &world.ada;
    let first = world.asked(ada.workspace, C1, ada.id, "middle").await;
    let second = world.asked(ada.workspace, C1, ada.id, "middle").await;
    let courier = world.carry(&fake, brisk());
    world.told(&place).await;
    courier.killed().await;
    let answered =
        world.control.gates().answer_approval(ada.id, ada.workspace, first, Answer::Allow, None);
    answered.await.unwrap();
    let second = world.store().approvals().approval(second).await.unwrap();
    let task = world.control.tasks().task_asking(&second).await.unwrap().unwrap();
    world.control.tasks().cancel_task(&Actor::person("ada"), &task).await.unwrap();
    let courier = world.carry(&fake, brisk());
    until("both say so", async || {
        let texts = fake.texts(place.id);
        texts[1] == "settled: send it? allow ada" && texts[2].contains("needs no answer any more")
    })
    .await;
    let edits = fake.seen().calls;
    tokio::time::sleep(brisk().look_every * 3).await;
    assert_eq!(fake.seen().calls, edits, "what is shown is not shown again");
    courier.stopped().await;
}

/// X11: a stop finishes what is being sent and begins nothing new; a next courier waits for it.
#[tokio::test]
async fn a_stop_finishes_what_is_being_sent() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).slow(Duration::from_millis(200)));
    let place = world.place("!a").await;
    world.answered(&place, "one").await;
    world.answered(&place, "two").await;
    let courier = world.carry(&fake, brisk());
    until("the first is being sent", async || fake.seen().calls == 1).await;
    let next = world.carry(&fake, brisk());
    courier.stopped().await;
    assert_eq!(fake.texts(place.id), ["one"]);
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["one", "two"]);
    assert_eq!(fake.seen().most_at_once, 1);
    next.stopped().await;
}
