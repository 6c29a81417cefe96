//! A conversation: a line to write on, and above it whatever the agent says, whenever it says it.
//! Nothing has to be waited for: the next message can be written while an answer comes.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::admin::{AgentView, Line};
use cloister_protocol::{AgentFrame, ChatId, End, SendFile, TextChunk, TurnId, Update, UserName};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::editor::{self, Printer, Typed};
use super::paths::{expand, path_and_text};
use super::questions::{Questions, Reading};
use super::telling::{Show, Telling};
use super::words::{self, SaidDoing};
use super::wrap::Lines;
use crate::client::Client;
use crate::connection::Connection;
use crate::output::{CliError, INTERRUPTED, Output};
use crate::terminal::{AsItWas, Paint, harmless};

/// A second Ctrl-C within this time leaves.
const TWICE: Duration = Duration::from_secs(2);
/// How long who leaves waits for what they said to be taken.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether the connection is still there.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// The files that `/save` can still save.
const MAX_FILES: usize = 32;
/// The answers that are followed at once.
const MAX_ANSWERS: usize = 64;
/// The messages that wait to be taken.
const MAX_WAITING: usize = 256;
/// What was said before, for the arrow keys.
const HISTORY_LINES: u32 = 200;
/// As good as for ever, for a clock.
const LONG: Duration = Duration::from_secs(365 * 24 * 3600);

/// Who talks to whom.
pub(super) struct Who {
    user: UserName,
    chat: ChatId,
    /// The agent's name; empty if it has none.
    agent: String,
    said_before: Vec<String>,
}

impl Who {
    pub(super) async fn ask(
        client: &Client,
        user: UserName,
        chat: ChatId,
    ) -> Result<Self, CliError> {
        let path = format!("/admin/v1/users/{user}");
        // A name that can't be read is no reason not to talk.
        let agents: Option<Vec<AgentView>> = client.get(&format!("{path}/agents")).await.ok();
        let its = agents.into_iter().flatten().find(|agent| agent.chats.contains(&chat));
        let lines: Vec<Line> =
            client.get(&format!("{path}/chats/{chat}?last={HISTORY_LINES}")).await?;
        let own = lines.into_iter().filter(|line| line.from == user.as_str());
        Ok(Self {
            said_before: own.map(|line| line.text).collect(),
            agent: its.map(|agent| agent.name).unwrap_or_default(),
            user,
            chat,
        })
    }

    fn prompt(&self) -> String {
        if self.agent.is_empty() { "> ".to_owned() } else { format!("to {}> ", self.agent) }
    }
}

pub(super) async fn converse(
    output: Output,
    connection: Connection,
    who: Who,
    save: Option<PathBuf>,
) -> Result<ExitCode, CliError> {
    let _as_it_was = AsItWas::remember();
    let agent = if who.agent.is_empty() { "your agent" } else { &who.agent };
    output.remark(&format!(
        "{} talks to {agent} in {}. /help lists commands, /file PATH sends a file, Ctrl-C stops an \
         answer, Ctrl-D leaves.",
        who.user, who.chat
    ));
    let (typed, printer) = editor::start(who.prompt(), &who.said_before)?;
    let conversation = Conversation {
        name: if who.agent.is_empty() { "agent".to_owned() } else { who.agent },
        paint: Paint::for_stdout(),
        connection,
        printer,
        save,
        answers: HashMap::new(),
        open: Vec::new(),
        files: Vec::new(),
        questions: Questions::default(),
        doing: SaidDoing::default(),
        interrupted_at: None,
        lost: false,
        held: false,
    };
    conversation.run(typed, output).await
}

/// An answer that is being given.
struct Answer {
    telling: Telling,
    lines: Lines,
    /// Its first line has been printed.
    begun: bool,
}

/// What of an answer is to be printed.
struct ToldAnswer {
    /// It is another one than was begun.
    over: bool,
    lines: Vec<String>,
    /// These are its first lines.
    begins: bool,
}

impl Answer {
    fn new() -> Self {
        let lines = Lines::new(usize::from(columns()));
        Self { telling: Telling::default(), lines, begun: false }
    }

    fn show(&mut self, show: Show) -> ToldAnswer {
        let mut over = false;
        let text = match show {
            Show::More(text) => text,
            Show::Anew(text) => {
                over = std::mem::take(&mut self.begun);
                self.lines = Lines::new(usize::from(columns()));
                text
            }
        };
        let lines = self.lines.push(&harmless(&text));
        let begins = !self.begun && !lines.is_empty();
        self.begun |= begins;
        ToldAnswer { over, lines, begins }
    }
}

struct Conversation {
    name: String,
    paint: Paint,
    connection: Connection,
    printer: Printer,
    save: Option<PathBuf>,
    answers: HashMap<TurnId, Answer>,
    /// The turns of our own messages that have not ended, oldest first.
    open: Vec<TurnId>,
    /// The newest files that were not saved.
    files: Vec<SendFile>,
    /// What waits for this person's answer.
    questions: Questions,
    doing: SaidDoing,
    interrupted_at: Option<Instant>,
    /// It was said that the connection is lost.
    lost: bool,
    /// It was said that messages wait to be taken.
    held: bool,
}

impl Conversation {
    /// Until the person leaves; what could not be sent by then is said.
    async fn run(
        mut self,
        typed: mpsc::Receiver<Typed>,
        output: Output,
    ) -> Result<ExitCode, CliError> {
        let code = self.talk(typed).await?;
        match self.connection.untaken() {
            0 => {}
            1 => output.note("your last message was not sent: the control plane does not answer"),
            more => output.note(&format!(
                "your last {more} messages were not sent: the control plane does not answer"
            )),
        }
        Ok(code)
    }

    async fn talk(&mut self, mut typed: mpsc::Receiver<Typed>) -> Result<ExitCode, CliError> {
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut stopped = std::pin::pin!(crate::commands::up::asked_to_stop()?);
        loop {
            tokio::select! {
                next = typed.recv() => match next {
                    None | Some(Typed::End) => {
                        self.hand_over_the_rest().await;
                        return Ok(ExitCode::SUCCESS);
                    }
                    Some(Typed::Line(line)) => {
                        if let Some(code) = self.typed(line.trim()).await? {
                            return Ok(code);
                        }
                    }
                    Some(Typed::Interrupt) => if self.interrupt().await {
                        return Ok(ExitCode::from(INTERRUPTED));
                    },
                },
                () = &mut stopped => return Ok(ExitCode::from(INTERRUPTED)),
                _ = look.tick() => self.look().await,
                frame = self.connection.next(Instant::now() + LONG) => self.take(frame?).await,
            }
        }
    }

    /// Who leaves right after their last line has said it all the same.
    async fn hand_over_the_rest(&mut self) {
        let until = Instant::now() + LEAVE_WITHIN;
        while self.connection.untaken() > 0 && self.connection.is_connected() {
            match self.connection.next(until).await {
                Ok(frame) => self.take(frame).await,
                // What was not taken is said at the end.
                Err(_) => return,
            }
        }
    }

    /// Says when the connection is lost, and when it is back.
    async fn look(&mut self) {
        let lost = !self.connection.is_connected();
        if lost != self.lost {
            self.lost = lost;
            let words =
                if lost { "(the connection is lost; trying again)" } else { "(connected again)" };
            self.remark(words).await;
        }
        let held = self.connection.is_held();
        if held && !std::mem::replace(&mut self.held, held) {
            self.remark("(you write faster than it is taken: the rest follows by itself)").await;
        }
        self.held &= self.connection.untaken() > 0;
    }

    /// Ctrl-C: stops the answer that is being given; the second one leaves.
    async fn interrupt(&mut self) -> bool {
        let twice = self.interrupted_at.is_some_and(|at| at.elapsed() < TWICE);
        self.interrupted_at = Some(Instant::now());
        if twice {
            return true;
        }
        match self.open.first().cloned() {
            Some(turn) => {
                self.connection.cancel(turn).await;
                self.remark("(stopped; Ctrl-C again leaves)").await;
            }
            None => self.remark("(Ctrl-C again leaves; so does Ctrl-D)").await,
        }
        false
    }

    async fn typed(&mut self, line: &str) -> Result<Option<ExitCode>, CliError> {
        self.interrupted_at = None;
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "" => {}
            "/quit" | "/exit" => {
                self.hand_over_the_rest().await;
                return Ok(Some(ExitCode::SUCCESS));
            }
            "/file" => self.send_file(rest.trim()).await?,
            "/save" => self.save_files(rest.trim()).await,
            _ => self.answer_or_say(line).await?,
        }
        Ok(None)
    }

    /// A line that answers a question goes there, anything else to the agent.
    async fn answer_or_say(&mut self, line: &str) -> Result<(), CliError> {
        match self.questions.read(line) {
            Reading::Answer(answer) => {
                if !self.connection.answer(answer).await {
                    self.remark("(not connected: answer again in a moment)").await;
                }
                return Ok(());
            }
            Reading::Unclear(hint) => {
                self.remark(&hint).await;
                return Ok(());
            }
            Reading::Message => {}
        }
        if self.too_much_waits().await {
            return Ok(());
        }
        // A line that went on after a backslash is one message.
        let text = line.replace("\\\n", "\n");
        match super::message(text, Vec::new()) {
            Ok(message) => self.connection.say(message),
            Err(error) => self.remark(&format!("error: {}", error.body.message)).await,
        }
        Ok(())
    }

    async fn too_much_waits(&self) -> bool {
        let much = self.connection.untaken() >= MAX_WAITING;
        if much {
            self.remark("(not sent: too much waits to be taken; say it again in a moment)").await;
        }
        much
    }

    async fn send_file(&mut self, rest: &str) -> Result<(), CliError> {
        if self.too_much_waits().await {
            return Ok(());
        }
        let (path, text) = path_and_text(rest);
        if path.as_os_str().is_empty() {
            self.remark("Say which file: /file PATH [what to do with it]").await;
            return Ok(());
        }
        match self.connection.upload(&path).await {
            Ok(file) => {
                self.remark(&format!("[{} is sent ({} bytes)]", file.name, file.size)).await;
                self.connection.say(super::message(text, vec![file])?);
            }
            Err(error) => self.remark(&format!("error: {}", error.body.message)).await,
        }
        Ok(())
    }

    async fn save_files(&mut self, dir: &str) {
        let dir = if dir.is_empty() { PathBuf::from(".") } else { expand(dir) };
        let files = std::mem::take(&mut self.files);
        if files.is_empty() {
            self.remark("There is nothing to save.").await;
        }
        for file in files {
            self.keep(&file, &dir).await;
        }
    }

    async fn keep(&mut self, file: &SendFile, dir: &Path) {
        let said = match self.connection.download(file, dir).await {
            Ok(path) => format!("[file saved: {}]", path.display()),
            Err(error) => format!("error: {} was not saved: {}", file.name, error.body.message),
        };
        self.remark(&said).await;
    }

    async fn take(&mut self, frame: AgentFrame) {
        match frame {
            AgentFrame::Accepted { turn, .. } => {
                if !self.open.contains(&turn) {
                    self.open.push(turn);
                }
            }
            AgentFrame::TextChunk(chunk) => self.chunk(&chunk).await,
            AgentFrame::Update(Update::Restart { turn }) => {
                if let Some(answer) = self.answers.get_mut(&turn) {
                    answer.telling.restart();
                }
            }
            AgentFrame::Update(update) => {
                self.questions.follow(&update);
                if let Some(words) = self.doing.note(&update).or_else(|| words::of_update(&update))
                {
                    self.remark(&words).await;
                }
            }
            AgentFrame::Ask(ask) => {
                let words = self.questions.ask(ask);
                self.print(&words).await;
            }
            AgentFrame::SendFile(file) => self.file(file).await,
            AgentFrame::End(end) => self.end(end).await,
            // It is said again by itself.
            AgentFrame::Error(error) if self.connection.says_again(&error) => {}
            AgentFrame::Error(error) => {
                if let Some(id) = &error.id {
                    self.connection.is_answered(id);
                }
                self.print(&format!("error: {}", error.message)).await;
            }
            AgentFrame::ToolCall(_) | AgentFrame::ToolResult(_) => {}
        }
    }

    async fn chunk(&mut self, chunk: &TextChunk) {
        if self.answers.len() >= MAX_ANSWERS && !self.answers.contains_key(&chunk.turn) {
            return;
        }
        let answer = self.answers.entry(chunk.turn.clone()).or_insert_with(Answer::new);
        let show = answer.telling.chunk(chunk);
        let told = answer.show(show);
        self.tell(told).await;
    }

    async fn tell(&mut self, told: ToldAnswer) {
        if told.over {
            self.remark("(starting over)").await;
        }
        if !told.lines.is_empty() {
            self.questions.something_else_was_said();
        }
        self.say(told.lines, told.begins).await;
    }

    async fn end(&mut self, end: End) {
        self.open.retain(|turn| *turn != end.turn);
        self.questions.something_else_was_said();
        if let Some(id) = &end.message {
            self.connection.is_answered(id.as_str());
        }
        let mut answer = self.answers.remove(&end.turn).unwrap_or_else(Answer::new);
        let show = std::mem::take(&mut answer.telling).end(&end.text);
        let mut told = answer.show(show);
        told.lines.extend(answer.lines.finish());
        told.begins |= !answer.begun;
        self.tell(told).await;
        if words::is_taken_over(&end) {
            self.remark(words::TAKEN_OVER).await;
        }
    }

    async fn file(&mut self, file: SendFile) {
        if let Some(dir) = self.save.clone() {
            return self.keep(&file, &dir).await;
        }
        self.remark(&words::of_file(&file, "/save [DIR] keeps it")).await;
        if self.files.len() == MAX_FILES {
            self.files.remove(0);
        }
        self.files.push(file);
    }

    /// Prints lines of an answer, which are harmless already.
    async fn say(&self, lines: Vec<String>, begins: bool) {
        if lines.is_empty() {
            return;
        }
        let text = lines.join("\n");
        let name = format!("{}:", self.name);
        let text = if begins { format!("{} {text}", self.paint.bold(&name)) } else { text };
        self.printer.print(text).await;
    }

    async fn print(&self, text: &str) {
        self.printer.print(harmless(text).into_owned()).await;
    }

    async fn remark(&self, text: &str) {
        self.printer.print(self.paint.dim(&harmless(text))).await;
    }
}

fn columns() -> u16 {
    let size = rustix::termios::tcgetwinsize(std::io::stdout());
    size.ok().map(|size| size.ws_col).filter(|columns| *columns > 0).unwrap_or(80)
}
