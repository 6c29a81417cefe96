use proptest::prelude::*;

use super::*;

/// Says what is wrong with a text that goes to Telegram, if anything.
pub(in crate::outgoing) fn wrong(text: &Text) -> Option<String> {
    for mark in &text.marks {
        let Some(marked) = text.text.get(mark.at.clone()) else {
            return Some(format!("{mark:?} is not on whole characters"));
        };
        if marked.trim().is_empty() {
            return Some(format!("{mark:?} is on nothing"));
        }
    }
    let mut marks: Vec<&Mark> = text.marks.iter().collect();
    marks.sort_by_key(|mark| (mark.at.start, usize::MAX - mark.at.end, mark.kind.rank()));
    let mut around: Vec<&Mark> = Vec::new();
    for mark in marks {
        around.retain(|outer| outer.at.end > mark.at.start);
        for outer in &around {
            if outer.at.end < mark.at.end {
                return Some(format!("{outer:?} and {mark:?} overlap"));
            }
            if !may_nest(&outer.kind, &mark.kind) {
                return Some(format!("{mark:?} is in {outer:?}"));
            }
        }
        around.push(mark);
    }
    wrong_entities(text)
}

fn may_nest(one: &Kind, other: &Kind) -> bool {
    let is_code = |kind: &Kind| matches!(kind, Kind::Code | Kind::Pre(_));
    let is_quote = |kind: &Kind| matches!(kind, Kind::Quote { .. });
    match (one, other) {
        _ if one == other => false,
        _ if is_quote(one) && is_quote(other) => false,
        _ if is_code(one) || is_code(other) => is_quote(one) || is_quote(other),
        (Kind::Link(_), Kind::Link(_)) => false,
        _ => true,
    }
}

/// What is sent, as Telegram counts it.
fn wrong_entities(text: &Text) -> Option<String> {
    let utf16: Vec<u16> = text.text.encode_utf16().collect();
    let entities = text.entities();
    if entities.len() > MAX_MARKS {
        return Some(format!("{} entities", entities.len()));
    }
    let is_low = |unit: Option<&u16>| unit.is_some_and(|unit| (0xDC00..0xE000).contains(unit));
    for entity in &entities {
        let (start, end) = (usize::from(entity.offset), usize::from(entity.offset + entity.length));
        if start >= end || end > utf16.len() {
            return Some(format!("{entity:?} is not inside {} units", utf16.len()));
        }
        if is_low(utf16.get(start)) || is_low(utf16.get(end)) {
            return Some(format!("{entity:?} cuts a character"));
        }
    }
    let ordered = entities.windows(2).all(|pair| match pair {
        [a, b] => a.offset < b.offset || (a.offset == b.offset && a.length >= b.length),
        _ => true,
    });
    (!ordered).then(|| "the outer is not before the inner".to_owned())
}

fn bold(text: &str, at: Range<usize>) -> Text {
    let mut text = Text::plain(text);
    text.mark(Kind::Bold, at);
    text
}

/// Telegram counts in units of UTF-16, and so do the offsets.
#[test]
fn offsets_are_counted_in_utf16() {
    let text = bold("😀é € 👨‍👩‍👧 x", 0.."😀é € 👨‍👩‍👧 x".len());
    let entities = text.entities();
    assert_eq!((entities[0].offset, entities[0].length), (0, 16));
    let mut text = Text::plain("😀 ");
    text.push("ok", Some(Kind::Code));
    let entities = text.entities();
    assert_eq!((entities[0].offset, entities[0].length), (3, 2));
    assert_eq!(entities[0].kind, EntityKind::Code);
}

#[test]
fn a_text_is_cut_at_a_good_place_and_keeps_its_marks() {
    let text = bold("One two three.\n\nFour five six.", 0..30);
    let pieces = text.split(20);
    assert_eq!(pieces[0].text, "One two three.\n\n");
    assert_eq!(pieces[1].text, "Four five six.");
    assert_eq!(pieces[1].marks, [Mark { kind: Kind::Bold, at: 0..14 }]);
    assert_eq!(pieces[0].trimmed().marks, [Mark { kind: Kind::Bold, at: 0..14 }]);
}

/// A link or a piece of code is not cut if it can be left whole.
#[test]
fn what_is_one_stays_one() {
    let mut text = Text::plain("see the manual at ");
    text.push("the long name of it", Some(Kind::Link("https://example.org/".to_owned())));
    let pieces = text.split(30);
    assert_eq!(pieces[0].text, "see the manual at ");
    assert_eq!(pieces[1].text, "the long name of it");
    assert_eq!(pieces[1].marks.len(), 1);
}

/// What a person sees as one character is not cut.
#[test]
fn a_family_stays_together() {
    for piece in Text::plain("👨‍👩‍👧".repeat(40)).split(20) {
        assert!(piece.text.starts_with('👨') && piece.text.ends_with('👧'), "{piece:?}");
    }
}

#[test]
fn only_as_many_marks_as_telegram_takes_are_sent() {
    let mut text = Text::default();
    for _ in 0..300 {
        text.push("b", Some(Kind::Bold));
        text.push(" ", None);
    }
    assert_eq!(text.entities().len(), MAX_MARKS);
}

fn arbitrary_text() -> impl Strategy<Value = Text> {
    let words = prop::collection::vec(
        prop_oneof![
            "\\PC{0,6}",
            prop::sample::select(vec![
                " ",
                "\n",
                "\n\n",
                ". ",
                "😀",
                "👨‍👩‍👧",
                "e\u{301}",
                "。",
                "word"
            ])
            .prop_map(str::to_owned),
        ],
        0..60,
    );
    let kinds = prop::collection::vec(0..5u8, 60);
    (words, kinds).prop_map(|(words, kinds)| {
        let mut text = Text::default();
        for (word, kind) in words.iter().zip(kinds) {
            let kind = match kind {
                0 => Some(Kind::Bold),
                1 => Some(Kind::Code),
                2 => Some(Kind::Link("https://example.org/".to_owned())),
                3 => Some(Kind::Pre(Some("rust".to_owned()))),
                _ => None,
            };
            text.push(word, kind);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// X5: whatever is cut makes the same text again, no piece is too long, and every mark fits its piece.
    #[test]
    fn pieces_make_the_same_text_again(text in arbitrary_text(), longest in 2..80usize) {
        let pieces = text.split(longest);
        let again: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        prop_assert_eq!(&again, &text.text);
        for piece in &pieces {
            prop_assert!(piece.units() <= longest, "{} units in {:?}", piece.units(), piece);
            prop_assert_eq!(wrong(piece), None);
            prop_assert_eq!(wrong(&piece.trimmed()), None);
        }
    }
}
