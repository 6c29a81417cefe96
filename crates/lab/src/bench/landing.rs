//! Landings: a thousand small files that a task wrote become the chat's, are taken back and brought back; beside the same
//! files moved one by one and copied by hand, and once more with 10 GB in the chat that nobody touches.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use cloister_protocol::admin::{FileChangeView, TaskFiles, TaskView, UndoTask, UndoView};
use cloister_protocol::{TaskState, UserName};
use cloister_testkit::{ModelServer, Received, Reply};
use serde_json::json;

use super::Plan;
use super::report::{Aim, Row};
use super::talker::{Talker, broken};
use crate::plane::{Plane, SendLimits};
use cloister::CliError;

const FILES: usize = 1_000;
/// 10 GB in files that are mostly holes: what they are called and how long they are is what costs.
const BIG_FILES: usize = 1_000;
const BIG_BYTES: u64 = 10 << 20;
const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);

pub(super) async fn measure(plan: &Plan, place: &Path) -> Result<Vec<Row>, CliError> {
    let place = place.join("landings");
    let model = ModelServer::builder().keep(0).rule(reply).start().await;
    let model = model.map_err(CliError::io("no model server could be started"))?;
    let plane = Plane::start(&place, SendLimits::Lifted).await?;
    let levels = ["coordinator", "executor"];
    super::use_model_at(&plane, ("bench-tasks", model.base_url()), &levels).await?;
    let user = plane.client().user(None).await?;
    let mut yard = Yard { talker: Talker::of_user(&plane, user.clone()).await?, plane, user };
    let rounds = plan.landings;
    let (mut renamed, mut copied) = (Vec::new(), Vec::new());
    let (mut landed, mut undone) = (Vec::new(), Vec::new());
    for number in 0..rounds {
        let hand = place.join(format!("by-hand-{number}"));
        renamed.push(by_hand(&hand, |from, to| std::fs::rename(from, to))?);
        copied.push(by_hand(&hand, |from, to| std::fs::copy(from, to).map(drop))?);
        let (land, undo) = yard.round(number).await?;
        landed.push(land);
        undone.extend(undo);
    }
    let files = place.join("data/workspaces/w1/chats/C1/files");
    fill(&files).map_err(CliError::io("the large files could not be made"))?;
    let mut beside = Vec::new();
    for number in rounds..2 * rounds {
        beside.push(yard.round(number).await?.0);
    }
    let renamed = Row::times("landing.rename", "1,000 small files moved by hand, on disk", renamed);
    let copied = Row::times("landing.copy", "the same copied by hand", copied);
    let landed = Row::times("landing.land", "the same land: asked → all there", landed);
    let undone = Row::times("landing.undo", "the same taken back, or brought back", undone);
    let what = "the same land beside 10 GB that nobody touches";
    let beside = Row::times("landing.beside", what, beside).over(&landed).aim(Aim::Flat);
    let (landed, undone) = (landed.over(&renamed), undone.over(&renamed));
    Ok(vec![renamed, copied, landed, undone, beside])
}

struct Yard {
    plane: Plane,
    talker: Talker,
    user: UserName,
}

impl Yard {
    /// A task writes files and says that it failed: what it did lands when it is asked for. What that took, and what
    /// taking it back and bringing it back again.
    async fn round(&mut self, number: usize) -> Result<(Duration, [Duration; 2]), CliError> {
        let title = format!("files {number}");
        self.talker.say(title.clone()).await?;
        let task = self.ended(&title).await?;
        let client = self.plane.client();
        let begun = Instant::now();
        let path = format!("/admin/v1/tasks/{}/keep", task.id);
        let kept: Vec<FileChangeView> = client.post(&path, &json!({})).await?;
        let land = begun.elapsed();
        if kept.len() != FILES {
            return Err(broken(format!("{} of {FILES} files landed", kept.len())));
        }
        let mut undo = [Duration::ZERO; 2];
        for time in &mut undo {
            let begun = Instant::now();
            let path = format!("/admin/v1/tasks/{}/undo", task.id);
            let _undone: UndoView = client.post(&path, &UndoTask { dry_run: false }).await?;
            *time = begun.elapsed();
        }
        Ok((land, undo))
    }

    async fn ended(&self, title: &str) -> Result<TaskView, CliError> {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let path = format!("/admin/v1/tasks?user={}", self.user);
            let tasks: Vec<TaskView> = self.plane.client().get(&path).await?;
            let task = tasks.into_iter().find(|task| task.title == title);
            if let Some(task) = task.filter(|task| task.state == TaskState::Failed) {
                let path = format!("/admin/v1/tasks/{}/files", task.id);
                let files: TaskFiles = self.plane.client().get(&path).await?;
                if files.state == "kept" {
                    return Ok(task);
                }
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(broken(format!("the task {title:?} did not end in time")))
    }
}

fn reply(received: &Received) -> Option<Reply> {
    let (tools, asked) = (received.tool_names(), received.last_user_text());
    let number = || {
        let (_, rest) = asked.split_once("files ")?;
        Some(rest.chars().take_while(char::is_ascii_digit).collect::<String>())
    };
    let is_first = received.tool_results().is_empty();
    if tools.contains(&"delegate") {
        if asked.starts_with("[task report]") || !is_first {
            return Some(Reply::text("So it is."));
        }
        let title = format!("files {}", number()?);
        return Some(Reply::tool_call("delegate", json!({"title": title, "instructions": title})));
    }
    if !is_first {
        let arguments = json!({"result": "kept apart", "ok": false});
        return Some(Reply::tool_call("finish", arguments));
    }
    let command = format!(
        "mkdir r{0} && cd r{0} && for i in $(seq {FILES}); do echo a small file, number $i > f$i; done",
        number()?
    );
    Some(Reply::tool_call("bash", json!({"command": command})))
}

/// As many files of the same size, moved from one folder to another and on disk.
fn by_hand(
    place: &Path,
    carry: impl Fn(&Path, &Path) -> std::io::Result<()>,
) -> Result<Duration, CliError> {
    let work = || {
        let (from, to) = (place.join("from"), place.join("to"));
        for dir in [&from, &to] {
            std::fs::create_dir_all(dir)?;
        }
        for number in 1..=FILES {
            std::fs::write(
                from.join(format!("f{number}")),
                format!("a small file, number {number}\n"),
            )?;
        }
        rustix::fs::syncfs(File::open(&from)?)?;
        let begun = Instant::now();
        for number in 1..=FILES {
            let name = format!("f{number}");
            carry(&from.join(&name), &to.join(&name))?;
        }
        rustix::fs::syncfs(File::open(&to)?)?;
        let took = begun.elapsed();
        std::fs::remove_dir_all(place)?;
        std::io::Result::Ok(took)
    };
    work().map_err(CliError::io("files could not be moved by hand"))
}

/// Large files that take next to nothing, as they come from before.
pub(super) fn fill(files: &Path) -> std::io::Result<()> {
    let folder = files.join("untouched");
    std::fs::create_dir_all(&folder)?;
    for number in 0..BIG_FILES {
        File::create(folder.join(format!("big-{number}")))?.set_len(BIG_BYTES)?;
    }
    Ok(())
}
