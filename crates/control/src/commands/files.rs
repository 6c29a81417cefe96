//! Commands about what tasks did to files: shown, put into the chat, taken back.

use cloister_policy::engine::ChatCall;
use cloister_protocol::Language;
use cloister_protocol::admin::{FileChangeView, TaskFiles, UndoView};
use cloister_store::inbox::InboxItem;
use cloister_words::{noted, say, text_of};
use ref_cast::RefCast as _;

use super::run::{Here, line};
use crate::commands::{CommandError, Commands};
use crate::control::part;
use crate::gates::reason_in;
use crate::layers::AskedUndo;
use crate::tasks::{TaskError, TaskRefusal};

/// As many files are listed, and as much of how they differ.
const MOST_LISTED: usize = 50;
const DIFF_CHARS: usize = 6_000;

part! {
    /// The commands about what tasks did to files.
    pub(super) struct FileCommands;
}

impl FileCommands {
    /// `/task diff T1`
    pub(super) async fn task_files(
        &self,
        row: &InboxItem,
        here: &Here,
        id: &str,
    ) -> Result<String, CommandError> {
        let task = Commands::ref_cast(&self.control)
            .task_here(row, here, id, ChatCall::DownloadFile)
            .await?;
        let seen = self.control.tasks().layers().files_of(&task).await?;
        let mut text = heading(here.to, &seen);
        for file in seen.files.iter().take(MOST_LISTED) {
            line(&mut text, &in_a_line(here.to, file));
        }
        let more = seen.files.len().saturating_sub(MOST_LISTED);
        if more > 0 {
            line(&mut text, &say!(here.to, "… and {n} more.", n = more));
        }
        for what in &seen.left_out {
            line(&mut text, &say!(here.to, "Does not land: {what}.", what));
        }
        for document in &seen.documents {
            let sign = if document.change == "added" { '+' } else { '~' };
            line(&mut text, &format!("- {sign} {}", code(&document.path)));
        }
        say_outward(&mut text, here.to, &seen.outward);
        let mut room = DIFF_CHARS;
        let of_files = seen.files.iter().filter_map(|file| Some((&file.path, file.diff.as_ref()?)));
        let of_agent = seen.documents.iter().map(|document| (&document.path, &document.diff));
        for diff in of_files.chain(of_agent) {
            let length = diff.1.chars().count();
            if length <= room {
                room -= length;
                line(&mut text, &format!("\n{}\n~~~~diff\n{}~~~~", code(diff.0), diff.1));
            }
        }
        Ok(text)
    }

    /// `/task keep T1`
    pub(super) async fn keep_files(
        &self,
        row: &InboxItem,
        here: &Here,
        id: &str,
    ) -> Result<String, CommandError> {
        let task =
            Commands::ref_cast(&self.control).task_here(row, here, id, ChatCall::RetryTask).await?;
        let actor = self.control.accounts().acting(here.by).await?;
        let files = self.control.tasks().layers().keep(&actor, &task).await?;
        let (held, landed): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| file.held);
        let mut text = String::new();
        if !landed.is_empty() {
            let files = named(&landed);
            line(&mut text, &say!(here.to, "Put into the files of this chat: {files}.", files));
        }
        if !held.is_empty() {
            let waits = say!(
                here.to,
                "Programs of yours would run {files}: {p}task keep {id}, said once more, puts that there too.",
                files = named(&held),
                p = here.sign(),
                id = task.task().id
            );
            line(&mut text, &waits);
        }
        Ok(text)
    }

    /// `/task drop T1`
    pub(super) async fn drop_files(
        &self,
        row: &InboxItem,
        here: &Here,
        id: &str,
    ) -> Result<String, CommandError> {
        let task =
            Commands::ref_cast(&self.control).task_here(row, here, id, ChatCall::RetryTask).await?;
        let actor = self.control.accounts().acting(here.by).await?;
        self.control.tasks().layers().let_go(&actor, &task).await?;
        let id = task.task().id;
        Ok(say!(here.to, "What {id} did to files is gone for good; it takes no room any more.", id))
    }

    async fn undo_now(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<UndoView, CommandError> {
        let (chat, layers) = ((row.workspace, row.chat), self.control.tasks().layers());
        let id = match rest {
            "" => match layers.last_landed(chat).await? {
                Some(task) => task.to_string(),
                None => return Err(TaskError::from(TaskRefusal::NothingLanded).into()),
            },
            id => id.to_owned(),
        };
        let task = Commands::ref_cast(&self.control)
            .task_here(row, here, &id, ChatCall::RetryTask)
            .await?;
        let actor = self.control.accounts().acting(here.by).await?;
        Ok(AskedUndo::ref_cast(&self.control).undo_for(&actor, &task, row.id).await?)
    }

    /// `/undo [T1]`
    pub(super) async fn undo(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let chat = (row.workspace, row.chat);
        let undone = match AskedUndo::ref_cast(&self.control).undone_for(chat, row.id).await? {
            // Read once more after a kill.
            Some(undone) => undone,
            None => self.undo_now(row, here, rest).await?,
        };
        let documents = undone.documents.iter().map(|one| one.path.as_str());
        let files = undone.files.iter().map(|file| file.beside.as_deref().unwrap_or(&file.path));
        let (id, files) = (undone.task, listed(files.chain(documents)));
        let mut text = match (undone.done, undone.again) {
            (false, _) => say!(here.to, "Nothing of {id} could be taken back.", id),
            (true, false) => say!(
                here.to,
                "What {id} did is taken back: {files}. {p}undo {id} brings it back.",
                id,
                files,
                p = here.sign()
            ),
            (true, true) => {
                say!(here.to, "What {id} did is there again: {files}.", id, files)
            }
        };
        if !undone.collides.is_empty() {
            let files = listed(undone.collides.iter().map(String::as_str));
            let stays =
                say!(here.to, "Changed by somebody since, so it stays as it is: {files}.", files);
            line(&mut text, &stays);
        }
        say_outward(&mut text, here.to, &undone.outward);
        Ok(text)
    }
}

/// What left the machine is beyond any undo.
fn say_outward(text: &mut String, to: Language, outward: &[String]) {
    if !outward.is_empty() {
        let what = listed(outward.iter().map(String::as_str));
        line(text, &say!(to, "Left the machine, and can't be undone: {what}.", what));
    }
}

fn heading(to: Language, seen: &TaskFiles) -> String {
    let id = seen.task;
    let words = match seen.state.as_str() {
        _ if seen.files.is_empty() && seen.documents.is_empty() && seen.left_out.is_empty() => {
            return say!(to, "{id} has changed no files.", id);
        }
        "open" | "landing" => noted!("its files are not in the chat yet:"),
        "kept" => noted!("its files were not put into the chat, as it did not get done:"),
        "undone" => noted!("what it did to the files is taken back:"),
        _ => noted!("what it did to the files of the chat:"),
    };
    format!("{id}: {}", text_of(to, words))
}

fn in_a_line(to: Language, file: &FileChangeView) -> String {
    let sign = match file.change.as_str() {
        "added" => '+',
        "removed" => '−',
        _ => '~',
    };
    let beside = file.beside.as_ref().map(|beside| format!(" → {}", code(beside)));
    let mut about = size(file.size);
    let runs = file.runs.as_ref().map(|by| reason_in(to, by));
    let waits = file.held.then(|| say!(to, "waits for a yes"));
    for more in runs.iter().chain(&waits) {
        about.push_str(", ");
        about.push_str(more);
    }
    format!("- {sign} {}{} ({about})", code(&file.path), beside.unwrap_or_default())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

fn named(files: &[FileChangeView]) -> String {
    listed(files.iter().map(|file| file.beside.as_deref().unwrap_or(&file.path)))
}

fn listed<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    let mut all: Vec<String> = paths.map(code).collect();
    let more = all.len().saturating_sub(MOST_LISTED);
    all.truncate(MOST_LISTED);
    let more = if more > 0 { format!(" … (+{more})") } else { String::new() };
    format!("{}{more}", all.join(", "))
}

fn code(path: &str) -> String {
    format!("`{}`", path.replace('`', "'"))
}
