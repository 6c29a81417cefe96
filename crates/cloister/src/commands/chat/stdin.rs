//! Standard input as (part of) a message.
//!
//! Alone it is the message. Beside words it goes with them: a short text at their end, anything
//! longer, or that is not text, as a file.

use std::io::{self, IsTerminal};
use std::time::Duration;

use cloister_protocol::{Attachment, MAX_TEXT_BYTES};
use rustix::fs::FileType;
use tokio::io::{AsyncReadExt, Stdin};

use crate::connection::Connection;
use crate::output::{CliError, Output};

/// As much of standard input as stands in the message itself.
const INLINE_BYTES: usize = 64 << 10;
/// After this long without an end, it is said what is being waited for.
const EXPLAIN_AFTER: Duration = Duration::from_secs(2);

/// Words, and what standard input holds besides.
pub(super) async fn add_to(
    words: String,
    connection: &Connection,
    output: Output,
) -> Result<(String, Option<Attachment>), CliError> {
    if !holds_something() {
        return Ok((words, None));
    }
    let mut stdin = tokio::io::stdin();
    let head = read_up_to(&mut stdin, INLINE_BYTES + 1, output).await?;
    if head.is_empty() {
        return Ok((words, None));
    }
    if head.len() <= INLINE_BYTES
        && let Ok(text) = std::str::from_utf8(&head)
    {
        return Ok((format!("{words}\n\n{}", text.trim_end_matches('\n')), None));
    }
    let name = if std::str::from_utf8(&head).is_ok_and(|text| !text.contains('\0')) {
        "stdin.txt"
    } else {
        "stdin.bin"
    };
    let source = io::Cursor::new(head).chain(stdin);
    Ok((words, Some(connection.upload_from(name, source).await?)))
}

/// The whole message.
pub(super) async fn as_message(output: Output) -> Result<String, CliError> {
    if io::stdin().is_terminal() {
        output.remark("Write your message; Ctrl-D on a line of its own sends it.");
    }
    let bytes = read_up_to(&mut tokio::io::stdin(), MAX_TEXT_BYTES + 1, output).await?;
    let text = String::from_utf8(bytes).map_err(|error| {
        CliError::new(
            cloister_protocol::ErrorCode::BadRequest,
            format!("standard input is not text: {}", error.utf8_error()),
        )
        .fix("send it as a file: `cloister chat --file FILE \"what to do with it\"`")
    })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// Whether somebody put something there: a pipe, a file, a socket; not a terminal or `/dev/null`.
fn holds_something() -> bool {
    let Ok(stat) = rustix::fs::fstat(io::stdin()) else { return false };
    matches!(
        FileType::from_raw_mode(stat.st_mode),
        FileType::Fifo | FileType::RegularFile | FileType::Socket
    )
}

async fn read_up_to(stdin: &mut Stdin, most: usize, output: Output) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let mut source = stdin.take(limit);
    let read = source.read_to_end(&mut bytes);
    tokio::pin!(read);
    let done = match tokio::time::timeout(EXPLAIN_AFTER, &mut read).await {
        Ok(done) => done,
        Err(_elapsed) => {
            if !io::stdin().is_terminal() {
                output
                    .remark("waiting for the end of standard input; `< /dev/null` does without it");
            }
            read.await
        }
    };
    done.map_err(CliError::io("standard input could not be read"))?;
    Ok(bytes)
}
