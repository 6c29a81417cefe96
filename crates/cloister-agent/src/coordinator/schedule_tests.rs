use super::*;

fn started(schedule: &mut Schedule<u8, &'static str>) -> Vec<&'static str> {
    std::iter::from_fn(|| schedule.next()).collect()
}

#[test]
fn one_chat_runs_in_order_and_chats_run_together() {
    let mut schedule = Schedule::new(8);
    for (chat, job) in [(1, "a"), (1, "b"), (2, "x"), (1, "c")] {
        schedule.add(chat, job);
    }
    assert_eq!(started(&mut schedule), ["a", "x"]);
    schedule.finished(1);
    assert_eq!(started(&mut schedule), ["b"]);
    schedule.finished(2);
    schedule.finished(1);
    assert_eq!(started(&mut schedule), ["c"]);
}

#[test]
fn the_limit_holds_and_the_longest_waiting_goes_first() {
    let mut schedule = Schedule::new(2);
    for (chat, job) in [(1, "a"), (2, "b"), (3, "c"), (1, "a2"), (4, "d")] {
        schedule.add(chat, job);
    }
    assert_eq!(started(&mut schedule), ["a", "b"]);
    schedule.finished(1);
    assert_eq!(started(&mut schedule), ["c"]);
    schedule.finished(2);
    schedule.finished(2);
    assert_eq!(started(&mut schedule), ["d"]);
    schedule.finished(3);
    assert_eq!(started(&mut schedule), ["a2"]);
}
