use super::*;

#[test]
fn only_the_same_request_in_a_row_is_a_loop() {
    let repeats = Repeats::new(3);
    let asked = ["a", "a", "a", "b", "a", "a", "a", "a"];
    let loops: Vec<bool> = asked.iter().map(|body| repeats.is_loop(body.as_bytes())).collect();
    assert_eq!(loops, [false, false, false, false, false, false, false, true]);
}
