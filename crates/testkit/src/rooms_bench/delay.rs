//! Delays, as a client sees them that only listens.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

use super::{BenchError, Plan};
use crate::synapse::PlainPerson;

/// How long the last answers may take.
const LAST: Duration = Duration::from_secs(60);
/// Answers before the first one that counts: cells start, caches fill.
const WARM_UP: usize = 1;

/// Measured times, sorted.
pub(super) struct Delays(Vec<Duration>);

impl Delays {
    fn at(&self, share: f64) -> Duration {
        let last = self.0.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        self.0.get(index).copied().unwrap_or_default()
    }

    pub(super) fn p50(&self) -> Duration {
        self.at(0.50)
    }

    pub(super) fn p99(&self) -> Duration {
        self.at(0.99)
    }

    pub(super) fn words(&self) -> String {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (p50, p95, p99) = (ms(self.p50()), ms(self.at(0.95)), ms(self.p99()));
        format!("p50 {p50:.1}  p95 {p95:.1}  p99 {p99:.1} ms  n {}", self.0.len())
    }
}

/// Writes into the rooms in turn, at the plan's pace, and listens for the answers of the bot.
pub(super) async fn measure(
    people: &[(PlainPerson, Vec<String>)],
    bot: &str,
    plan: &Plan,
) -> Result<Delays, BenchError> {
    let (stop, stopped) = watch::channel(false);
    let mut listeners = JoinSet::new();
    for (person, _) in people {
        listeners.spawn(listen(person.clone(), bot.to_owned(), stopped.clone()));
    }
    let rooms: Vec<(&PlainPerson, &String)> = people
        .iter()
        .flat_map(|(person, rooms)| rooms.iter().map(move |room| (person, room)))
        .collect();
    let pace = Duration::from_secs_f64(1.0 / plan.per_second.max(0.01));
    let count = rooms.len() * WARM_UP + plan.messages;
    let mut due = tokio::time::Instant::now();
    for (number, (person, room)) in rooms.iter().cycle().take(count).enumerate() {
        sleep_until(due).await;
        due += pace;
        let mark = if number < rooms.len() * WARM_UP { "warm" } else { "measured" };
        person.say(room, &format!("{mark} {number}")).await?;
    }
    sleep(Duration::from_secs(2)).await;
    let until = Instant::now() + LAST;
    stop.send_replace(true);
    let mut delays = Vec::new();
    while let Some(listened) = listeners.join_next().await {
        delays.extend(listened.unwrap_or_default());
        if Instant::now() > until {
            return Err(BenchError::Late("every listener has ended".to_owned()));
        }
    }
    delays.sort_unstable();
    Ok(Delays(delays))
}

/// From each message to the first event of its answer.
async fn listen(
    mut person: PlainPerson,
    bot: String,
    stopped: watch::Receiver<bool>,
) -> Vec<Duration> {
    let mut asked: HashMap<String, Instant> = HashMap::new();
    let mut delays = Vec::new();
    person.take_news();
    while !*stopped.borrow() {
        if person.sync_for(Duration::from_secs(1)).await.is_err() {
            continue;
        }
        let now = Instant::now();
        for (room, post) in person.take_news() {
            if post.sender == bot {
                if let Some(at) = asked.remove(&room) {
                    delays.push(now - at);
                }
            } else if post.text.starts_with("measured") {
                asked.insert(room, now);
            }
        }
    }
    delays
}
