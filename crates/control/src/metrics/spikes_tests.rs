use super::*;

const ADA: UserId = UserId::from_number(1);

fn at(span: u64) -> Duration {
    SPAN * u32::try_from(span).unwrap()
}

#[test]
fn eight_times_the_usual_is_a_spike_and_is_told_once_an_hour() {
    let spikes = Spikes::default();
    for span in 0..4 {
        assert!(!spikes.take(ADA, 20_000, at(span)));
    }
    assert!(!spikes.take(ADA, 150_000, at(4)));
    assert!(spikes.take(ADA, 10_000, at(4)));
    assert_eq!(spikes.found(), [TokenSpike { user: ADA, tokens: 160_000, usual: Some(20_000) }]);
    assert!(!spikes.take(ADA, 900_000, at(4)), "it was told");
    assert!(spikes.found().is_empty());
    assert!(!spikes.take(ADA, 1_000, at(9)));
    assert!(spikes.take(ADA, 30_000_000, at(10)), "an hour later it is told again");
}

#[test]
fn little_is_no_spike_and_others_do_not_count() {
    let spikes = Spikes::default();
    for span in 0..5 {
        assert!(!spikes.take(ADA, 10, at(span)));
    }
    assert!(!spikes.take(ADA, 90_000, at(5)), "many times the usual, and still little");
    // Nothing is known of a newcomer: what is plainly much is told.
    let ben = UserId::from_number(2);
    assert!(!spikes.take(ben, 2_000_000, at(5)));
    assert!(spikes.take(ben, 1_000_000, at(5)));
    assert_eq!(spikes.found()[0].usual, None);
}
