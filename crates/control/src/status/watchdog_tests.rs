use super::*;
use cloister_store::HoldKind;

fn hold(number: u64, waits: bool) -> Hold {
    Hold {
        number,
        kind: HoldKind::Writer,
        place: format!("file.rs:{number}"),
        waits,
        since: Duration::from_secs(7),
    }
}

#[test]
fn holders_are_named_and_those_who_wait_counted() {
    assert_eq!(in_words(&[]), "");
    assert_eq!(in_words(&[hold(1, false)]), "file.rs:1 holds the writer for 7 s");
    assert_eq!(
        in_words(&[hold(1, false), hold(2, true), hold(3, true)]),
        "file.rs:1 holds the writer for 7 s; 2 wait, the first (file.rs:2) for 7 s"
    );
    let many: Vec<Hold> = (0..20).map(|number| hold(number, false)).collect();
    let words = in_words(&many);
    assert!(
        words.ends_with("file.rs:7 holds the writer for 7 s; 12 more hold something"),
        "{words}"
    );
}

#[test]
fn each_is_told_once_and_forgotten_when_it_lets_go() {
    let mut told = ToldHolders::default();
    told.tell(&[hold(1, false), hold(2, true)]);
    told.tell(&[hold(1, false), hold(2, true)]);
    assert_eq!(told.holders.len(), 1);
    assert!(told.waiting);
    told.tell(&[hold(3, false)]);
    assert_eq!(told.holders.keys().collect::<Vec<_>>(), [&3]);
    assert!(!told.waiting);
    told.tell(&[]);
    assert!(told.holders.is_empty());
}
