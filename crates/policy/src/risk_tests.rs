use super::*;

#[test]
fn paying_and_deploying_are_risky() {
    for words in [
        "Pay the invoice",
        "publish the notes",
        "Deploy it.",
        "Оплати счёт",
        "tidy up, but plan first",
    ] {
        assert!(matches!(of_request(words), Risk::Risky { .. }), "{words}");
    }
}

#[test]
fn everyday_requests_are_plain() {
    for words in [
        "summarise this PDF",
        "who pays for what?",
        "Delete everything older than a week",
        "Удали старые файлы",
        "run: rm -f build.log",
        "",
    ] {
        assert_eq!(of_request(words), Risk::Plain, "{words}");
    }
}
