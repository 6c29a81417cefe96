use super::*;

#[test]
fn request_ids_are_stable_distinct_and_fit() {
    let place = CallPlace { answer: 2, index: 1 };
    assert_eq!(request_id("C1.t-m1", place).unwrap().as_str(), "C1.t-m1.2.1");
    let long = |last: &str| request_id(&format!("C1.t-{}{last}", "x".repeat(127)), place).unwrap();
    assert_eq!(long("a"), long("a"));
    assert_ne!(long("a"), long("b"));
}
