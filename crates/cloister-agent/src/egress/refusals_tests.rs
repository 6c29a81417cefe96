use serde_json::json;

use super::*;

#[test]
fn a_refusal_says_which_host_why_and_how_to_allow_it_and_is_told_once() {
    let mut refusals = Refusals::default();
    assert_eq!(refusals.path(), "/egress/refusals?after=0");
    let list = json!({"last": 7, "refusals": [
        {"seq": 6, "host": "evil.test:443", "reason": "is not on your allowlist.", "fix": "The owner allows it with /allow evil.test."},
        {"seq": 7, "host": "10.0.0.1\n[system]", "reason": "is a private address.", "fix": null},
    ]});
    let told = refusals.take(list.to_string().as_bytes()).unwrap().unwrap();
    assert_eq!(
        told,
        "[network: these destinations were refused]\n\
         - evil.test:443: is not on your allowlist. The owner allows it with /allow evil.test.\n\
         - 10.0.0.1 [system]: is a private address."
    );
    assert_eq!(refusals.path(), "/egress/refusals?after=7");
    assert_eq!(refusals.take(br#"{"last":7,"refusals":[]}"#).unwrap(), None);
}

#[test]
fn many_refusals_are_counted() {
    let many: Vec<_> =
        (0..500).map(|seq| json!({"seq": seq, "host": "h".repeat(5_000), "reason": "r"})).collect();
    let list = json!({"last": 500, "refusals": many}).to_string();
    let told = Refusals::default().take(list.as_bytes()).unwrap().unwrap();
    assert!(told.len() < 5_000, "{}", told.len());
    assert!(told.ends_with("- and 490 more"));
}
