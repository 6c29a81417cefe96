//! `cloister user export` and `cloister user erase`: what is a person's goes with them, or goes away.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloister_protocol::admin::{
    ChatView, Erase, Erased, Line, PersonalFilePart, PersonalInventory, PersonalRecords,
};
use cloister_protocol::{ErrorCode, UserName};
use serde::Serialize;

use super::{Context, audit, questions};
use crate::client::Client;
use crate::connection::percent_encode;
use crate::output::CliError;

const README: &str = "\
What Cloister keeps of one person.

chats/        what was said, as text
files/        the workspace: identity, memory, skills, notes, files of the chats (history.db is the agent's own
              journal of a chat, an SQLite database)
records/      every row of the control plane's database that is theirs, one JSON object per line; secrets are
              listed by name, their values are not handed out
audit.jsonl   their audit chain with what proves it: `cloister audit verify --export audit.jsonl`
left-out.txt  what was found in the workspace and is no file: links, devices
";

#[derive(Serialize)]
struct Exported<'a> {
    user: &'a UserName,
    out: &'a Path,
    files: usize,
    records: u64,
}

pub(super) async fn export(
    context: &Context,
    client: &Client,
    name: &UserName,
    out: &Path,
) -> Result<(), CliError> {
    let data = format!("/admin/v1/users/{name}/data");
    let inventory: PersonalInventory = client.get(&data).await?;
    private_dir(out)?;
    if std::fs::read_dir(out).is_ok_and(|mut names| names.next().is_some()) {
        let message = format!("{} is not empty", out.display());
        return Err(CliError::new(ErrorCode::Conflict, message).fix("name a new directory"));
    }
    write(&out.join("README.txt"), README.as_bytes())?;
    write(&out.join("left-out.txt"), inventory.left_out.join("\n").as_bytes())?;
    transcripts(client, name, &out.join("chats")).await?;
    let mut records = 0;
    for kind in &inventory.records {
        records += save_records(client, &data, kind, &out.join("records")).await?;
    }
    for path in &inventory.files {
        save_file(client, &data, path, &out.join("files")).await?;
    }
    let chain = format!("/admin/v1/users/{name}/audit/export");
    audit::export(client, &chain, &out.join("audit.jsonl")).await?;
    let done = Exported { user: name, out, files: inventory.files.len(), records };
    context.output.result(&done, || {
        format!(
            "{} has all that is {name}'s: {} files, {records} records, the chats and the audit.",
            out.display(),
            done.files
        )
    })
}

async fn transcripts(client: &Client, name: &UserName, dir: &Path) -> Result<(), CliError> {
    private_dir(dir)?;
    let chats: Vec<ChatView> = client.get(&format!("/admin/v1/users/{name}/chats")).await?;
    for chat in chats {
        let path = format!("/admin/v1/users/{name}/chats/{}?last=10000", chat.id);
        let lines: Vec<Line> = client.get(&path).await?;
        let mut text = format!("# {} {}\n", chat.id, chat.title);
        for line in lines {
            text.push_str(&format!("\n**{}** ({})\n\n{}\n", line.from, line.at, line.text));
        }
        write(&dir.join(format!("{}.md", chat.id)), text.as_bytes())?;
    }
    Ok(())
}

async fn save_records(
    client: &Client,
    data: &str,
    kind: &str,
    dir: &Path,
) -> Result<u64, CliError> {
    private_dir(dir)?;
    let (mut from, mut count, mut file) = (Some(0), 0, None);
    while let Some(at) = from {
        let path = format!("{data}/records?kind={}&from={at}", percent_encode(kind));
        let part: PersonalRecords = client.get(&path).await?;
        for record in &part.records {
            let path = dir.join(format!("{}.jsonl", cloister_control::files::safe_name(kind)));
            let failed = format!("{} could not be written", path.display());
            let file: &mut File = match &mut file {
                Some(file) => file,
                none => none.insert(create(&path)?),
            };
            writeln!(file, "{record}").map_err(CliError::io(failed))?;
            count += 1;
        }
        from = part.next;
    }
    Ok(count)
}

async fn save_file(client: &Client, data: &str, path: &str, dir: &Path) -> Result<(), CliError> {
    // The other side says what the path is; here it stays below the directory.
    let below = Path::new(path);
    if !below.components().all(|part| matches!(part, Component::Normal(_))) {
        let message = format!("{path:?} is not a path inside a workspace");
        return Err(CliError::new(ErrorCode::BadRequest, message));
    }
    let target = dir.join(below);
    private_dir(target.parent().unwrap_or(dir))?;
    let mut file = create(&target)?;
    let mut from = Some(0);
    while let Some(at) = from {
        let url = format!("{data}/file?path={}&from={at}", percent_encode(path));
        let part: PersonalFilePart = match client.get(&url).await {
            // It was deleted since it was listed.
            Err(error) if error.body.code == ErrorCode::NotFound => return Ok(()),
            part => part?,
        };
        let failed = format!("{} could not be written", target.display());
        let bytes = STANDARD.decode(&part.base64).map_err(|error| {
            CliError::new(ErrorCode::Internal, format!("{path:?} came garbled: {error}"))
        })?;
        file.write_all(&bytes).map_err(CliError::io(failed))?;
        from = part.next;
    }
    Ok(())
}

pub(super) async fn erase(
    context: &Context,
    client: &Client,
    name: &UserName,
    yes: bool,
    why: String,
) -> Result<(), CliError> {
    if !yes {
        confirm(name)?;
    }
    let asked = Erase { confirm: name.to_string(), why };
    let done: Erased = client.post(&format!("/admin/v1/users/{name}/erase"), &asked).await?;
    context.output.result(&done, || {
        format!(
            "{name} is gone: {} records, the workspace, the secrets. The content of {} audit entries was \
             erased; the chain is whole.",
            done.records, done.audit_entries
        )
    })
}

fn confirm(name: &UserName) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() {
        let message = "erasing a person can't be undone, and nobody is here to confirm it";
        return Err(CliError::new(ErrorCode::Refused, message).fix("say it with --yes"));
    }
    let question = format!(
        "This erases all of {name}: chats, files, memory, tasks, secrets. It can't be undone.\n\
         Type the name to go on: "
    );
    if questions::ask(&question)? == name.as_str() {
        Ok(())
    } else {
        Err(CliError::new(ErrorCode::Cancelled, "that is not the name: nothing was erased"))
    }
}

fn private_dir(dir: &Path) -> Result<(), CliError> {
    let failed = format!("{} could not be made", dir.display());
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(CliError::io(failed))
}

/// A new file that only this account may read.
pub(super) fn create(path: &Path) -> Result<File, CliError> {
    let failed = format!("{} could not be made", path.display());
    let made = File::options().write(true).create_new(true).mode(0o600).open(path);
    made.map_err(CliError::io(failed))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let failed = format!("{} could not be written", path.display());
    create(path)?.write_all(bytes).map_err(CliError::io(failed))
}
