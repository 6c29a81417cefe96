use super::*;

#[test]
fn destroying_and_paying_are_risky() {
    for words in [
        "Delete everything older than a week",
        "wipe the notes",
        "Deploy it.",
        "Удали старые файлы",
        "tidy up, but plan first",
    ] {
        assert!(matches!(of_request(words), Risk::Risky { .. }), "{words}");
    }
}

#[test]
fn everyday_requests_are_plain() {
    for words in ["summarise this PDF", "what is the deletion policy?", "run: rm -f build.log", ""]
    {
        assert_eq!(of_request(words), Risk::Plain, "{words}");
    }
}
