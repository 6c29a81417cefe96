//! Between people: what is one person's reaches no other, and what is taken away is gone at once.

use std::time::{Duration, Instant};

use cloister_protocol::admin::Session;
use cloister_protocol::{
    AgentFrame, Answer, ApprovalAnswer, ApprovalId, Cancel, ChatId, ClientFrame, ErrorCode,
    TaskState,
};
use cloister_testkit::stack::ClientError;
use cloister_testkit::{AgentClient, Reply};
use serde_json::json;

use crate::world::{PATIENCE, Talk, World, code_of, frame, hold, jobs};

const C1: ChatId = ChatId::from_number(1);

/// How soon what was taken away must be gone.
const AT_ONCE: Duration = Duration::from_secs(1);

async fn refusal(client: &mut AgentClient) -> ErrorCode {
    frame(client, "a refusal", |frame| match frame {
        AgentFrame::Error(error) => Some(error.code),
        _ => None,
    })
    .await
}

async fn waiting_approval(client: &mut AgentClient) -> ApprovalId {
    frame(client, "a question", |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask.approval),
        _ => None,
    })
    .await
}

/// E63, E76: the same ids from two people never meet; an id of one is nothing on the other's socket.
#[tokio::test]
async fn e63_e76_ids_of_one_person_mean_nothing_to_another() {
    let plan = Reply::tool_call("propose_plan", json!({"plan": "1. delete `x`"}));
    let world = World::with("", jobs(vec![("hold", vec![hold()]), ("wipe", vec![plan])])).await;
    let bob = world.add_user("bob").await;
    let (mut ada, mut bob_client) = (world.owner().await, world.stack.client(&bob, C1));

    let same = || "the-same-id".parse().unwrap();
    let of_ada = ada.ask_as(same(), "I am ada", PATIENCE).await.unwrap();
    let of_bob = bob_client.ask_as(same(), "I am bob", PATIENCE).await.unwrap();
    assert_eq!((of_ada.text.as_str(), of_bob.text.as_str()), ("echo: I am ada", "echo: I am bob"));

    ada.say("job:hold").await;
    world.until_tasks(TaskState::Running, 1).await;
    ada.say("please delete it with job:wipe").await;
    let approval = waiting_approval(&mut ada).await;

    let answer = ApprovalAnswer { id: approval, answer: Answer::Allow, digest: None };
    bob_client.send(&ClientFrame::Approval(answer)).await.unwrap();
    assert_eq!(refusal(&mut bob_client).await, ErrorCode::NotFound);
    let hold = world.tasks().await.into_iter().find(|task| task.title == "hold").unwrap();
    let cancel = Cancel { task: Some(hold.id), turn: None };
    bob_client.send(&ClientFrame::Cancel(cancel)).await.unwrap();
    assert_eq!(bob_client.say("still here").await.text, "echo: still here");
    assert_eq!(world.count_tasks(TaskState::Running).await, 1);
    assert_eq!(world.count_tasks(TaskState::Waiting).await, 1);
    let status = bob_client.say("/status").await.text;
    assert!(!status.contains("hold") && !status.contains(&approval.to_string()), "{status}");
    world.release(1, 1);
}

/// Files, artifacts, chats and sockets of one person, tried with another's session.
#[tokio::test]
async fn a_session_opens_nothing_of_another() {
    let send = Reply::tool_call("send_file", json!({"path": "secret.txt"}));
    let make = crate::world::bash("echo ada-canary > secret.txt");
    let world = World::with("", jobs(vec![("share", vec![make, send])])).await;
    let bob = world.add_user("bob").await;
    let mut ada = world.owner().await;
    ada.say("job:share").await;
    let file = frame(&mut ada, "a file", |frame| match frame {
        AgentFrame::SendFile(file) => file.url.clone(),
        _ => None,
    })
    .await;
    let own = world.stack.session("owner").await.unwrap();
    let get = |path: String, token: String| {
        let world = &world;
        async move { world.stack.http("GET", &path, Some(&token), Vec::new()).await.unwrap() }
    };
    let mine = get(file.clone(), own.token.clone()).await;
    assert!(mine.text().contains("ada-canary"), "{}", mine.text());
    let id = file.rsplit('/').next().unwrap();
    for (path, expected) in [
        (file.clone(), 403),
        (format!("/cells/{}/v1/artifacts/{id}", bob.workspace), 404),
        (format!("/cells/{}/v1/agent_ws/C1/", own.workspace), 403),
    ] {
        let answer = get(path.clone(), bob.token.clone()).await;
        assert_eq!(answer.status, expected, "{path}");
        assert!(!answer.text().contains("ada-canary"), "{path}");
    }
    let upload =
        world.upload(&Session { workspace: own.workspace, ..bob.clone() }, "x", b"x").await;
    assert_eq!((upload.status, code_of(&upload)), (403, ErrorCode::Forbidden));

    // A file of ada's chat, as an attachment of bob's message.
    let mut bob_client = world.stack.client(&bob, C1);
    bob_client.connect().await.unwrap();
    for path in ["chats/C1/incoming/../../../../w1/chats/C1/files/secret.txt", "/etc/passwd"] {
        let file = json!({"path": path, "name": "x", "mime": "text/plain"});
        let message = json!({"type": "message", "id": "m", "text": "look", "attachments": [file]});
        bob_client.send_text(message.to_string()).await.unwrap();
        assert_eq!(refusal(&mut bob_client).await, ErrorCode::BadRequest, "{path}");
    }

    // A login link leads into its own user's workspace, whatever it is asked for.
    let link = world.json(&["login-url", "--user", "bob"]).await;
    let token = link["login_url"].as_str().unwrap().split_once("token=").unwrap().1.to_owned();
    let body = json!({"login_token": token, "user": "owner", "workspace": "w1"}).to_string();
    let answer =
        world.stack.http("POST", "/api/v1/sessions", None, body.into_bytes()).await.unwrap();
    let session: Session = answer.json().unwrap();
    assert_eq!(session.workspace, bob.workspace);
}

/// The connection ends by itself within a second; nothing is sent to find out.
async fn ends_at_once(client: &mut AgentClient) {
    let began = Instant::now();
    let ended = loop {
        match client.next(AT_ONCE).await {
            Ok(_) if began.elapsed() < AT_ONCE => {}
            other => break other,
        }
    };
    assert!(matches!(ended, Err(ClientError::Lost)), "{ended:?} after {:?}", began.elapsed());
}

/// E74: a role, a membership or a session that is taken away closes what it held open, at once.
#[tokio::test]
async fn e74_what_is_taken_away_closes_its_sockets_within_a_second() {
    let world = World::start().await;
    let bob = world.add_user("bob").await;
    let mut ada = world.owner().await;
    ada.connect().await.unwrap();

    let mut client = world.stack.client(&bob, C1);
    assert_eq!(client.say("hello").await.text, "echo: hello");
    world.json(&["role", "take", "bob", "member"]).await;
    ends_at_once(&mut client).await;
    let again = client.connect().await;
    assert!(again.is_err(), "who holds no role does not come in again");

    // A viewer of their own workspace reads, and makes nothing work.
    world.json(&["role", "give", "bob", "viewer"]).await;
    let mut client = world.stack.client(&bob, C1);
    client.connect().await.unwrap();
    client.send_message(&"quiet".parse().unwrap(), "do something").await.unwrap();
    assert_eq!(refusal(&mut client).await, ErrorCode::Forbidden);

    world.json(&["role", "give", "bob", "member"]).await;
    assert_eq!(client.say("hello again").await.text, "echo: hello again");
    world.json(&["user", "logout", "bob"]).await;
    ends_at_once(&mut client).await;
    assert_eq!(ada.say("and I").await.text, "echo: and I", "nobody else is disturbed");
}

/// I4: several people share the workspace of a community, and only they.
#[tokio::test]
async fn members_share_the_workspace_of_their_community() {
    let world = World::start().await;
    let (bob, eve) = (world.add_user("bob").await, world.add_user("eve").await);
    let club = world.json(&["workspace", "add", "book-club"]).await;
    let scope = format!("workspace:{}", club["id"].as_str().unwrap());
    world.json(&["role", "give", "bob", "member", "--scope", &scope]).await;

    let in_club = |session: &Session| {
        let workspace = club["id"].as_str().unwrap();
        let agent_ws = format!("/cells/{workspace}/v1/agent_ws/{{chat}}/");
        Session { agent_ws, workspace: workspace.parse().unwrap(), ..session.clone() }
    };
    let mut member = world.stack.client(&in_club(&bob), C1);
    assert_eq!(member.say("hello, club").await.text, "echo: hello, club");
    assert!(world.stack.client(&in_club(&eve), C1).connect().await.is_err());

    world.json(&["role", "take", "bob", "member", "--scope", &scope]).await;
    ends_at_once(&mut member).await;
    let mut own = world.stack.client(&bob, C1);
    assert_eq!(own.say("at home").await.text, "echo: at home");
    let (_, refused) = world.failing(&["login-url", "--user", "book-club"]).await;
    assert_eq!(refused.error.code, ErrorCode::NotFound, "nobody logs in as a community");
}

/// I1, I2: roles, identities and contexts by command, with the mistakes that people make.
#[tokio::test]
async fn roles_identities_and_contexts_are_managed_by_command() {
    let world = World::start().await;
    world.add_user("bob").await;
    let shown = world.json(&["user", "show", "owner"]).await;
    let roles: Vec<_> = shown["roles"].as_array().unwrap().iter().map(|r| &r["role"]).collect();
    assert_eq!(roles, ["overlord", "member"], "{shown}");

    let account = ["--surface", "matrix", "--id", "@bob:example.org"];
    let linked = world.json(&[&["user", "link", "bob"], &account[..]].concat()).await;
    assert_eq!(linked["identities"][0]["id"], "@bob:example.org");
    let (_, taken) = world.failing(&[&["user", "link", "owner"], &account[..]].concat()).await;
    assert_eq!(taken.error.code, ErrorCode::Conflict);
    let unlinked = world.json(&[&["user", "unlink", "bob"], &account[..]].concat()).await;
    assert_eq!(unlinked["identities"], json!([]));

    let last = ["role", "take", "owner", "overlord", "--scope", "platform"];
    assert_eq!(world.failing(&last).await.1.error.code, ErrorCode::Conflict);
    let (_, wrong) = world.failing(&["pair", "ABCD-2345"]).await;
    assert_eq!(wrong.error.code, ErrorCode::NotFound);

    world.json(&["context", "set", "workspace", "--in", "bob", "--tools", "bash,ls"]).await;
    let made =
        world.json(&["context", "add", "quiet", "--in", "bob", "--tools", "ls,send_mail"]).await;
    assert_eq!(made["effective"]["tools"], json!(["ls"]));
    let listed = world.json(&["context", "list", "--in", "bob"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    world.json(&["context", "rm", "quiet", "--in", "bob"]).await;
    let (_, gone) = world.failing(&["context", "show", "quiet", "--in", "bob"]).await;
    assert_eq!(gone.error.code, ErrorCode::NotFound);
}

/// I3: a context has its own prompt and its own models; what it does not allow is not asked.
#[tokio::test]
async fn a_context_has_its_own_prompt_and_models() {
    let world = World::start().await;
    let mut client = world.owner().await;
    let prompt = "You are among gardeners.";
    world.json(&["context", "set", "workspace", "--prompt", prompt]).await;
    assert_eq!(client.say("hello").await.text, "echo: hello");
    let asked = world.model.requests();
    assert!(asked.last().unwrap().body.to_string().contains(prompt));

    world.json(&["context", "set", "workspace", "--models", "none"]).await;
    let refused = client.say("are you there?").await;
    assert!(refused.text.contains("allows none of the models"), "{}", refused.text);
    assert_eq!(world.model.requests().len(), asked.len());
}
