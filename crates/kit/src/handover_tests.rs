use std::sync::Mutex as StdMutex;
use std::time::Duration;

use super::*;

/// Takes as long as it is told, and writes down what came to an end.
#[derive(Default)]
struct Slow {
    ended: Arc<StdMutex<Vec<&'static str>>>,
    reached: Arc<StdMutex<Vec<(u32, bool)>>>,
}

struct Part {
    place: &'static str,
    name: &'static str,
    takes_s: u64,
    handed: Handed,
}

impl HandsOver for Slow {
    type Mark = u32;
    type Work = Part;

    fn place(work: &Part) -> String {
        work.place.to_owned()
    }

    async fn hand_over(&self, work: Part) -> Handed {
        tokio::time::sleep(Duration::from_secs(work.takes_s)).await;
        self.ended.lock().unwrap().push(work.name);
        work.handed
    }

    async fn reached(&self, mark: u32, stored: bool) {
        self.reached.lock().unwrap().push((mark, stored));
    }
}

const fn part(place: &'static str, name: &'static str, takes_s: u64) -> Part {
    Part { place, name, takes_s, handed: Handed::Over }
}

async fn handed_over(all: Vec<(u32, Vec<Part>)>) -> (Vec<&'static str>, Vec<(u32, bool)>) {
    let slow = Slow::default();
    let (ended, reached) = (Arc::clone(&slow.ended), Arc::clone(&slow.reached));
    let tracker = TaskTracker::new();
    let mut handover = Handover::new(slow, tracker.clone());
    for (mark, work) in all {
        handover.begin(mark, work).await;
    }
    tracker.close();
    tracker.wait().await;
    let ended = ended.lock().unwrap().clone();
    (ended, reached.lock().unwrap().clone())
}

/// X1: within a place in order, whatever takes longer; a slow place holds the position and no other place.
#[tokio::test(start_paused = true)]
async fn places_go_side_by_side_each_in_its_order() {
    let (ended, reached) = handed_over(vec![
        (1, vec![part("slow", "first", 30), part("quick", "second", 1)]),
        (2, vec![part("slow", "third", 0)]),
        (3, vec![part("quick", "fourth", 1)]),
        (4, vec![]),
    ])
    .await;
    assert_eq!(ended, ["second", "fourth", "first", "third"]);
    assert_eq!(reached, [(1, true), (4, true)]);
}

#[tokio::test(start_paused = true)]
async fn what_concerns_nobody_is_reached_at_once_if_nothing_is_under_way() {
    let (_, reached) = handed_over(vec![(1, vec![]), (2, vec![])]).await;
    assert_eq!(reached, [(1, false), (2, false)]);
}

/// X1: what was not handed over is asked for again after a restart.
#[tokio::test(start_paused = true)]
async fn the_position_stays_before_what_was_stopped() {
    let stopped = Part { handed: Handed::Stopped, ..part("there", "stopped", 1) };
    let (_, reached) =
        handed_over(vec![(1, vec![stopped]), (2, vec![part("here", "later", 1)])]).await;
    assert_eq!(reached, []);
}
