use super::*;
use proptest::prelude::*;

fn chunk(seq: u32, text: &str) -> TextChunk {
    TextChunk { turn: "t-m1".parse().unwrap(), seq, text: text.to_owned() }
}

fn more(text: &str) -> Show {
    Show::More(text.to_owned())
}

/// The connection broke after the answer's only chunk, and brings it again.
#[test]
fn what_comes_again_after_a_break_is_shown_once() {
    let mut telling = Telling::default();
    assert_eq!(telling.chunk(&chunk(0, "echo: only once")), more("echo: only once"));
    assert_eq!(telling.chunk(&chunk(0, "echo: only once")), more(""));
    assert_eq!(telling.end("echo: only once"), more(""));
}

#[test]
fn another_answer_to_the_same_message_is_shown_from_its_beginning() {
    let mut telling = Telling::default();
    telling.chunk(&chunk(0, "one "));
    telling.chunk(&chunk(1, "two"));
    telling.restart();
    assert_eq!(telling.chunk(&chunk(0, "one ")), more(""));
    assert_eq!(telling.chunk(&chunk(1, "three")), Show::Anew("one three".to_owned()));
    assert_eq!(telling.end("one three"), more(""));
}

#[test]
fn what_was_missed_comes_with_the_end() {
    let mut telling = Telling::default();
    assert_eq!(telling.chunk(&chunk(0, "a")), more("a"));
    assert_eq!(telling.chunk(&chunk(2, "c")), more(""));
    assert_eq!(telling.chunk(&chunk(3, "d")), more(""));
    assert_eq!(telling.end("abcd"), more("bcd"));
    assert_eq!(Telling::default().end("whole"), more("whole"));
    let mut shorter = Telling::default();
    shorter.chunk(&chunk(0, "a long beginning"));
    assert_eq!(shorter.end("a"), Show::Anew("a".to_owned()));
}

proptest! {
    /// However often it breaks, and wherever the next telling is cut, the answer is shown whole and once.
    #[test]
    fn an_answer_is_shown_once_however_often_it_breaks(
        answer in "[a-zäß ]{1,30}",
        tellings in prop::collection::vec(prop::collection::vec(1_usize..6, 0..8), 1..6),
    ) {
        let mut telling = Telling::default();
        let mut shown = String::new();
        let mut show = |shows: Show| match shows {
            Show::More(more) => shown.push_str(&more),
            Show::Anew(_) => panic!("it is the same answer"),
        };
        for cuts in tellings {
            let mut chars = answer.chars();
            for (seq, size) in cuts.into_iter().enumerate() {
                let piece: String = chars.by_ref().take(size).collect();
                if !piece.is_empty() {
                    show(telling.chunk(&chunk(u32::try_from(seq).unwrap(), &piece)));
                }
            }
        }
        show(telling.end(&answer));
        prop_assert_eq!(shown, answer);
    }
}
