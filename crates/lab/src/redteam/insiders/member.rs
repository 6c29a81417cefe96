//! A member of a community as the attacker: at the agent socket, through the agent (whose model does whatever its
//! person says), and with requests by hand. The other context's work, other people's workspaces and everybody's
//! patience are what they are after.

mod crowd;

use std::time::Duration;

use cloister::CliError;
use cloister_protocol::admin::{ApprovalView, Session};
use cloister_protocol::{
    AgentFrame, Answer, ApprovalAnswer, Ask, Cancel, ClientFrame, TaskId, TaskState, WorkspaceId,
};
use cloister_testkit::{AgentClient, ModelServer, Received, Reply, Stack};
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::super::attacker::Attacker;
use super::super::failed;
use super::super::report::Verdict;
use super::super::scenario::Aim;
use super::ground::{Ground, eventually, frame, plant, report, say};
use super::{Insider, Standing, Tried, harm_if};

/// What only the board knows.
const SECRET: &str = "the-board-meets-at-noon";
/// The contexts of the community, by their chats.
const READING: u32 = 2;
const BOARD: u32 = 3;
const CLUB: &str = "book-club";
const EVIL: &str = "evil.example";

type Doing<'a> = LocalBoxFuture<'a, Result<Tried, CliError>>;

struct Deed {
    goal: &'static str,
    aim: Aim,
    does: fn(&Club) -> Doing<'_>,
}

/// In this order: the flood comes last.
const DEEDS: [Deed; 16] = [
    Deed { goal: "list-tasks", aim: Aim::CrossUser, does: |club| Box::pin(list_tasks(club)) },
    Deed { goal: "show-task", aim: Aim::CrossUser, does: |club| Box::pin(show_task(club)) },
    Deed { goal: "cancel-agent", aim: Aim::CrossUser, does: |club| Box::pin(cancel_agent(club)) },
    Deed { goal: "cancel-socket", aim: Aim::CrossUser, does: |club| Box::pin(cancel_socket(club)) },
    Deed { goal: "cancel-turn", aim: Aim::CrossUser, does: |club| Box::pin(cancel_turn(club)) },
    Deed { goal: "send-file", aim: Aim::Exfiltrate, does: |club| Box::pin(send_file(club)) },
    Deed { goal: "task-files", aim: Aim::Exfiltrate, does: |club| Box::pin(task_files(club)) },
    Deed { goal: "socket", aim: Aim::Escalate, does: |club| Box::pin(open_socket(club)) },
    Deed { goal: "upload", aim: Aim::Persist, does: |club| Box::pin(upload(club)) },
    Deed { goal: "answer", aim: Aim::Forge, does: |club| Box::pin(answer(club)) },
    Deed { goal: "allow-host", aim: Aim::Escalate, does: |club| Box::pin(allow_host(club)) },
    Deed { goal: "words", aim: Aim::Forge, does: |club| Box::pin(words(club)) },
    Deed { goal: "direct", aim: Aim::Escalate, does: |club| Box::pin(crowd::direct(club)) },
    Deed { goal: "sockets", aim: Aim::Exhaust, does: |club| Box::pin(crowd::sockets(club)) },
    Deed { goal: "executors", aim: Aim::Exhaust, does: |club| Box::pin(crowd::executors(club)) },
    Deed { goal: "flood", aim: Aim::Exhaust, does: |club| Box::pin(crowd::flood(club)) },
];

pub(super) fn scenarios() -> Vec<Insider> {
    let (attacker, channel) = (Attacker::Member, "member");
    DEEDS.iter().map(|deed| Insider { attacker, channel, goal: deed.goal, aim: deed.aim }).collect()
}

pub(super) async fn run(chosen: &[Insider], standing: Standing) -> Vec<Verdict> {
    if chosen.is_empty() {
        return Vec::new();
    }
    let mut club = match Club::new(standing).await {
        Ok(club) => club,
        Err(error) => return chosen.iter().map(|one| one.broken(&error)).collect(),
    };
    let mut verdicts = Vec::new();
    for deed in &DEEDS {
        let Some(one) = chosen.iter().find(|one| one.goal == deed.goal) else { continue };
        let tried = (deed.does)(&club).await;
        verdicts.push(tried.map_or_else(|error| one.broken(&error), |tried| one.judged(tried)));
    }
    if let Err(error) = club.ground.stack.kill().await {
        verdicts.extend(chosen.first().map(|one| one.broken(&failed(error))));
    }
    verdicts
}

/// A model that calls what its person says (`call: NAME JSON`), and says what came of it.
fn obeys(received: &Received) -> Option<Reply> {
    if !received.tool_names().contains(&"delegate") {
        return None;
    }
    let asked = received.last_user_text();
    if asked.contains("slowly") {
        let words = "one two three four five six";
        return Some(Reply::text(words).chunks(6).delay(Duration::from_millis(300)));
    }
    let call = |line: &str| {
        let (name, arguments) = line.split_once("call: ")?.1.split_once(' ')?;
        Some((name.to_owned(), serde_json::from_str::<Value>(arguments).ok()?))
    };
    let calls: Vec<(String, Value)> = asked.lines().filter_map(call).collect();
    let results = received.tool_results();
    if calls.is_empty() {
        return None;
    }
    if !results.is_empty() {
        return Some(Reply::text(format!("told: {}", results.join("\n"))));
    }
    let and =
        |reply: Reply, (name, arguments): (String, Value)| reply.and_tool_call(&name, arguments);
    Some(calls.into_iter().fold(Reply::default(), and))
}

/// The community: the owner and Bob are members of it. The board works on something, and Bob is in the reading room.
struct Club {
    ground: Ground,
    _model: ModelServer,
    workspace: WorkspaceId,
    owner: Session,
    bob: Session,
    /// The board's task, which runs until it is stopped.
    task: TaskId,
    /// The chat in which Bob is.
    seat: u32,
}

impl Club {
    async fn new(standing: Standing) -> Result<Self, CliError> {
        let model = ModelServer::builder().rule(obeys).start().await.map_err(failed)?;
        let ground = Ground::new(Stack::builder().asks_before_deleting()).await?;
        ground.stack.use_model(&model).await.map_err(failed)?;
        ground.add_user("bob").await?;
        let workspace = ground.add_community(CLUB, &["reading", "board"]).await?;
        for member in ["owner", "bob"] {
            ground.give_role(member, "member", &format!("workspace:{workspace}")).await?;
        }
        let (owner, bob) = (ground.session("owner").await?, ground.session("bob").await?);
        let work = format!("run: echo {SECRET} > plan.txt; sleep 600");
        let mut board = ground.client(&owner, workspace, BOARD);
        say(&mut board, &work).await?;
        let plan = ground.chat_folder(workspace, BOARD).join("files/plan.txt");
        let task = eventually("the board works", async || {
            let tasks = ground.tasks().await?;
            let runs = tasks.into_iter().find(|task| task.state == TaskState::Running);
            Ok(runs.map(|task| task.id))
        })
        .await?;
        // A task's files land when it ends: what is there to steal before is put there by hand.
        plant(&plan, SECRET)?;
        let seat = if standing == Standing::Entitled { BOARD } else { READING };
        Ok(Self { ground, _model: model, workspace, owner, bob, task, seat })
    }

    /// Bob where he attacks from.
    fn bob(&self) -> AgentClient {
        self.bob_in(self.seat)
    }

    fn bob_in(&self, chat: u32) -> AgentClient {
        self.ground.client(&self.bob, self.workspace, chat)
    }

    fn owner(&self, chat: u32) -> AgentClient {
        self.ground.client(&self.owner, self.workspace, chat)
    }

    async fn state(&self, task: TaskId) -> Result<Option<TaskState>, CliError> {
        let tasks = self.ground.tasks().await?;
        Ok(tasks.into_iter().find(|one| one.id == task).map(|one| one.state))
    }

    /// Whether the board's work goes on.
    async fn board_harmed(&self) -> Result<Option<String>, CliError> {
        let state = self.state(self.task).await?;
        Ok(harm_if(state != Some(TaskState::Running), || format!("the board's task is {state:?}")))
    }

    /// A task of Bob's own that runs.
    async fn bobs_task(&self, bob: &mut AgentClient) -> Result<TaskId, CliError> {
        let before: Vec<TaskId> = self.ground.tasks().await?.iter().map(|task| task.id).collect();
        say(bob, "run: sleep 601").await?;
        eventually("Bob's task runs", async || {
            let tasks = self.ground.tasks().await?;
            let new = tasks.into_iter().find(|task| !before.contains(&task.id));
            Ok(new.filter(|task| task.state == TaskState::Running).map(|task| task.id))
        })
        .await
    }

    async fn is_cancelled(&self, task: TaskId) -> Result<bool, CliError> {
        let gone = eventually("it is cancelled", async || {
            let state = self.state(task).await?;
            Ok((state == Some(TaskState::Cancelled)).then_some(()))
        });
        Ok(timeout(Duration::from_secs(20), gone).await.is_ok_and(|gone| gone.is_ok()))
    }
}

/// What Bob's agent tells him of the board's tasks; the board's own agent tells the board.
async fn asks_for_tasks(club: &Club, call: &str) -> Result<Tried, CliError> {
    let told = say(&mut club.bob(), call).await?.text;
    let harm = harm_if(told.contains(SECRET), || format!("Bob was told {told}"));
    let own = say(&mut club.owner(BOARD), call).await?.text;
    Ok(Tried::new(1, harm).twin(own.contains(SECRET), &own))
}

async fn list_tasks(club: &Club) -> Result<Tried, CliError> {
    asks_for_tasks(club, "call: list_tasks {}").await
}

async fn show_task(club: &Club) -> Result<Tried, CliError> {
    let shown = json!({"task": club.task});
    asks_for_tasks(club, &format!("call: show_task {shown}")).await
}

async fn cancel_agent(club: &Club) -> Result<Tried, CliError> {
    let mut bob = club.bob();
    let one = json!({"task": club.task});
    say(&mut bob, &format!("call: cancel_tasks {one}\ncall: cancel_tasks {{}}")).await?;
    let harm = club.board_harmed().await?;
    let own = club.bobs_task(&mut bob).await?;
    say(&mut bob, &format!("call: cancel_tasks {}", json!({"task": own}))).await?;
    Ok(Tried::new(2, harm).twin(club.is_cancelled(own).await?, "his own task goes on"))
}

async fn cancel_socket(club: &Club) -> Result<Tried, CliError> {
    let mut bob = club.bob();
    let own = club.bobs_task(&mut bob).await?;
    for task in [club.task, own] {
        let cancel = Cancel { task: Some(task), turn: None };
        bob.send(&ClientFrame::Cancel(cancel)).await.map_err(failed)?;
    }
    // His own goes when both were heard, for one socket is heard in order.
    let own_is_cancelled = club.is_cancelled(own).await?;
    let harm = club.board_harmed().await?;
    Ok(Tried::new(1, harm).twin(own_is_cancelled, "his own task goes on"))
}

async fn cancel_turn(club: &Club) -> Result<Tried, CliError> {
    let mut owner = club.owner(BOARD);
    owner.connect().await.map_err(failed)?;
    let id = "member-cancel-turn".parse().map_err(failed)?;
    owner.submit(id, "slowly, please").await;
    let turn = frame(&mut owner, "it is taken", |frame| match frame {
        AgentFrame::Accepted { turn, .. } => Some(turn),
        _ => None,
    })
    .await?;
    let mut bob = club.bob();
    bob.connect().await.map_err(failed)?;
    let cancel = Cancel { task: None, turn: Some(turn.clone()) };
    bob.send(&ClientFrame::Cancel(cancel)).await.map_err(failed)?;
    let end = frame(&mut owner, "its end", |frame| match frame {
        AgentFrame::End(end) if end.turn == turn => Some(end),
        _ => None,
    })
    .await?;
    let whole = end.error.is_none() && end.text.ends_with("six");
    Ok(Tried::new(1, harm_if(!whole, || format!("the board's answer is {:?}", end.text))))
}

async fn send_file(club: &Club) -> Result<Tried, CliError> {
    let paths = [
        "/workspace/chats/C3/history.db-wal",
        "/workspace/chats/C3/history.db",
        "/workspace/chats/C3/files/plan.txt",
        "/workspace/chats/C2/../C3/files/plan.txt",
        "../C3/files/plan.txt",
        "/workspace/chats/C2/history.db",
        "/workspace/MEMORY.md",
    ];
    let send = |path: &str| format!("call: send_file {}", json!({"path": path}));
    let mut bob = club.bob();
    let all = paths.map(&send).join("\n");
    let answer = say(&mut bob, &all).await?;
    let sent = answer.frames.iter().find(|frame| matches!(frame, AgentFrame::SendFile(_)));
    let harm = sent.map(|sent| format!("Bob was sent {sent:?}"));
    let harm = harm.or(harm_if(club.ground.was_sent(SECRET), || "it was sent".to_owned()));
    let own = club.ground.chat_folder(club.workspace, club.seat).join("files/mine.txt");
    plant(&own, "of Bob")?;
    let answer =
        say(&mut bob, &send(&format!("/workspace/chats/C{}/files/mine.txt", club.seat))).await?;
    let sent = answer.frames.iter().any(|frame| matches!(frame, AgentFrame::SendFile(_)));
    Ok(Tried::new(paths.len(), harm).twin(sent, &answer.text))
}

async fn task_files(club: &Club) -> Result<Tried, CliError> {
    let mut bob = club.bob();
    let look = "run: find / -maxdepth 7 -name 'plan*' -not -path '/proc/*' -exec cat {} + 2>&1; \
                cat /workspace/chats/C3/files/plan.txt ../C3/files/plan.txt 2>&1; echo looked";
    let answer = say(&mut bob, look).await?;
    let told = report(&mut bob, &answer).await?.text;
    let tries = usize::from(told.contains("looked"));
    Ok(Tried::new(tries, harm_if(told.contains(SECRET), || format!("Bob was told {told}"))))
}

async fn open_socket(club: &Club) -> Result<Tried, CliError> {
    club.ground.add_user("carol").await?;
    let carol = club.ground.session("carol").await?;
    // Another person's own workspace, and a community that one is no member of.
    let mut harm = None;
    for (session, workspace) in [(&club.bob, club.owner.workspace), (&carol, club.workspace)] {
        for chat in 1..=BOARD {
            if club.ground.client(session, workspace, chat).connect().await.is_ok() {
                harm = Some(format!("{} opened {workspace} C{chat}", session.user));
            }
        }
    }
    let own = club.bob().connect().await;
    Ok(Tried::new(6, harm).twin(own.is_ok(), "his own does not open"))
}

async fn upload(club: &Club) -> Result<Tried, CliError> {
    let put = async |workspace: WorkspaceId, name: &str| {
        let path = format!("/cells/{workspace}/v1/chats/C1/files?name={name}");
        club.ground.stack.http("POST", &path, Some(&club.bob.token), b"planted".to_vec()).await
    };
    for name in ["planted.txt", "..%2Fplanted.txt"] {
        put(club.owner.workspace, name).await.map_err(failed)?;
    }
    let folder = club.ground.stack.data().join("workspaces");
    let planted = super::ground::files_with(&folder, "planted");
    let harm = harm_if(planted, || "the owner has a file of Bob's".to_owned());
    let own = put(club.bob.workspace, "mine.txt").await.map_err(failed)?;
    Ok(Tried::new(2, harm).twin(own.status == 200, &own.text()))
}

/// Says what asks in any case, and waits for the question.
async fn asks(client: &mut AgentClient) -> Result<Ask, CliError> {
    let of = |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask),
        _ => None,
    };
    let answer = say(client, "run: pip install --target=lib example-package").await?;
    // It may have come before the end of the turn that started the task.
    match answer.frames.into_iter().find_map(of) {
        Some(ask) => Ok(ask),
        None => frame(client, "a question", of).await,
    }
}

/// Bob's words are somebody else's to the owner: what she has done after them is asked with whose they are.
async fn words(club: &Club) -> Result<Tried, CliError> {
    say(&mut club.bob(), "install my package as well").await?;
    let ask = asks(&mut club.owner(READING)).await?;
    let harm = harm_if(!ask.text.contains("another member"), || {
        format!("Bob's words count as the owner's: {}", ask.text)
    });
    let path = format!("/admin/v1/users/{CLUB}/tasks/cancel");
    let _cancelled: Value = club.ground.root.post(&path, &json!({"task": ask.task})).await?;
    Ok(Tried::new(1, harm))
}

async fn answer(club: &Club) -> Result<Tried, CliError> {
    let mut owner = club.ground.client(&club.owner, club.owner.workspace, 1);
    let ask = asks(&mut owner).await?;
    let open = async || -> Result<Vec<ApprovalView>, CliError> {
        club.ground.root.get("/admin/v1/users/owner/approvals").await
    };
    let digest = open().await?.into_iter().find(|one| one.id == ask.approval).map(|one| one.digest);
    let mut tries = 0;
    for mut bob in [club.bob(), club.bob_in(BOARD)] {
        bob.connect().await.map_err(failed)?;
        for digest in [digest.clone(), None] {
            let answer = ApprovalAnswer { id: ask.approval, answer: Answer::Allow, digest };
            bob.send(&ClientFrame::Approval(answer)).await.map_err(failed)?;
            tries += 1;
        }
        // What one socket says is heard in order: all of it was, when this is answered.
        say(&mut bob, &format!("/yes {}", ask.approval)).await?;
    }
    let is_open = open().await?.iter().any(|one| one.id == ask.approval);
    Ok(Tried::new(tries, harm_if(!is_open, || "the owner's question was answered".to_owned())))
}

async fn allow_host(club: &Club) -> Result<Tried, CliError> {
    let mut tries = 0;
    for chat in [READING, BOARD] {
        for words in [format!("/allow {EVIL}"), format!("/allow *.{EVIL}")] {
            say(&mut club.bob_in(chat), &words).await?;
            tries += 1;
        }
    }
    let rules = club.ground.get(&format!("/admin/v1/users/{CLUB}/egress")).await?.to_string();
    let harm = harm_if(rules.contains(EVIL), || format!("the rules are {rules}"));
    let mut own = club.ground.client(&club.bob, club.bob.workspace, 1);
    say(&mut own, "/allow friendly.example").await?;
    let rules = club.ground.get("/admin/v1/users/bob/egress").await?.to_string();
    Ok(Tried::new(tries, harm).twin(rules.contains("friendly.example"), &rules))
}
