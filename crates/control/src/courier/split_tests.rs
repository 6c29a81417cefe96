use proptest::prelude::*;

use super::*;

fn chars(text: &str) -> usize {
    text.chars().count()
}

fn utf16(text: &str) -> usize {
    text.encode_utf16().count()
}

fn by_chars(longest: usize) -> Limit<'static> {
    Limit { longest, measure: &chars }
}

fn markdowns(text: &str, longest: usize) -> Vec<String> {
    split(text, &by_chars(longest)).iter().map(Piece::markdown).collect()
}

#[test]
fn what_fits_is_one_message() {
    assert_eq!(markdowns("a short answer", 100), ["a short answer"]);
    assert!(markdowns("", 100).is_empty());
}

#[test]
fn paragraphs_stay_together_then_lines_then_sentences_then_words() {
    let text = "First paragraph, one line.\n\nSecond paragraph.\n\nThird.";
    assert_eq!(
        markdowns(text, 50),
        ["First paragraph, one line.\n\nSecond paragraph.\n\n", "Third."]
    );
    assert_eq!(markdowns("one line\ntwo line\nthree", 20), ["one line\ntwo line\n", "three"]);
    assert_eq!(markdowns("One is. Two is. Three is", 18), ["One is. Two is. ", "Three is"]);
    assert_eq!(markdowns("wordy words without end", 12), ["wordy words ", "without end"]);
    assert_eq!(markdowns("abcdefgh", 3), ["abc", "def", "gh"]);
}

#[test]
fn a_block_of_code_goes_on_as_one_in_the_next_message() {
    let text = "Look:\n\n```rust\nlet a = 1;\nlet b = 2;\nlet c = 3;\n```\n\nThat is all.";
    let pieces = markdowns(text, 45);
    assert_eq!(
        pieces,
        [
            "Look:\n\n```rust\nlet a = 1;\nlet b = 2;\n```",
            "```rust\nlet c = 3;\n```\n\nThat is all.",
        ]
    );
    let tildes = "~~~~ text\naaaa aaaa\nbbbb bbbb\ncccc cccc\n~~~~\n";
    for piece in markdowns(tildes, 35) {
        assert!(piece.starts_with("~~~~ text\n"), "{piece}");
        assert_eq!(piece.matches("~~~~").count(), 2, "{piece}");
    }
}

#[test]
fn a_long_line_of_code_is_cut_and_stays_code() {
    let text = format!("```\n{}\n```", "x".repeat(100));
    let pieces = markdowns(&text, 40);
    assert!(pieces.len() > 3);
    for piece in &pieces {
        assert!(piece.starts_with("```\n") && piece.trim_end().ends_with("\n```"), "{piece:?}");
        assert!(chars(piece) <= 40);
    }
}

#[test]
fn what_looks_like_one_character_is_not_cut() {
    let family = "👨‍👩‍👧‍👦";
    let text = family.repeat(10);
    for piece in split(&text, &Limit { longest: 25, measure: &utf16 }) {
        assert!(!piece.text.is_empty() && piece.text.replace(family, "").is_empty(), "{piece:?}");
    }
    // One that is longer than a message is cut between its characters.
    let tower = format!("a{}", "\u{301}".repeat(50));
    assert_eq!(split(&tower, &by_chars(20)).len(), 3);
}

#[test]
fn a_limit_that_nothing_fits_still_ends() {
    let pieces = split("ab\n```\nc", &by_chars(0));
    assert_eq!(pieces.iter().map(|piece| piece.text).collect::<String>(), "ab\n```\nc");
}

/// The messages of a text that grows are those of what it becomes, all but the last one.
#[test]
fn the_messages_of_a_growing_text_stay_as_they_are() {
    let text = "word and\n```rust\nlet it = \"be\";\n```\nmore\n\n".repeat(12);
    let limit = by_chars(60);
    let pieces = |text: &str| -> Vec<String> {
        split(text, &limit).iter().map(super::Piece::markdown).collect()
    };
    let whole = pieces(&text);
    for end in (0..text.len()).step_by(7) {
        let mut so_far = pieces(text.get(..end).unwrap());
        so_far.pop();
        assert_eq!(so_far, whole[..so_far.len()], "{end}");
    }
}

#[test]
fn a_block_of_code_that_is_open_is_closed() {
    for (text, closes) in [
        ("no code", ""),
        ("```\ncode\n```\nafter", ""),
        ("```rust\nlet", "\n```"),
        ("a\n~~~~\n```\n", "~~~~"),
    ] {
        assert_eq!(closing_of(text), closes, "{text:?}");
    }
}

/// Texts with everything that a break depends on.
fn texts() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        8 => "[a-z]{1,12}",
        6 => Just(" ".to_owned()),
        3 => Just("\n".to_owned()),
        2 => Just("\n\n".to_owned()),
        2 => Just(". ".to_owned()),
        2 => Just("\n```rust\n".to_owned()),
        2 => Just("\n```\n".to_owned()),
        1 => Just("\n  ~~~~\n".to_owned()),
        1 => Just("```".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("é́\u{301}👨‍👩‍👧".to_owned()),
        1 => Just("漢字。".to_owned()),
        1 => ".{0,8}",
    ];
    prop::collection::vec(token, 0..120).prop_map(|tokens| tokens.concat())
}

proptest! {
    /// X2: nothing of a long answer is lost, doubled or longer than the surface takes.
    #[test]
    fn every_character_is_in_one_piece_and_every_piece_fits(text in texts(), longest in 24usize..200) {
        for measure in [chars as fn(&str) -> usize, utf16, str::len] {
            let limit = Limit { longest, measure: &measure };
            let pieces = split(&text, &limit);
            let again: String = pieces.iter().map(|piece| piece.text).collect();
            prop_assert_eq!(&again, &text);
            for piece in &pieces {
                let shown = piece.markdown();
                prop_assert!(measure(&shown) <= longest, "{} > {}: {:?}", measure(&shown), longest, shown);
                prop_assert!(!piece.text.is_empty());
            }
        }
    }

    /// What is code in the text is code in the messages, and the other way round.
    #[test]
    fn every_piece_closes_what_it_opens(text in texts(), longest in 40usize..200) {
        let pieces = split(&text, &by_chars(longest));
        for (piece, next) in pieces.iter().zip(pieces.iter().skip(1)) {
            prop_assert_eq!(piece.closes.is_empty(), next.reopens.is_empty());
        }
        prop_assert!(pieces.first().is_none_or(|piece| piece.reopens.is_empty()));
    }
}

/// What is split from where a piece begins is what is split of the whole, also within a block of code.
#[test]
fn a_text_is_split_the_same_from_the_middle() {
    let code =
        format!("Look:\n\n```rust\n{}```\nThat was it. ", "let x = 1; // words\n".repeat(40));
    let text = code.repeat(3);
    let measure = |text: &str| text.len();
    let limit = Limit { longest: 120, measure: &measure };
    let whole = split_from(&text, &Start::default(), &limit);
    assert!(whole.len() > 10);
    for (number, (start, _)) in whole.iter().enumerate() {
        assert_eq!(split_from(&text, start, &limit), whole[number..]);
    }
}
