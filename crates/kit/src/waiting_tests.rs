use std::collections::HashMap;

use super::*;

/// Places with so much in each that waits.
#[derive(Default)]
struct Fake {
    working: Working,
    waits: Mutex<HashMap<String, u32>>,
    taken: Mutex<Vec<String>>,
    /// Nothing is taken there, and it rests for a day.
    locked: Mutex<Option<String>>,
    slow: Option<&'static str>,
}

impl Waits for Fake {
    const WORK: &'static str = "fake place";

    fn working(&self) -> &Working {
        &self.working
    }

    async fn places(&self) -> Result<Vec<String>, PlaneError> {
        let waits = self.waits.lock().unwrap();
        let mut places: Vec<String> =
            waits.iter().filter(|(_, more)| **more > 0).map(|(name, _)| name.clone()).collect();
        places.sort();
        Ok(places)
    }

    async fn take_next(&self, place: &str) -> Result<Step, PlaneError> {
        if self.locked.lock().unwrap().as_deref() == Some(place) {
            return Ok(Step::Rest(Duration::from_secs(24 * 60 * 60)));
        }
        if self.slow == Some(place) {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        let mut waits = self.waits.lock().unwrap();
        let more = waits.get_mut(place).unwrap();
        if *more == 0 {
            return Ok(Step::Nothing);
        }
        *more -= 1;
        self.taken.lock().unwrap().push(place.to_owned());
        Ok(Step::Next)
    }
}

impl Fake {
    fn with(places: &[&str]) -> Self {
        let waits = places.iter().map(|name| ((*name).to_owned(), 2)).collect();
        Self { waits: Mutex::new(waits), ..Self::default() }
    }

    fn taken(&self, place: &str) -> usize {
        self.taken.lock().unwrap().iter().filter(|taken| *taken == place).count()
    }

    async fn keep_taking(self) -> (Arc<Self>, CancellationToken) {
        let (fake, tracker, stop) = (Arc::new(self), TaskTracker::new(), CancellationToken::new());
        let within = tracker.clone();
        tracker.spawn(keep_taking(Arc::clone(&fake), within, stop.clone()));
        tokio::time::sleep(Duration::from_secs(1)).await;
        (fake, stop)
    }
}

/// A slow file in one place is that place's affair; each of many gets its turn.
#[tokio::test(start_paused = true)]
async fn a_place_that_takes_long_holds_up_no_other() {
    let names: Vec<String> = (0..3 * AT_ONCE).map(|n| format!("!{n}")).collect();
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.push("!slow");
    let (fake, _stop) = Fake { slow: Some("!slow"), ..Fake::with(&names) }.keep_taking().await;
    assert!(names.iter().all(|name| fake.taken(name) == if *name == "!slow" { 0 } else { 2 }));
    tokio::time::sleep(Duration::from_secs(180)).await;
    assert_eq!(fake.taken("!slow"), 2);
}

/// X3: what waits for a key is read when keys come, and not a day later; nobody asks for it all the time meanwhile.
#[tokio::test(start_paused = true)]
async fn a_place_that_rests_is_looked_at_when_something_may_have_changed() {
    let fake = Fake::with(&["!a"]);
    *fake.locked.lock().unwrap() = Some("!a".to_owned());
    let (fake, _stop) = fake.keep_taking().await;
    assert_eq!(fake.taken("!a"), 0);
    *fake.locked.lock().unwrap() = None;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(fake.taken("!a"), 0, "it rests");
    fake.working.wake();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fake.taken("!a"), 2);
}

/// X6, X10: while there is no room for hours, the files of a message are not fetched again every few seconds; what
/// has none is taken as soon as there is.
#[test]
fn what_must_be_fetched_again_waits_longer_each_time() {
    let mut pauses = Pauses::new();
    let (mut waited, mut fetched) = (Duration::ZERO, 0);
    while waited < Duration::from_secs(3 * 60 * 60) {
        let pause = pauses.after(Step::later(WhyWaiting::Busy, true)).unwrap();
        assert!(pause <= FETCH_FOR_NOTHING, "{pause:?}");
        waited += pause;
        fetched += 1;
    }
    assert!(fetched < 100, "{fetched} times in three hours");
    let words = pauses.after(Step::later(WhyWaiting::Busy, false)).unwrap();
    assert_eq!(words, TRY_SOON);
    assert_eq!(pauses.after(Step::Next), Some(Duration::ZERO));
    let first = pauses.after(Step::later(WhyWaiting::Busy, true)).unwrap();
    assert!(first <= Duration::from_secs(1), "the next one has not waited yet: {first:?}");
    assert_eq!(pauses.after(Step::Nothing), None);
}

#[test]
fn a_file_that_can_not_be_had_is_tried_again_within_half_a_minute() {
    let mut pauses = Pauses::new();
    for _ in 0..20 {
        let pause = pauses.after(Step::later(WhyWaiting::NoFile, true)).unwrap();
        assert!(pause <= FETCH_AGAIN, "{pause:?}");
    }
}

/// A file that does not come holds up what was said after it for seconds, and no longer.
#[test]
fn a_file_that_does_not_come_holds_nobody_for_long() {
    let row = |why, since| WaitingEvent {
        id: 1,
        place: "1".to_owned(),
        event: "2".to_owned(),
        why,
        sealed: None,
        since,
        told: false,
    };
    assert!(!holds_nobody(&row(WhyWaiting::NoFile, 0), FILE_HOLDS_MS));
    assert!(holds_nobody(&row(WhyWaiting::NoFile, 0), FILE_HOLDS_MS + 1));
    assert!(!holds_nobody(&row(WhyWaiting::Busy, 0), FILE_HOLDS_MS + 1));
    assert_eq!(
        Step::Later.holding(true),
        Step::After(LATE_AGAIN),
        "what comes meanwhile waits for that"
    );
    assert_eq!(Step::Later.holding(false), Step::Later);
    assert_eq!(Step::Next.holding(true), Step::Next);
}
