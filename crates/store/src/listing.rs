//! Chats as people find them again: by name or first words, with those they pinned, and by what was said in them.

use cloister_protocol::{AgentId, ChatId, TurnId, WorkspaceId};

use crate::actor::Actor;
use crate::audit;
use crate::chats::{Chat, Chats};
use crate::error::{StoreError, Tried, corrupt};

/// How much of the words that began a chat is read.
const OPENING_CHARS: u32 = 200;

/// How many entries are looked through at a time: each may be as long as a message may be.
const BATCH: u32 = 50;
/// How many different words are looked for.
const MOST_WORDS: usize = 16;
/// How much is read for one search, of what was said and of what was told.
const MOST_BYTES: usize = 32 << 20;

const SAID: &str = "SELECT id, chat, received_at, json_extract(cause, '$.text'), '' FROM inbox \
     WHERE workspace_id = ? AND id < ? AND json_extract(cause, '$.cause') = 'message' ORDER BY id DESC LIMIT ?";
const TOLD: &str = "SELECT id, chat, created_at, coalesce(json_extract(frame, '$.text'), ''), \
     coalesce(json_extract(frame, '$.turn'), '') FROM outbox WHERE workspace_id = ? AND id < ? AND json_extract(frame, '$.type') = 'end' ORDER BY id DESC LIMIT ?";

/// A chat in a list.
#[derive(Clone, Debug)]
pub struct ListedChat {
    pub chat: Chat,
    /// Of its agent; empty: the first one.
    pub agent_name: String,
    /// The first words of a person in it, if it has no name of its own.
    pub opening: Option<String>,
    pub pinned: bool,
    /// Nothing was said in it, and nothing told.
    pub empty: bool,
    /// When something was last said in it, by whomever; when it was made, if nothing was.
    pub used_at: i64,
}

/// As much of the first words as names a chat.
const NAME_CHARS: usize = 60;

impl ListedChat {
    /// What it is called where chats are listed: its name, else the words that began it; empty: nothing was said.
    pub fn called(&self) -> String {
        // One that is called as its agent has no name of its own.
        if !self.chat.title.is_empty() && self.chat.title != self.agent_name {
            return self.chat.title.clone();
        }
        let first = self.opening.as_deref().and_then(|words| words.trim().lines().next());
        let first = first.unwrap_or_default();
        let mut name: String = first.chars().take(NAME_CHARS).collect();
        if name.len() < first.len() {
            name.push('…');
        }
        name
    }
}

/// Something that was said or told, found by its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundWords {
    pub chat: ChatId,
    pub at: i64,
    /// By a person; else by the agent.
    pub said: bool,
    /// The turn that it began, or answered.
    pub turn: TurnId,
    pub text: String,
}

/// What a search came upon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finds {
    pub found: Vec<FoundWords>,
    /// What is older than all that was looked through was left out.
    pub cut: bool,
}

/// What was found in one table.
struct FoundRow {
    id: i64,
    chat: u32,
    at: i64,
    text: String,
    turn: String,
}

struct ListedRow {
    number: u32,
    title: String,
    archived: bool,
    created_at: i64,
    agent: u32,
    agent_name: String,
    opening: Option<String>,
    pinned: bool,
    empty: bool,
    used_at: i64,
}

from_row!(ListedRow {
    number,
    title,
    archived,
    created_at,
    agent,
    agent_name,
    opening,
    pinned,
    empty,
    used_at
});

impl Chats {
    /// The chats of a workspace, oldest first.
    pub async fn listed(&self, workspace: WorkspaceId) -> Result<Vec<ListedChat>, StoreError> {
        let rows: Vec<ListedRow> = sqlx::query_as(
            "SELECT c.number, c.title, c.archived_at IS NOT NULL AS archived, c.created_at, c.agent, \
             coalesce(a.name, '') AS agent_name, \
             CASE WHEN c.title = '' OR c.title = a.name THEN (SELECT substr(json_extract(i.cause, '$.text'), 1, ?1) FROM inbox i \
               WHERE i.workspace_id = c.workspace_id AND i.chat = c.number \
                 AND json_extract(i.cause, '$.cause') = 'message' \
                 AND json_extract(i.cause, '$.text') <> '' \
                 AND substr(json_extract(i.cause, '$.text'), 1, 1) NOT IN ('/', '!') \
               ORDER BY i.id LIMIT 1) END AS opening, \
             c.pinned_at IS NOT NULL AS pinned, \
             NOT EXISTS (SELECT 1 FROM inbox i WHERE i.workspace_id = c.workspace_id AND i.chat = c.number) \
               AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.workspace_id = c.workspace_id AND o.chat = c.number) \
               AS empty, \
             coalesce((SELECT i.received_at FROM inbox i WHERE i.workspace_id = c.workspace_id AND i.chat = c.number \
               ORDER BY i.id DESC LIMIT 1), c.created_at) AS used_at \
             FROM chats c LEFT JOIN agents a ON a.workspace_id = c.workspace_id AND a.number = c.agent \
             WHERE c.workspace_id = ?2 ORDER BY c.number",
        )
        .bind(OPENING_CHARS)
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list chats with their first words")?;
        let listed = |row: ListedRow| ListedChat {
            chat: Chat {
                id: ChatId::from_number(row.number),
                title: row.title,
                archived: row.archived,
                created_at: row.created_at,
                agent: AgentId::from_number(row.agent),
            },
            agent_name: row.agent_name,
            opening: row.opening,
            pinned: row.pinned,
            empty: row.empty,
            used_at: row.used_at,
        };
        Ok(rows.into_iter().map(listed).collect())
    }

    /// Keeps a chat at the top of the list, or no more.
    pub async fn pin_chat(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        chat: ChatId,
        pinned: bool,
    ) -> Result<Chat, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        sqlx::query("UPDATE chats SET pinned_at = ? WHERE workspace_id = ? AND number = ?")
            .bind(pinned.then_some(now))
            .bind(workspace.number())
            .bind(chat.number())
            .execute(&mut *tx)
            .await
            .tried("pin a chat")?;
        let action = if pinned { "chat.pin" } else { "chat.unpin" };
        let entry = audit::Entry::new(actor, action, chat).of_workspace(workspace);
        audit::record(&mut tx, now, entry).await?;
        tx.commit().await.tried("pin a chat")?;
        self.chat(workspace, chat).await
    }

    /// The newest of what was said and told in a workspace with all of these words in it, newest first.
    pub async fn find_words(
        &self,
        workspace: WorkspaceId,
        words: &str,
        count: u32,
    ) -> Result<Finds, StoreError> {
        let wanted = wanted_words(words);
        let (said, said_cut) = self.find_in(SAID, (workspace, &wanted), count).await?;
        let (told, told_cut) = self.find_in(TOLD, (workspace, &wanted), count).await?;
        let mark = |said: bool| {
            move |FoundRow { id, chat, at, text, turn }| {
                let turn = if said { TurnId::of_message(id) } else { TurnId::kept(turn) };
                FoundWords { chat: ChatId::from_number(chat), at, said, turn, text }
            }
        };
        let mut found: Vec<FoundWords> = said.into_iter().map(mark(true)).collect();
        found.extend(told.into_iter().map(mark(false)));
        found.sort_by_key(|found| std::cmp::Reverse(found.at));
        found.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(Finds { found, cut: said_cut || told_cut })
    }

    /// Looks from the newest back, a batch at a time, as far as one search may: databases know capital letters of a
    /// few alphabets, and not the same ones. Also says whether something older was left out.
    async fn find_in(
        &self,
        query: &'static str,
        (workspace, wanted): (WorkspaceId, &[String]),
        count: u32,
    ) -> Result<(Vec<FoundRow>, bool), StoreError> {
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        let (mut found, mut before, mut bytes) = (Vec::new(), i64::MAX, 0_usize);
        loop {
            let batch: Vec<Spoken> = sqlx::query_as(query)
                .bind(workspace.number())
                .bind(before)
                .bind(BATCH)
                .fetch_all(self.store.reader())
                .await
                .tried("look for words that were said or told")?;
            let Some((oldest, ..)) = batch.last() else { return Ok((found, false)) };
            before = *oldest;
            bytes += batch.iter().map(|(_, _, _, text, _)| text.len()).sum::<usize>();
            let (wanted, room) = (wanted.to_vec(), most - found.len());
            // Whoever searches long texts keeps nobody else waiting.
            let fitting = tokio::task::spawn_blocking(move || fitting(batch, &wanted, room)).await;
            found.extend(fitting.map_err(|error| corrupt("what was looked for", error))?);
            if found.len() >= most {
                return Ok((found, false));
            }
            if bytes > MOST_BYTES {
                return Ok((found, true));
            }
        }
    }
}

/// The id, chat, time, text and turn of what was said or told.
type Spoken = (i64, u32, i64, String, String);

/// Those with all of these words in them.
fn fitting(batch: Vec<Spoken>, wanted: &[String], room: usize) -> Vec<FoundRow> {
    let fits = |(id, chat, at, text, turn): Spoken| {
        let words = folded(&text);
        let all = wanted.iter().all(|wanted| words.contains(wanted));
        all.then_some(FoundRow { id, chat, at, text, turn })
    };
    batch.into_iter().filter_map(fits).take(room).collect()
}

/// The words to look for, as they are compared: each once, and no more than anybody needs.
pub fn wanted_words(words: &str) -> Vec<String> {
    let mut wanted: Vec<String> = Vec::new();
    for word in folded(words).split_whitespace() {
        if wanted.len() < MOST_WORDS && !wanted.iter().any(|known| known == word) {
            wanted.push(word.to_owned());
        }
    }
    wanted
}

/// Words without capital letters, in any script. Letter by letter, so that where a word ends changes nothing.
pub fn folded(words: &str) -> String {
    let mut folded = String::with_capacity(words.len());
    words.chars().for_each(|letter| fold_into(&mut folded, letter));
    folded
}

/// Adds a letter as it is compared.
pub fn fold_into(folded: &mut String, letter: char) {
    if letter.is_ascii() {
        folded.push(letter.to_ascii_lowercase());
    } else {
        folded.extend(letter.to_uppercase().flat_map(char::to_lowercase));
    }
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
