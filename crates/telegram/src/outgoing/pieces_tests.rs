use super::*;

const HERE: MessagePlace = MessagePlace { chat: 7, thread: Some(3) };
const THERE: MessagePlace = MessagePlace { chat: 7, thread: None };

/// X1: what is there is known by its place, its key and its number, and by nothing less.
#[test]
fn messages_that_are_there_are_known_again() {
    let mut sent = Sent::default();
    sent.keep(&HERE, "o1/0", 0, 41);
    sent.keep(&HERE, "o1/0", 1, 42);
    assert_eq!(sent.get(&HERE, "o1/0", 1), Some(42));
    assert!(!sent.has(&THERE, "o1/0", 0) && !sent.has(&HERE, "o2/0", 0));
    sent.keep(&HERE, "o2/0", 0, 50);
    sent.forget(&HERE, "o1/0");
    assert!(!sent.has(&HERE, "o1/0", 0) && sent.has(&HERE, "o2/0", 0));
}

#[test]
fn the_oldest_are_forgotten() {
    let mut sent = Sent::default();
    for number in 0..3000 {
        sent.keep(&HERE, &format!("k{number}"), 0, number);
    }
    assert!(sent.messages.len() <= MAX_SENT && sent.order.len() <= MAX_SENT);
    assert!(sent.has(&HERE, "k2999", 0) && !sent.has(&HERE, "k0", 0));
}
