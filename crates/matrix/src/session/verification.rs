//! Verification by emoji, begun in a person's client.
//!
//! Only people who are known are answered. The account has no eyes: it shows the emoji in the person's room,
//! in the log and in its status, and confirms its own side. What protects is that the person, or the operator
//! at the terminal, compares. So nothing is allowed to anyone here for being verified.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use cloister_kit::{PlaneError, part};
use cloister_protocol::surface::{
    AccountsOf, ConversationKind, Conversations, IsKnown, OnceAWhile, SendError, WhoIs,
};
use cloister_protocol::with_causes;
use futures_util::StreamExt;
use matrix_sdk::encryption::verification::{
    SasState, SasVerification, Verification, VerificationRequest, VerificationRequestState,
};
use matrix_sdk::ruma::events::key::verification::VerificationMethod;
use matrix_sdk::ruma::events::key::verification::request::ToDeviceKeyVerificationRequestEvent;
use matrix_sdk::ruma::events::room::message::{MessageType, OriginalSyncRoomMessageEvent};
use matrix_sdk::ruma::{OwnedUserId, RoomId, UserId};
use matrix_sdk::{Room, RoomState};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::bot::Bot;

/// How many are answered at once; more have to try again.
const AT_ONCE: usize = 8;
/// How long the person's client may take to begin before the account does.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);
/// How long a person may take to compare.
const COMPARES_WITHIN: Duration = Duration::from_secs(120);
/// How long keys may take to be exchanged.
const EXCHANGED_WITHIN: Duration = Duration::from_secs(60);

/// Verifications that wait for a person to compare: whose, and the emoji.
#[derive(Default)]
pub(crate) struct Running(Mutex<BTreeMap<OwnedUserId, String>>);

impl Running {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<OwnedUserId, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, user: &UserId, emoji: String) -> Shown<'_> {
        self.lock().insert(user.to_owned(), emoji);
        Shown { running: self, user: user.to_owned() }
    }
}

/// Emoji that are shown as long as this lasts.
struct Shown<'a> {
    running: &'a Running,
    user: OwnedUserId,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.running.lock().remove(&self.user);
    }
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("the homeserver did not take it")]
    Sdk(#[from] matrix_sdk::Error),
    #[error("who asks could not be looked up")]
    Plane(#[from] PlaneError),
    #[error("it took too long")]
    TooLong,
    #[error("it was cancelled: {0}")]
    Cancelled(String),
    #[error("it ended before it was done")]
    Ended,
}

/// Answers requests for verification from now on, until the account is dropped.
pub(crate) fn answer_verifications(bot: &Arc<Bot>) {
    let desk = Desk {
        bot: Arc::downgrade(bot),
        tasks: TaskTracker::new(),
        places: Arc::new(Semaphore::new(AT_ONCE)),
    };
    let (in_rooms, direct) = (desk.clone(), desk);
    bot.client.add_event_handler(move |event: ToDeviceKeyVerificationRequestEvent| {
        direct.take(event.sender, event.content.transaction_id.to_string(), None);
        std::future::ready(())
    });
    bot.client.add_event_handler(move |event: OriginalSyncRoomMessageEvent, room: Room| {
        if matches!(event.content.msgtype, MessageType::VerificationRequest(_)) {
            in_rooms.take(event.sender, event.event_id.to_string(), Some(room));
        }
        std::future::ready(())
    });
}

/// How the account stands with the people it knows, for its operator.
pub(crate) async fn facts(bot: &Bot) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    match verified_people(bot).await {
        Ok(count) => facts.push(("verified people".to_owned(), count.to_string())),
        Err(error) => {
            tracing::debug!(error = with_causes(&error), "who is verified could not be read")
        }
    }
    for (user, emoji) in bot.verifications.lock().iter() {
        facts.push((format!("emoji to compare with {user}"), emoji.clone()));
    }
    facts
}

async fn verified_people(bot: &Bot) -> Result<usize, Failure> {
    let rows = bot.plane.call(Conversations { connector: bot.id() }).await?;
    let mut users: Vec<_> = rows.into_iter().filter_map(|row| row.user).collect();
    users.sort_unstable();
    users.dedup();
    let mut count = 0;
    for user in users {
        for account in bot.plane.call(AccountsOf { user }).await? {
            let Ok(id) = UserId::parse(&account) else { continue };
            let known = bot.client.encryption().get_user_identity(&id).await;
            let known = known.map_err(matrix_sdk::Error::from)?;
            count += usize::from(known.is_some_and(|identity| identity.is_verified()));
        }
    }
    Ok(count)
}

/// Takes requests in; each is worked on by itself, so that the sync never waits for a person.
#[derive(Clone)]
struct Desk {
    bot: Weak<Bot>,
    tasks: TaskTracker,
    places: Arc<Semaphore>,
}

impl Desk {
    fn take(&self, user: OwnedUserId, flow: String, room: Option<Room>) {
        let Some(bot) = self.bot.upgrade() else { return };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            tracing::warn!(%user, "too many verifications at once; this one is not answered");
            return;
        };
        self.tasks.spawn(async move {
            let _place = place;
            let stop = bot.plane.stop_token();
            tokio::select! {
                () = stop.cancelled() => {}
                () = bot.verifications().answer(&user, &flow, room) => {}
            }
        });
    }
}

part! {
    /// Verifications by emoji.
    pub(crate) struct Verifications of Bot;
}

impl Verifications {
    async fn answer(&self, user: &UserId, flow: &str, room: Option<Room>) {
        let Some(request) = self.bot.client.encryption().get_verification_request(user, flow).await
        else {
            return;
        };
        if request.is_done() || request.is_cancelled() || request.we_started() {
            return;
        }
        let room = match self.may_verify(user, &request).await {
            Ok(true) => self.room_to_tell(user, room).await,
            Ok(false) => return self.refuse(user, &request, room).await,
            Err(error) => {
                tracing::warn!(%user, error = with_causes(&error), "a verification could not be answered");
                return give_up(&request).await;
            }
        };
        let ended = self.verify(user, &request, room.as_ref()).await;
        if let Err(error) = &ended {
            tracing::warn!(%user, error = with_causes(&error), "a verification by emoji did not succeed");
            give_up(&request).await;
        } else {
            tracing::info!(%user, "verified by emoji; whether they were compared only people know");
        }
        if let Some(room) = room {
            let words = match ended {
                Ok(()) => {
                    "We are verified. If you did not compare the emoji, verify again.".to_owned()
                }
                Err(error) => {
                    format!("The verification did not succeed: {error}. Please try again.")
                }
            };
            self.tell_verification(&room, &format!("verification {flow} ended"), &words).await;
        }
    }

    /// Only people who are known; and no other session of this account, which would be handed its keys.
    async fn may_verify(
        &self,
        user: &UserId,
        request: &VerificationRequest,
    ) -> Result<bool, Failure> {
        if request.is_self_verification() {
            return Ok(false);
        }
        Ok(self.bot.plane.call(IsKnown { account: user.to_string() }).await?)
    }

    async fn refuse(&self, user: &UserId, request: &VerificationRequest, room: Option<Room>) {
        tracing::warn!(%user, "a verification was refused: the account is not known here");
        give_up(request).await;
        let again = OnceAWhile { key: format!("verification {user}") };
        if let Some(room) = room
            && self.bot.plane.call(again).await.unwrap_or(false)
        {
            let words = "I verify only with people who are linked to me. Write `pair` to begin.";
            self.tell_verification(
                &room,
                &format!("verification {} refused", request.flow_id()),
                words,
            )
            .await;
        }
    }

    /// The room of the request, or the first that shows a chat of this person's.
    async fn room_to_tell(&self, user: &UserId, room: Option<Room>) -> Option<Room> {
        if room.is_some() {
            return room;
        }
        let person = self.bot.plane.call(WhoIs { account: user.to_string() }).await.ok()??.user;
        let mut theirs =
            self.bot.plane.call(Conversations { connector: self.bot.id() }).await.ok()?;
        theirs.retain(|one| one.user == Some(person) && !one.shown_archived);
        theirs.sort_by_key(|one| one.kind != ConversationKind::Room);
        theirs
            .into_iter()
            .filter_map(|one| RoomId::parse(one.external_id?).ok())
            .filter_map(|id| self.bot.client.get_room(&id))
            .find(|room| room.state() == RoomState::Joined)
    }

    async fn verify(
        &self,
        user: &UserId,
        request: &VerificationRequest,
        room: Option<&Room>,
    ) -> Result<(), Failure> {
        request.accept_with_methods(vec![VerificationMethod::SasV1]).await?;
        let sas = begin(request).await?;
        if !sas.we_started() {
            sas.accept().await?;
        }
        let emoji = bounded(EXCHANGED_WITHIN, exchanged(&sas)).await?;
        tracing::info!(%user, %emoji, "compare these with what the person's client shows");
        let _shown = self.bot.verifications.show(user, emoji.clone());
        if let Some(room) = room {
            let words = format!(
                "Compare these with what your client shows:\n\n{emoji}\n\nWho runs me can read them \
                 to you from `cloister matrix status`, which is safer: this room is what is being \
                 verified. If they differ, say so in your client."
            );
            self.tell_verification(
                room,
                &format!("verification {} emoji", request.flow_id()),
                &words,
            )
            .await;
        }
        sas.confirm().await?;
        bounded(COMPARES_WITHIN, done(&sas)).await
    }

    async fn tell_verification(&self, room: &Room, key: &str, words: &str) {
        match self.bot.sending().say(room, key, words).await {
            Ok(()) => {}
            Err(SendError::Wait(time)) => {
                tracing::debug!(?time, "a verification could not be told")
            }
            Err(error) => {
                tracing::debug!(error = with_causes(&error), "a verification could not be told")
            }
        }
    }
}

async fn give_up(request: &VerificationRequest) {
    if let Err(error) = request.cancel().await {
        tracing::debug!(error = with_causes(&error), "a verification could not be cancelled");
    }
}

async fn bounded<T>(
    bound: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::time::timeout(bound, work).await.unwrap_or(Err(Failure::TooLong))
}

/// The exchange of emoji, begun by the person's client or, if it waits for us, by us.
async fn begin(request: &VerificationRequest) -> Result<SasVerification, Failure> {
    match tokio::time::timeout(BEGINS_WITHIN, begun(request)).await {
        Ok(sas) => return sas,
        Err(_elapsed) => {
            if let Some(sas) = request.start_sas().await? {
                return Ok(sas);
            }
        }
    }
    bounded(COMPARES_WITHIN, begun(request)).await
}

async fn begun(request: &VerificationRequest) -> Result<SasVerification, Failure> {
    let mut changes = std::pin::pin!(request.changes());
    let mut state = request.state();
    loop {
        match state {
            VerificationRequestState::Transitioned { verification: Verification::SasV1(sas) } => {
                return Ok(sas);
            }
            VerificationRequestState::Cancelled(info) => {
                return Err(Failure::Cancelled(info.reason().to_owned()));
            }
            VerificationRequestState::Done => return Err(Failure::Ended),
            _goes_on => {}
        }
        state = changes.next().await.ok_or(Failure::Ended)?;
    }
}

/// The emoji, each with its name, once keys are exchanged.
async fn exchanged(sas: &SasVerification) -> Result<String, Failure> {
    let mut changes = std::pin::pin!(sas.changes());
    let mut state = sas.state();
    loop {
        match state {
            SasState::KeysExchanged { emojis, decimals } => {
                return Ok(match emojis {
                    Some(emojis) => {
                        let each =
                            emojis.emojis.iter().map(|e| format!("{} {}", e.symbol, e.description));
                        each.collect::<Vec<_>>().join(" · ")
                    }
                    None => format!("{} {} {}", decimals.0, decimals.1, decimals.2),
                });
            }
            SasState::Cancelled(info) => return Err(Failure::Cancelled(info.reason().to_owned())),
            _goes_on => {}
        }
        state = changes.next().await.ok_or(Failure::Ended)?;
    }
}

async fn done(sas: &SasVerification) -> Result<(), Failure> {
    let mut changes = std::pin::pin!(sas.changes());
    let mut state = sas.state();
    loop {
        match state {
            SasState::Done { .. } => return Ok(()),
            SasState::Cancelled(info) => return Err(Failure::Cancelled(info.reason().to_owned())),
            _goes_on => {}
        }
        state = changes.next().await.ok_or(Failure::Ended)?;
    }
}
