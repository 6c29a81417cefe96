use super::*;

const RULE: Rule = Rule { most: 3, within: Duration::from_secs(10) };

#[test]
fn so_many_within_a_time_and_no_more_are_remembered() {
    let (mut window, start) = (Window::default(), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    for second in 0..3 {
        assert_eq!(window.wait(at(second), RULE), Duration::ZERO);
        window.add(at(second), RULE);
    }
    assert_eq!(window.wait(at(3), RULE), Duration::from_secs(7));
    assert_eq!(window.wait(at(3), Rule { most: 2, ..RULE }), Duration::from_secs(8));
    window.answered(at(0), at(4));
    assert_eq!(window.wait(at(4), RULE), Duration::from_secs(7), "the answer is what counts");
    for second in 4..100 {
        window.add(at(second), RULE);
    }
    assert_eq!((window.0.len(), window.last()), (3, Some(at(99))));
}
