use proptest::prelude::*;

use super::*;

fn take_back(before: Option<&str>, after: &str, now: Option<&str>) -> Option<Option<String>> {
    merged(Some(after), before, now)
}

fn text(text: &str) -> Option<Option<String>> {
    Some(Some(text.to_owned()))
}

#[test]
fn what_was_added_later_stays() {
    let (before, after) = ("# Kept\n\n- tea\n", "# Kept\n\n- tea\n- milk\n");
    let now = "# Kept\n\n- tea\n- milk\n- honey\n";
    assert_eq!(take_back(Some(before), after, Some(now)), text("# Kept\n\n- tea\n- honey\n"));
    // The first thing that was ever kept takes the place of what says that there is nothing.
    let (before, after) = ("# Kept\n\nNothing yet.\n", "# Kept\n\n- tea\n");
    let now = "# Kept\n\n- tea\n- milk\n";
    assert_eq!(take_back(Some(before), after, Some(now)), text("# Kept\n\nNothing yet.\n- milk\n"));
}

#[test]
fn what_was_changed_in_the_same_lines_collides() {
    let (before, after) = ("a\nb\nc\n", "a\nB\nc\n");
    assert_eq!(take_back(Some(before), after, Some("a\nBB\nc\n")), None);
    assert_eq!(take_back(Some(before), after, Some("A\nB\nc\n")), text("A\nb\nc\n"));
    assert_eq!(take_back(Some(before), after, Some("a\nb\nc\n")), text("a\nb\nc\n"));
    assert_eq!(take_back(Some(before), after, None), None, "it is gone, and stays so");
}

#[test]
fn a_file_that_was_made_goes_unless_somebody_wrote_into_it() {
    assert_eq!(take_back(None, "a\nb\n", Some("a\nb\n")), Some(None));
    assert_eq!(take_back(None, "a\nb\n", Some("a\nb\nmine\n")), text("mine\n"));
    assert_eq!(take_back(None, "a\nb\n", Some("a\nmine\n")), None);
    assert_eq!(take_back(None, "a\nb\n", None), Some(None), "it is gone already");
    // And brought back.
    assert_eq!(merged(None, Some("a\n"), None), text("a\n"));
    assert_eq!(merged(None, Some("a\n"), Some("mine\n")), None);
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0_u8..6, 0..8)
}

fn said(lines: &[u8]) -> String {
    lines.iter().map(|line| format!("line {line}\n")).collect()
}

proptest! {
    /// Whatever was changed since: either nothing is touched, or each line that somebody added since is still there,
    /// and taking nothing back changes nothing.
    #[test]
    fn nobodys_line_is_lost(before in lines(), after in lines(), own in prop::collection::vec((0_usize..9, 100_u8..110), 0..4)) {
        let mut now = after.clone();
        for (at, line) in own {
            now.insert(at.min(now.len()), line);
        }
        let (before, after, now) = (said(&before), said(&after), said(&now));
        if let Some(taken) = take_back(Some(&before), &after, Some(&now)) {
            let taken = taken.unwrap_or_default();
            for line in now.lines().filter(|line| line.starts_with("line 10")) {
                let times = |text: &str| text.lines().filter(|other| *other == line).count();
                prop_assert_eq!(times(&taken), times(&now));
            }
        }
        prop_assert_eq!(take_back(Some(&before), &after, Some(&after)), Some(Some(before)));
        prop_assert_eq!(merged(Some(&after), Some(&after), Some(&now)), Some(Some(now)));
    }
}
