use super::*;

fn rests(why: &SendError, random: u8) -> Vec<Duration> {
    let mut backoff = Backoff::default();
    (0..12).map(|_| backoff.rest_with(Some(why), &Pace::default(), random)).collect()
}

#[test]
fn who_can_not_be_reached_is_tried_less_and_less_often_up_to_a_bound() {
    let pace = Pace::default();
    for random in [0, 100, 255] {
        let rests = rests(&SendError::Unreachable(String::new()), random);
        assert!(rests.first().is_some_and(|first| *first <= pace.first_retry.mul_f64(1.25)));
        assert!(rests.iter().all(|rest| *rest >= pace.first_retry.mul_f64(0.75)));
        assert!(rests.iter().all(|rest| *rest <= pace.longest_retry));
        assert!(rests.windows(2).all(|two| two[0] <= two[1]), "{rests:?}");
        assert!(rests.last().is_some_and(|last| *last >= pace.longest_retry.mul_f64(0.75)));
    }
}

#[test]
fn who_says_how_long_is_obeyed() {
    let asked = Duration::from_secs(300);
    for rest in rests(&SendError::Wait(asked), 77) {
        assert!(rest >= asked && rest <= asked + asked / 10, "{rest:?}");
    }
}

/// X1: a surface that always says "wait no time" does not make a busy loop.
#[test]
fn who_asks_to_wait_no_time_is_not_asked_without_pause() {
    let rests = rests(&SendError::Wait(Duration::ZERO), 0);
    assert!(rests.iter().all(|rest| *rest >= Duration::from_millis(50)), "{rests:?}");
    assert!(rests.last().is_some_and(|last| *last >= Duration::from_secs(30)), "{rests:?}");
}

#[test]
fn what_got_there_starts_it_anew() {
    let mut backoff = Backoff::default();
    let why = SendError::Unreachable(String::new());
    let first = backoff.rest_with(Some(&why), &Pace::default(), 0);
    assert!(!backoff.is_first());
    backoff.rest_with(Some(&why), &Pace::default(), 0);
    backoff.forget();
    assert!(backoff.is_first());
    assert_eq!(backoff.rest_with(Some(&why), &Pace::default(), 0), first);
}
