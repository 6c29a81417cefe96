//! One who floods is told to wait; the others notice nothing, and nothing that was taken is lost.

use std::collections::BTreeMap;

use cloister_protocol::{AgentFrame, ErrorCode, MessageId};
use cloister_testkit::{AgentClient, ModelServer};
use serde_json::Value;

use crate::exposition::Exposed;
use crate::world::{PATIENCE, Talk, World, code_of};

const FLOOD: usize = 120;
/// Small enough that a test can pass them.
const LIMITS: &str = "[limits]\nperson_burst = 8\nperson_per_s = 0.5\ncommand_burst = 5\n\
    upload_burst = 3\nupload_per_s = 0.1\nperson_sockets = 3\n[work]\nmax_unanswered = 20\n";

fn id(number: usize) -> MessageId {
    format!("flood-{number}").parse().unwrap()
}

/// What became of each message.
#[derive(Default)]
struct Fates {
    accepted: Vec<String>,
    refused: Vec<(String, Option<u64>)>,
    answers: BTreeMap<String, usize>,
}

impl Fates {
    fn note(&mut self, frame: AgentFrame) {
        match frame {
            AgentFrame::Accepted { id, .. } => self.accepted.push(id.to_string()),
            AgentFrame::Error(error) => {
                assert_eq!(error.code, ErrorCode::Busy, "{}", error.message);
                assert!(error.message.contains("try again in"), "{}", error.message);
                self.refused.push((error.id.unwrap(), error.retry_after_s));
            }
            AgentFrame::End(end) => {
                if let Some(message) = end.message {
                    *self.answers.entry(message.to_string()).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    async fn hear(&mut self, client: &mut AgentClient) {
        let frame = client.next(PATIENCE).await.unwrap();
        self.note(frame);
    }

    fn fated(&self) -> usize {
        self.accepted.len() + self.refused.len()
    }

    fn all_answered(&self) -> bool {
        self.accepted.iter().all(|id| self.answers.contains_key(id))
    }
}

#[tokio::test]
async fn a_flood_is_told_to_wait_and_a_quiet_user_is_answered() {
    let world = World::with(LIMITS, ModelServer::builder()).await;
    world.add_user("quiet").await;
    let mut quiet = world.client("quiet", 1).await;
    assert_eq!(quiet.say("before").await.text, "echo: before");
    let mut flooder = world.owner().await;
    flooder.connect().await.unwrap();
    for number in 0..FLOOD {
        flooder.send_message(&id(number), &format!("flood {number}")).await.unwrap();
    }
    // The person's own flood does not keep them from stopping it.
    flooder.send_message(&"stop".parse().unwrap(), "/status").await.unwrap();
    let meanwhile = async {
        for number in 0..5 {
            let text = format!("still there? {number}");
            assert_eq!(quiet.say(&text).await.text, format!("echo: {text}"));
        }
    };
    let mut fates = Fates::default();
    let all = async {
        while fates.fated() <= FLOOD || !fates.all_answered() {
            fates.hear(&mut flooder).await;
        }
    };
    tokio::join!(meanwhile, all);
    assert!(fates.accepted.contains(&"stop".to_owned()), "{:?}", fates.accepted);
    assert!(fates.refused.len() > FLOOD / 2, "{}", fates.refused.len());
    assert!(fates.accepted.len() >= 9, "{:?}", fates.accepted);
    for (id, retry_after) in &fates.refused {
        assert!(
            retry_after.is_some_and(|seconds| (1..=2).contains(&seconds)),
            "{id}: {retry_after:?}"
        );
    }
    assert!(fates.answers.values().all(|count| *count == 1), "{:?}", fates.answers);
    assert!(flooder.faults().is_empty(), "{:?}", flooder.faults());

    // A message that was taken is never refused, however often it comes.
    let known: MessageId = fates.accepted[0].parse().unwrap();
    for _ in 0..20 {
        flooder.send_message(&known, "flood 0").await.unwrap();
        let frame = flooder.next(PATIENCE).await.unwrap();
        assert!(matches!(frame, AgentFrame::Accepted { .. }), "{frame:?}");
    }
    let answer = world.stack.http("GET", "/metrics", None, Vec::new()).await.unwrap();
    let exposed = Exposed::parse(&answer.text());
    let refused = "cloister_refusals_total{surface=\"socket\",reason=\"person_rate\"}";
    assert!(exposed.value(refused) >= fates.refused.len() as f64, "{}", answer.text());
    assert_eq!(exposed.value("cloister_unanswered_messages"), 0.0);
    assert_eq!(exposed.value("cloister_lost_messages"), 0.0);
}

#[tokio::test]
async fn more_messages_than_may_wait_are_told_to_wait() {
    let limits = "[limits]\nunanswered = 6\n[work]\nmax_unanswered = 4\n";
    let (hold, steps) = cloister_testkit::Reply::text("at last").stepped();
    let model = ModelServer::builder()
        .rule(move |received| received.last_user_text().contains("hold").then(|| hold.clone()));
    let world = World::with(limits, model).await;
    world.add_user("second").await;
    let mut fates = Fates::default();
    let mut owner = world.owner().await;
    owner.connect().await.unwrap();
    for number in 0..6 {
        owner.send_message(&id(number), "hold").await.unwrap();
    }
    while fates.fated() < 6 {
        fates.hear(&mut owner).await;
    }
    assert_eq!(fates.accepted.len(), 4);
    assert!(fates.refused.iter().all(|(_, retry)| retry.is_some()), "{:?}", fates.refused);
    // What everybody has open counts, too.
    let mut second = world.client("second", 1).await;
    second.connect().await.unwrap();
    let mut others = Fates::default();
    for number in 10..13 {
        second.send_message(&id(number), "hold").await.unwrap();
        others.hear(&mut second).await;
    }
    assert_eq!((others.accepted.len(), others.refused.len()), (2, 1));
    // A command gets through.
    owner.send_message(&"look".parse().unwrap(), "/status").await.unwrap();
    while !fates.answers.contains_key("look") {
        fates.hear(&mut owner).await;
    }
    steps.allow(1000);
    while !fates.all_answered() {
        fates.hear(&mut owner).await;
    }
    assert!(fates.answers.values().all(|count| *count == 1), "{:?}", fates.answers);
}

#[tokio::test]
async fn files_and_connections_are_limited_too() {
    let world = World::with(LIMITS, ModelServer::builder()).await;
    let session = world.stack.session("owner").await.unwrap();
    let mut taken = 0;
    let refused = loop {
        let answer = world.upload(&session, "a.txt", b"a").await;
        if answer.status != 200 {
            break answer;
        }
        taken += 1;
        assert!(taken < 10, "never refused");
    };
    assert_eq!((refused.status, code_of(&refused)), (429, ErrorCode::Busy));
    let body: Value = refused.json().unwrap();
    assert!(body["error"]["retry_after_s"].as_u64().unwrap() >= 1, "{body}");
    assert_eq!(taken, 3);

    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = world.owner().await;
        client.connect().await.unwrap();
        clients.push(client);
    }
    let error = world.owner().await.connect().await.unwrap_err();
    assert!(error.to_string().contains("busy"), "{error}");
    drop(clients);
    crate::world::eventually("a place is free again", || async {
        world.owner().await.connect().await.ok()
    })
    .await;
}
