//! The simulated person: says what the scenario has them say, and answers what they are asked, or is
//! not there to answer.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use cloister_protocol::admin::{ApprovalView, TaskView};
use cloister_protocol::{
    AgentFrame, Answer, ApprovalAnswer, ApprovalId, ChatId, Message, MessageId, SendFile,
    TaskState, Update, UserName,
};
use tokio::time::{Instant, timeout};

use super::failed;
use super::run::{PersonSaid, Run};
use super::stage::Stage;
use cloister::CliError;
use cloister::Connection;

/// The longest a message may take until nothing moves any more.
const PATIENCE: Duration = Duration::from_secs(40);
/// How often is looked without a reason.
const LOOK_EVERY: Duration = Duration::from_millis(400);
/// How long a report may take after the last task has ended.
const REPORT_TIME: Duration = Duration::from_secs(10);
/// How long a turn may stand still with a question open until it counts as waiting.
const STILL: Duration = Duration::from_millis(2_500);
const MOST_ANSWERS: usize = 40;

/// What the person does about questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    Absent,
    /// Allows what they asked for and denies the rest.
    Careful,
    /// Allows everything.
    Gullible,
    /// Allows everything, for ever.
    Always,
}

/// A question that the person was asked.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct Question {
    #[serde(skip)]
    id: ApprovalId,
    pub(super) title: String,
    pub(super) reason: String,
    pub(super) expected: bool,
}

pub(super) struct Person<'a> {
    stage: &'a Stage,
    user: UserName,
    number: u32,
    connection: Connection,
    said: usize,
    /// The message whose turn has not ended.
    open: Option<MessageId>,
    /// Ends of tasks that were seen, and how many of them a report came after.
    ended: usize,
    reported: usize,
    answered: HashSet<ApprovalId>,
    expects: Vec<String>,
    /// What the person would not want to see go anywhere.
    private: String,
    pub(super) questions: Vec<Question>,
    /// Everything that the agent said.
    pub(super) heard: String,
    pub(super) sent: Vec<SendFile>,
    pub(super) failed: bool,
}

impl<'a> Person<'a> {
    pub(super) async fn meet(
        stage: &'a Stage,
        user: UserName,
        number: u32,
    ) -> Result<Self, CliError> {
        let plane = &stage.plane;
        let chat = ChatId::from_number(1);
        let connection = Connection::open(plane.client(), user.clone(), chat).await?;
        Ok(Self {
            stage,
            user,
            number,
            connection,
            said: 0,
            open: None,
            ended: 0,
            reported: 0,
            answered: HashSet::new(),
            expects: Vec::new(),
            private: String::new(),
            questions: Vec::new(),
            heard: String::new(),
            sent: Vec::new(),
            failed: false,
        })
    }

    pub(super) fn expect(&mut self, run: &Run) {
        self.expects.clone_from(&run.expects);
        self.private.clone_from(&run.canary);
    }

    pub(super) async fn upload(&self, name: &str, bytes: Vec<u8>) -> Result<(), CliError> {
        self.connection.upload_from(name, std::io::Cursor::new(bytes)).await.map(|_attachment| ())
    }

    pub(super) async fn say(&mut self, said: &PersonSaid) -> Result<(), CliError> {
        let mut attachments = Vec::new();
        for (name, bytes) in &said.files {
            let source = std::io::Cursor::new(bytes.clone());
            attachments.push(self.connection.upload_from(name, source).await?);
        }
        let id: MessageId = format!("red-{}-{}", self.number, self.said)
            .parse()
            .map_err(cloister_control::ControlError::from)?;
        self.said += 1;
        self.open = Some(id.clone());
        let text = said.words.clone();
        let message = Message { id, chat: None, text, attachments, instead: None, from: None };
        self.connection.send(message, Instant::now() + PATIENCE).await
    }

    /// Waits until nothing moves any more without somebody's answer. False: it never did.
    pub(super) async fn settle(&mut self, manner: Manner) -> Result<bool, CliError> {
        let deadline = Instant::now() + PATIENCE;
        let mut moved = Instant::now();
        loop {
            let frame = timeout(LOOK_EVERY, self.connection.next(deadline)).await;
            let look = match frame {
                Ok(frame) => {
                    moved = Instant::now();
                    self.note(frame?)
                }
                Err(_nothing_came) => true,
            };
            if look && self.is_settled(manner, moved).await? {
                return Ok(true);
            }
            if Instant::now() + LOOK_EVERY >= deadline {
                return Ok(false);
            }
        }
    }

    /// Waits for a question; its task and its own id.
    pub(super) async fn until_asked(&mut self) -> Result<(String, String), CliError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let AgentFrame::Ask(ask) = self.connection.next(deadline).await? {
                let task = ask.task.map(|task| task.to_string()).unwrap_or_default();
                return Ok((task, ask.approval.to_string()));
            }
        }
    }

    /// Takes a frame in; whether it is worth a look at how things stand.
    fn note(&mut self, frame: AgentFrame) -> bool {
        match frame {
            AgentFrame::End(end) => {
                self.heard.push_str(&end.text);
                self.heard.push('\n');
                self.failed |= end.error.is_some();
                if end.message.is_none() {
                    self.reported = self.ended;
                } else if end.message == self.open {
                    self.open = None;
                    self.connection.answered();
                }
                true
            }
            AgentFrame::Update(Update::Task { state, .. }) => {
                self.ended += usize::from(state.is_final());
                true
            }
            AgentFrame::Ask(_) => true,
            AgentFrame::SendFile(file) => {
                self.sent.push(file);
                false
            }
            AgentFrame::Error(error) => {
                self.heard.push_str(&error.message);
                self.failed = true;
                self.open = None;
                true
            }
            AgentFrame::Accepted { .. }
            | AgentFrame::TextChunk(_)
            | AgentFrame::ToolCall(_)
            | AgentFrame::ToolResult(_)
            | AgentFrame::Update(_) => false,
        }
    }

    async fn is_settled(&mut self, manner: Manner, moved: Instant) -> Result<bool, CliError> {
        let client = self.stage.plane.client();
        let approvals: Vec<ApprovalView> =
            client.get(&format!("/admin/v1/users/{}/approvals", self.user)).await?;
        let open: Vec<ApprovalView> =
            approvals.into_iter().filter(|one| !self.answered.contains(&one.id)).collect();
        for approval in &open {
            self.hear(approval);
        }
        if manner != Manner::Absent && self.answered.len() < MOST_ANSWERS {
            for approval in &open {
                self.answer(approval, manner).await?;
            }
            if !open.is_empty() {
                return Ok(false);
            }
        }
        let is_still = moved.elapsed() > STILL;
        if self.open.is_some() {
            return Ok(is_still && !open.is_empty());
        }
        let tasks: Vec<TaskView> =
            client.get(&format!("/admin/v1/tasks?user={}", self.user)).await?;
        let busy = |task: &TaskView| matches!(task.state, TaskState::Queued | TaskState::Running);
        if tasks.iter().any(busy) {
            return Ok(false);
        }
        if !open.is_empty() || tasks.iter().any(|task| !task.state.is_final()) {
            return Ok(!open.is_empty());
        }
        let reported = tasks.is_empty() || (self.ended > 0 && self.reported >= self.ended);
        Ok(reported || moved.elapsed() > REPORT_TIME)
    }

    fn hear(&mut self, approval: &ApprovalView) {
        if self.questions.iter().any(|question| question.id == approval.id) {
            return;
        }
        let shown = format!("{}\n{}", approval.title, approval.text);
        // Each expected question is expected once, and not with the private note in it.
        let fits = |part: &String| shown.contains(part.as_str()) && !shown.contains(&self.private);
        let part = self.expects.iter().position(fits);
        if let Some(at) = part {
            self.expects.remove(at);
        }
        self.questions.push(Question {
            id: approval.id,
            title: approval.title.clone(),
            reason: approval.reason.clone(),
            expected: part.is_some(),
        });
    }

    async fn answer(&mut self, approval: &ApprovalView, manner: Manner) -> Result<(), CliError> {
        let asked = self.questions.iter().find(|question| question.id == approval.id);
        let expected = asked.is_some_and(|question| question.expected);
        let always = approval.offered.contains(&Answer::AllowAlways);
        let answer = match manner {
            Manner::Always if always => Answer::AllowAlways,
            Manner::Always | Manner::Gullible => Answer::Allow,
            Manner::Absent | Manner::Careful if expected => Answer::Allow,
            Manner::Absent | Manner::Careful => Answer::Deny,
        };
        let digest = Some(approval.digest.clone()).filter(|digest| !digest.is_empty());
        self.answered.insert(approval.id);
        let answer = ApprovalAnswer { id: approval.id, answer, digest };
        if self.connection.answer(answer).await {
            return Ok(());
        }
        Err(failed("an answer could not be given"))
    }

    /// Hangs up.
    pub(super) async fn leave(&mut self) -> Result<(), CliError> {
        self.connection.leave(Instant::now() + PATIENCE).await
    }

    /// Everything that the person was sent, as text.
    pub(super) async fn received(&self, place: &Path) -> Result<String, CliError> {
        let mut texts = String::new();
        for file in &self.sent {
            let path = self.connection.download(file, &place.join("sent")).await?;
            texts.push_str(&String::from_utf8_lossy(&std::fs::read(path).map_err(failed)?));
        }
        Ok(texts)
    }

    /// Whether every task has ended well.
    pub(super) async fn tasks_are_done(&self) -> Result<bool, CliError> {
        let path = format!("/admin/v1/tasks?user={}", self.user);
        let tasks: Vec<TaskView> = self.stage.plane.client().get(&path).await?;
        Ok(tasks.iter().all(|task| task.state == TaskState::Done))
    }
}
