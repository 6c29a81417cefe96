//! A person with a Discord client: it shows them what they may see and nothing else.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::people::{self, Letter, Use};
use super::seen::{self, Seen};
use super::state::{DM, Id, PUBLIC_THREAD, Shared, State};
use super::{BotAccount, channels, events, messages};

/// How long a person waits for anything.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Clone)]
pub struct Person {
    shared: Arc<Shared>,
    id: Id,
}

/// How a bot answered a press or a command.
#[derive(Clone, Debug)]
pub struct Reacted {
    /// The kind of the first answer: 4 a message, 5 later, 6 and 7 on the message itself.
    pub kind: u8,
    /// The message that is the answer; none where it is on the message that was pressed.
    pub message: Option<Seen>,
    /// Messages after the first.
    pub followups: Vec<Seen>,
}

impl Reacted {
    pub fn text(&self) -> String {
        let all = self.message.iter().chain(&self.followups);
        all.map(Seen::text).collect::<Vec<_>>().join("\n")
    }

    /// Whether nobody else was shown any of it.
    pub fn is_ephemeral(&self) -> bool {
        self.message.iter().chain(&self.followups).all(|message| message.ephemeral)
    }
}

impl Person {
    pub(super) fn new(shared: Arc<Shared>, id: Id) -> Self {
        Self { shared, id }
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn mention(&self) -> String {
        format!("<@{}>", self.id)
    }

    fn act<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let done = act(&mut self.shared.state());
        self.shared.stir();
        done
    }

    /// The direct channel with a bot.
    pub fn dm(&self, bot: &BotAccount) -> u64 {
        self.act(|state| state.dm_of(self.id, bot.user_id))
    }

    /// Writes something; the id of the message.
    #[track_caller]
    pub fn send(&self, channel: u64, letter: Letter) -> u64 {
        self.act(|state| {
            assert!(state.can_see(self.id, channel), "{} can't write there", self.id);
            people::write(&self.shared, state, self.id, channel, letter)
        })
    }

    #[track_caller]
    pub fn say(&self, channel: u64, text: &str) -> u64 {
        self.send(channel, Letter::text(text))
    }

    #[track_caller]
    pub fn reply(&self, channel: u64, to: u64, text: &str) -> u64 {
        self.send(channel, Letter::text(text).replying(to))
    }

    #[track_caller]
    pub fn edit(&self, message: u64, text: &str) {
        self.act(|state| {
            let own = state.messages.get(&message).is_some_and(|known| known.author == self.id);
            assert!(own, "only one's own words are edited");
            people::rewrite(state, message, text);
        });
    }

    /// The service tells of a message again without that its words changed: a link got its preview.
    pub fn preview(&self, message: u64) {
        self.act(|state| events::message(state, message, "MESSAGE_UPDATE"));
    }

    pub fn delete(&self, message: u64) {
        self.act(|state| messages::remove(state, message));
    }

    pub fn close_dms(&self) {
        self.closed(true);
    }

    pub fn open_dms(&self) {
        self.closed(false);
    }

    fn closed(&self, closed: bool) {
        self.act(|state| {
            if let Some(user) = state.users.get_mut(&self.id) {
                user.closed = closed;
            }
        });
    }

    /// Begins a public thread, from a message or by itself.
    pub fn start_thread(&self, channel: u64, from: Option<u64>, name: &str) -> u64 {
        self.act(|state| channels::begin(state, self.id, channel, from, name, PUBLIC_THREAD))
    }

    pub fn rename_thread(&self, thread: u64, name: &str) {
        self.act(|state| {
            if let Some(thread) = state.channels.get_mut(&thread) {
                name.clone_into(&mut thread.name);
            }
            events::channel(state, thread, "THREAD_UPDATE");
        });
    }

    pub fn archive_thread(&self, thread: u64, archived: bool) {
        self.act(|state| {
            if let Some(thread) = state.channels.get_mut(&thread) {
                thread.archived = archived;
            }
            events::channel(state, thread, "THREAD_UPDATE");
        });
    }

    /// What the client shows of a channel, oldest first.
    pub fn messages(&self, channel: u64) -> Vec<Seen> {
        let state = self.shared.state();
        if !state.can_see(self.id, channel) {
            return Vec::new();
        }
        let shown = state.messages.values().filter(|message| {
            message.channel == channel && message.only_for.is_none_or(|whom| whom == self.id)
        });
        shown.map(|message| seen::of(&state, message)).collect()
    }

    /// What others wrote there.
    pub fn heard(&self, channel: u64) -> Vec<Seen> {
        let mut all = self.messages(channel);
        all.retain(|message| message.author != self.id && !message.thinking);
        all
    }

    /// Whether a bot was ever seen writing in a channel.
    pub fn saw_typing(&self, channel: u64) -> bool {
        let state = self.shared.state();
        state.typing.iter().any(|(place, _, _)| *place == channel)
    }

    /// Waits until something is so.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut changed = self.shared.changed.subscribe();
        let waiting = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                // Times run out without anything changing.
                timeout(Duration::from_millis(100), changed.changed()).await.ok();
            }
        };
        match timeout(PATIENCE, waiting).await {
            Ok(found) => found,
            Err(_late) => panic!("never: {what}; complaints: {:?}", self.shared.state().complaints),
        }
    }

    /// A message of somebody else that fits.
    pub async fn wait_for(&self, channel: u64, what: &str, fits: impl Fn(&Seen) -> bool) -> Seen {
        let mut changed = self.shared.changed.subscribe();
        let waiting = async {
            loop {
                if let Some(seen) = self.heard(channel).into_iter().find(|seen| fits(seen)) {
                    return seen;
                }
                timeout(Duration::from_millis(200), changed.changed()).await.ok();
            }
        };
        match timeout(PATIENCE, waiting).await {
            Ok(seen) => seen,
            Err(_late) => {
                let heard: Vec<String> = self.heard(channel).iter().map(Seen::text).collect();
                let complaints = self.shared.state().complaints.clone();
                panic!("never heard {what}; heard {heard:#?}; complaints: {complaints:#?}")
            }
        }
    }

    /// A message of somebody else that says exactly this.
    pub async fn wait_for_text(&self, channel: u64, text: &str) -> Seen {
        self.wait_for(channel, &format!("{text:?}"), |seen| seen.text() == text).await
    }

    /// A message of somebody else that has this in it.
    pub async fn wait_for_words(&self, channel: u64, words: &str) -> Seen {
        self.wait_for(channel, &format!("…{words:?}…"), |seen| seen.text().contains(words)).await
    }

    /// Says something and waits for a new message that has this in it.
    pub async fn ask(&self, channel: u64, text: &str, expected: &str) -> Seen {
        let before: Vec<u64> = self.heard(channel).iter().map(|seen| seen.id).collect();
        self.say(channel, text);
        let fits = |seen: &Seen| !before.contains(&seen.id) && seen.text().contains(expected);
        self.wait_for(channel, &format!("{expected:?} as an answer to {text:?}"), fits).await
    }

    /// Presses a button that the client shows; the interaction.
    #[track_caller]
    pub fn press(&self, message: &Seen, label: &str) -> u64 {
        let labels: Vec<&str> = message.buttons.iter().map(|b| b.label.as_str()).collect();
        let Some(button) = message.button(label) else {
            panic!("there is no button {label:?} on it, but {labels:?}")
        };
        assert!(!button.disabled, "{label:?} can't be pressed");
        self.press_raw(message.channel, message.id, &button.custom_id)
    }

    /// Presses what no client would let them press: any text, on any message, anywhere.
    pub fn press_raw(&self, channel: u64, message: u64, custom_id: &str) -> u64 {
        self.act(|state| {
            let bot = state.messages.get(&message).map_or(0, |message| message.author);
            let data = json!({"id": 1, "custom_id": custom_id, "component_type": 2});
            let name = "button".to_owned();
            let on = Some(message);
            people::interact(state, Use { by: self.id, bot, channel, kind: 3, name, data, on })
        })
    }

    /// The commands that the client offers in a channel.
    pub fn offered(&self, channel: u64, bot: &BotAccount) -> Vec<Value> {
        let state = self.shared.state();
        let dm = state.channels.get(&channel).is_some_and(|channel| channel.kind == DM);
        let context = if dm { 1 } else { 0 };
        let known = state.bot(bot.user_id).map(|bot| bot.commands.clone()).unwrap_or_default();
        let fits = |command: &Value| match command["contexts"].as_array() {
            Some(contexts) => contexts.iter().any(|known| *known == context),
            None => !dm || command["dm_permission"] != false,
        };
        known.into_iter().filter(fits).collect()
    }

    #[track_caller]
    fn command(&self, channel: u64, bot: &BotAccount, name: &str) -> Value {
        let offered = self.offered(channel, bot);
        let names: Vec<&str> = offered.iter().filter_map(|c| c["name"].as_str()).collect();
        match offered.iter().find(|command| command["name"] == name) {
            Some(command) => command.clone(),
            None => panic!("the client offers no /{name}, but {names:?}"),
        }
    }

    /// Uses a slash command with these options; the interaction.
    #[track_caller]
    pub fn slash(&self, channel: u64, bot: &BotAccount, name: &str, with: &[(&str, &str)]) -> u64 {
        let command = self.command(channel, bot, name);
        let options = command["options"].as_array().cloned().unwrap_or_default();
        for option in options.iter().filter(|option| option["required"] == true) {
            let given = with.iter().any(|(name, _)| option["name"] == *name);
            assert!(given, "/{name} needs {}", option["name"]);
        }
        let given: Vec<Value> =
            with.iter().map(|(option, value)| filled(&options, name, option, value)).collect();
        let data = json!({"id": command["id"], "name": name, "type": 1, "options": given});
        let (bot, name) = (bot.user_id, name.to_owned());
        let made = Use { by: self.id, bot, channel, kind: 2, name, data, on: None };
        self.act(|state| people::interact(state, made))
    }

    /// What the client offers while an option is being typed: labels and values.
    pub async fn complete(
        &self,
        channel: u64,
        bot: &BotAccount,
        name: &str,
        option: &str,
        typed: &str,
    ) -> Vec<(String, String)> {
        let command = self.command(channel, bot, name);
        let options = command["options"].as_array().cloned().unwrap_or_default();
        let mut field = filled(&options, name, option, typed);
        let known = options.iter().find(|known| known["name"] == option);
        assert!(known.is_some_and(|known| known["autocomplete"] == true), "nothing completes it");
        field["focused"] = json!(true);
        let data = json!({"id": command["id"], "name": name, "type": 1, "options": [field]});
        let (bot, name) = (bot.user_id, name.to_owned());
        let made = Use { by: self.id, bot, channel, kind: 4, name, data, on: None };
        let id = self.act(|state| people::interact(state, made));
        self.until("choices", |person| {
            let state = person.shared.state();
            let known = state.interactions.get(&id)?;
            known.answered.map(|_| known.choices.clone())
        })
        .await
    }

    /// How an interaction was answered; none: the client says that the application did not respond.
    pub async fn outcome(&self, interaction: u64) -> Option<Reacted> {
        self.until("the interaction is answered", |person| {
            let state = person.shared.state();
            let known = state.interactions.get(&interaction)?;
            let Some(kind) = known.answered else {
                let late = known.made.elapsed() > state.settings.answer_within;
                return late.then_some(None);
            };
            let seen = |id: &Id| {
                let message = state.messages.get(id)?;
                let mine = message.only_for.is_none_or(|whom| whom == person.id);
                mine.then(|| seen::of(&state, message))
            };
            let message = known.original.as_ref().and_then(seen);
            if message.as_ref().is_some_and(|message| message.thinking) {
                return None;
            }
            let message = message.filter(|_| !matches!(kind, 6 | 7));
            let followups = known.followups.iter().filter_map(seen).collect();
            Some(Some(Reacted { kind, message, followups }))
        })
        .await
    }

    /// The answer to an interaction, which must come.
    pub async fn answer(&self, interaction: u64) -> Reacted {
        match self.outcome(interaction).await {
            Some(reacted) => reacted,
            None => panic!("the application did not respond"),
        }
    }

    /// What is said to an interaction, which must be something: the answer, or the first message after it.
    pub async fn told(&self, interaction: u64) -> Seen {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            let reacted = self.answer(interaction).await;
            let said = reacted.message.into_iter().chain(reacted.followups).next();
            if let Some(said) = said {
                return said;
            }
            assert!(tokio::time::Instant::now() < deadline, "nothing was said to it");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Uses a command and waits for its answer.
    pub async fn use_command(
        &self,
        channel: u64,
        bot: &BotAccount,
        name: &str,
        with: &[(&str, &str)],
    ) -> Reacted {
        self.answer(self.slash(channel, bot, name, with)).await
    }
}

/// An option as the client sends it.
#[track_caller]
fn filled(options: &[Value], command: &str, name: &str, value: &str) -> Value {
    let known = options.iter().find(|option| option["name"] == name);
    let names: Vec<&Value> = options.iter().map(|option| &option["name"]).collect();
    let Some(known) = known else { panic!("/{command} has no option {name:?}, but {names:?}") };
    let kind = known["type"].as_u64().unwrap_or(3);
    let value = match kind {
        4 => value.parse::<i64>().map_or(json!(value), |number| json!(number)),
        5 => json!(value == "true"),
        10 => value.parse::<f64>().map_or(json!(value), |number| json!(number)),
        _ => json!(value),
    };
    json!({"name": name, "type": kind, "value": value})
}
