//! The life of one account: come back as its device, compare rooms, read what was missed, then follow.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use cloister_kit::{Attachment, Handover, Plane, PlaneError, Standing};
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{Connector, Connectors, LastHeard, NoteReconciled};
use matrix_sdk::config::SyncToken;
use matrix_sdk::ruma::api::client::sync::sync_events::v3;
use matrix_sdk::ruma::{OwnedRoomId, RoomId};
use matrix_sdk::store::StateStoreDataKey;
use matrix_sdk::sync::SyncResponse;
use matrix_sdk::{Client, RoomState};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::handover::RoomWork;
use super::news::{self, Gap, RoomNews, Until};
use super::{filter_for_once, helpers, settings};
use crate::bot::{Bot, BotSettings};
use crate::session::credentials::Credentials;
use crate::session::fault::{Fault, in_short};
use crate::session::{login, verification};
use cloister_protocol::surface::options::MatrixOptions;

/// How long a whole account may take to be read for the first time, or after a long time.
const LONG_READ: Duration = Duration::from_secs(120);
/// A server that answers this quickly with nothing, this often, does not hold syncs back.
const QUICK: Duration = Duration::from_millis(500);
const QUICK_ANSWERS: u32 = 5;

#[derive(Clone)]
pub(crate) struct Account {
    pub(crate) plane: Plane,
    pub(crate) options: MatrixOptions,
    pub(crate) data: PathBuf,
    pub(crate) connector: Connector,
    pub(crate) stop: CancellationToken,
    pub(crate) tracker: TaskTracker,
    /// Set as soon as the account can be worked with, reachable or not.
    pub(crate) bot: Arc<OnceLock<Arc<Bot>>>,
}

/// Why a connection ended.
enum Ended {
    Stopped,
    LoggedOut(String),
    /// It is begun anew after this long.
    Lost(Duration),
}

/// Lives from the first connection on.
struct Working {
    _attachment: Attachment,
}

impl Account {
    /// Works until it is stopped or logged out.
    pub(crate) async fn run(&self) {
        let (connector, longest) = (self.connector.clone(), self.options.retry_most());
        let standing = Standing::new(self.plane.clone(), connector, longest);
        standing.starting();
        let Some(bot) = self.open(&standing).await else { return };
        verification::answer_verifications(&bot);
        let work = self.stop.child_token();
        let _ends_with_this = work.clone().drop_guard();
        let mut connection = Connection {
            handover: Handover::new(
                RoomWork::new(Arc::clone(&bot), work.clone()),
                self.tracker.clone(),
            ),
            account: self,
            bot,
            stop: work,
            standing,
            working: None,
        };
        loop {
            match connection.follow().await {
                Ended::Stopped => return,
                Ended::LoggedOut(why) => return logged_out(&connection.standing, &why),
                Ended::Lost(pause) => {
                    tokio::select! {
                        () = self.stop.cancelled() => return,
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
    }

    /// Comes back as the device; none: it can't, or is to stop.
    async fn open(&self, standing: &Standing) -> Option<Arc<Bot>> {
        loop {
            if let Some(bot) = self.bot.get() {
                return Some(Arc::clone(bot));
            }
            match self.restore().await {
                Ok(Restored::Bot(bot)) => {
                    return Some(Arc::clone(self.bot.get_or_init(|| Arc::new(*bot))));
                }
                Ok(Restored::Lost(why)) => {
                    logged_out(standing, why);
                    return None;
                }
                Err(error) => {
                    let pause = standing.lost(("other", &error.chain()), None);
                    tokio::select! {
                        () = self.stop.cancelled() => return None,
                        () = tokio::time::sleep(pause) => {}
                    }
                }
            }
        }
    }

    async fn restore(&self) -> Result<Restored, PlaneError> {
        let Some(credentials) = Credentials::open(&self.plane, self.connector.id).await? else {
            return Ok(Restored::Lost("the account's credentials are not among the secrets"));
        };
        if !login::store_is_there(&credentials, &self.data).await {
            return Ok(Restored::Lost("the keys of the account's device are lost"));
        }
        let place = (self.connector.address.as_str(), self.connector.account.as_str());
        let client =
            login::restore(place, &credentials, &self.data, (&self.options, self.plane.way_out()))
                .await?;
        Ok(Restored::Bot(Box::new(self.bot_of(client, credentials.device_id))))
    }

    pub(crate) fn bot_of(&self, client: Client, device_id: String) -> Bot {
        let kept = serde_json::from_value::<BotSettings>(self.connector.settings.clone());
        let encrypted = kept.map_or(true, |settings| settings.encrypted);
        Bot {
            plane: self.plane.clone(),
            connector: self.connector.clone(),
            settings: BotSettings { encrypted, device_id },
            options: self.options.clone(),
            client,
            server_takes: OnceLock::new(),
            intake: Default::default(),
            sayings: Default::default(),
            speakers: Default::default(),
            devices: Default::default(),
            sending: Default::default(),
            rooms: Default::default(),
            verifications: Default::default(),
            sealed: crate::secrecy::Sealed::default(),
        }
    }
}

enum Restored {
    Bot(Box<Bot>),
    /// It can't come back by itself, and why.
    Lost(&'static str),
}

struct Connection<'a> {
    account: &'a Account,
    bot: Arc<Bot>,
    handover: Handover<RoomWork>,
    stop: CancellationToken,
    standing: Standing,
    working: Option<Working>,
}

impl Connection<'_> {
    async fn follow(&mut self) -> Ended {
        match self.catch_up().await {
            Ok(since) => self.read_on(since).await,
            Err(ended) => ended,
        }
    }

    /// Reads once, compares rooms the first time, and hands over what was missed. Says how far the SDK is.
    async fn catch_up(&mut self) -> Result<String, Ended> {
        let before = self.sdk_position().await?;
        let ours = self.our_position().await?;
        let hold = if before.is_some() { Duration::ZERO } else { LONG_READ };
        let mut forgotten = false;
        let first = match self.read(settings(hold)).await? {
            Ok(first) => first,
            Err(Fault::BadPosition) => {
                forgotten = true;
                let anew = settings(LONG_READ).token(SyncToken::NoToken);
                self.read(anew).await?.map_err(|fault| self.failed(&fault))?
            }
            Err(fault) => return Err(self.failed(&fault)),
        };
        self.begin_working().await?;
        let position = first.next_batch.clone();
        let mut news = match ours {
            None => Vec::new(),
            Some(_) if forgotten => self.since_last_heard().await?,
            Some(ours) if before.as_deref() == Some(&ours) => {
                news::of_response(&self.bot.client, first, Some(&ours))
            }
            Some(ours) => self.ask_again(&ours).await?,
        };
        let invited = self.bot.client.invited_rooms().into_iter();
        let known: Vec<OwnedRoomId> = news.iter().map(|n| n.room.room_id().to_owned()).collect();
        let invited = invited.filter(|room| !known.iter().any(|id| id == room.room_id()));
        news.extend(invited.map(RoomNews::invitation));
        self.handover.begin(position.clone(), news).await;
        self.standing.heard();
        Ok(position)
    }

    /// Follows the server until something is wrong.
    async fn read_on(&mut self, mut since: String) -> Ended {
        let mut quick_answers = 0;
        loop {
            let asked = Instant::now();
            let hold = self.account.options.sync_timeout();
            let response = match self.read(settings(hold)).await {
                Err(ended) => return ended,
                Ok(Err(fault)) => return self.failed(&fault),
                Ok(Ok(response)) => response,
            };
            self.standing.heard();
            if response.next_batch == since && asked.elapsed() < QUICK {
                quick_answers += 1;
            } else {
                quick_answers = 0;
            }
            let position = response.next_batch.clone();
            let news = news::of_response(&self.bot.client, response, Some(&since));
            self.handover.begin(position.clone(), news).await;
            since = position;
            if quick_answers >= QUICK_ANSWERS {
                tokio::select! {
                    () = self.stop.cancelled() => return Ended::Stopped,
                    () = tokio::time::sleep(Duration::from_secs(1)) => {}
                }
            }
        }
    }

    /// One sync by the SDK. It is never dropped half way but at a stop: what it has read it has counted as
    /// read.
    async fn read(
        &mut self,
        settings: matrix_sdk::config::SyncSettings,
    ) -> Result<Result<SyncResponse, Fault>, Ended> {
        let reading = Box::pin(self.bot.client.sync_once(settings));
        tokio::select! {
            () = self.stop.cancelled() => Err(Ended::Stopped),
            read = reading => Ok(read.map_err(|error| Fault::of(&error, self.now_ms()))),
        }
    }

    fn now_ms(&self) -> i64 {
        self.account.plane.now_ms()
    }

    fn failed(&mut self, fault: &Fault) -> Ended {
        match fault {
            Fault::LoggedOut(why) => Ended::LoggedOut(why.clone()),
            Fault::Wait(wait) => {
                Ended::Lost(self.standing.lost(("rate_limited", "it asks to wait"), Some(*wait)))
            }
            Fault::BadPosition => {
                Ended::Lost(self.standing.lost(("other", "it forgot how far was read"), None))
            }
            Fault::Passing { kind, why } => Ended::Lost(self.standing.lost((kind, why), None)),
        }
    }

    fn trouble(&mut self, error: &PlaneError) -> Ended {
        Ended::Lost(self.standing.lost(("other", &error.chain()), None))
    }

    /// Where the SDK begins its next sync.
    async fn sdk_position(&mut self) -> Result<Option<String>, Ended> {
        let kept = self.bot.client.state_store().get_kv_data(StateStoreDataKey::SyncToken).await;
        match kept {
            Ok(kept) => Ok(kept.and_then(|kept| kept.into_sync_token())),
            Err(error) => {
                let why = format!("its store failed: {error}");
                Err(Ended::Lost(self.standing.lost(("other", &why), None)))
            }
        }
    }

    /// Up to where everything is stored.
    async fn our_position(&mut self) -> Result<Option<String>, Ended> {
        let known = self.account.plane.call(Connectors {}).await;
        let mut known = known.map_err(|error| self.trouble(&error))?.into_iter();
        let account = &self.account.connector.account;
        match known.find(|connector| connector.account == *account) {
            Some(connector) => Ok(connector.position),
            None => {
                let message = format!("there is no account {account} any more");
                Err(self.trouble(&PlaneError::refused(ErrorCode::NotFound, message)))
            }
        }
    }

    /// Asks for everything since a position once more, past the SDK: it has counted it as read.
    async fn ask_again(&mut self, ours: &str) -> Result<Vec<RoomNews>, Ended> {
        let mut request = v3::Request::new();
        request.since = Some(ours.to_owned());
        // After the SDK's own sync, and not from memory: it covers all that the SDK has counted as read.
        request.filter = Some(filter_for_once(self.now_ms()));
        request.timeout = Some(Duration::ZERO);
        let client = self.bot.client.clone();
        let patient = client.request_config().timeout(LONG_READ);
        let asked = client.send(request).with_request_config(patient);
        let answer = tokio::select! {
            () = self.stop.cancelled() => return Err(Ended::Stopped),
            answer = asked => answer,
        };
        match answer {
            Ok(response) => Ok(news::of_raw(&client, response, ours).await),
            Err(error) => match Fault::of_http(&error, self.now_ms()) {
                Fault::BadPosition => {
                    let why = in_short(&error);
                    tracing::warn!(
                        why,
                        "the homeserver forgot how far was read; looking room by room"
                    );
                    self.since_last_heard().await
                }
                fault => Err(self.failed(&fault)),
            },
        }
    }

    /// What was said in every known room since something was last heard there.
    async fn since_last_heard(&mut self) -> Result<Vec<RoomNews>, Ended> {
        let heard = self.account.plane.call(LastHeard { connector: self.bot.id() }).await;
        let heard = heard.map_err(|error| self.trouble(&error))?;
        let look = |(room, at): (String, i64)| {
            let room = self.bot.client.get_room(<&RoomId>::try_from(room.as_str()).ok()?)?;
            let gap = Gap { from: None, until: Until::HeardAt(at) };
            (room.state() == RoomState::Joined).then(|| RoomNews::missed(room, gap))
        };
        Ok(heard.into_iter().filter_map(look).collect())
    }

    /// Compares rooms before anything is said or heard, then lets the outbox flow.
    async fn begin_working(&mut self) -> Result<(), Ended> {
        if self.working.is_some() {
            return Ok(());
        }
        let reconciling = Box::pin(self.bot.comparison().reconcile());
        let report = tokio::select! {
            () = self.stop.cancelled() => return Err(Ended::Stopped),
            report = reconciling => report.map_err(|error| self.trouble(&error))?,
        };
        self.bot.plane.tell(NoteReconciled { connector: self.bot.id(), report });
        if let Ok(most) = self.bot.client.load_or_fetch_max_upload_size().await {
            // It was set by an earlier connection.
            self.bot.server_takes.set(u64::from(most)).ok();
        }
        let tracker = &self.account.tracker;
        tracker.spawn(helpers::keep_rooms(Arc::clone(&self.bot), self.stop.clone()));
        let (bot, stop) = (Arc::clone(&self.bot), self.stop.clone());
        tracker.spawn(helpers::keep_reading(bot, tracker.clone(), stop));
        let surface = Arc::clone(&self.bot);
        self.working = Some(Working { _attachment: self.account.plane.attach(surface) });
        Ok(())
    }
}

/// It can't go on before an operator has done something.
fn logged_out(standing: &Standing, why: &str) {
    let how = "add it again with `cloister matrix add` (its rooms and chats stay)";
    standing.stopped_by(&format!("{why}: {how}"));
}
