use super::*;

#[test]
fn cutting_never_breaks_a_character() {
    let text = "é".repeat(10);
    assert_eq!(head(&text, 5), "éé");
    assert_eq!(tail(&text, 5), "éé");
    assert_eq!(head("ab", 5), "ab");
    assert_eq!(tail("ab", 5), "ab");
}

#[test]
fn shortening_says_how_much_is_missing() {
    assert_eq!(shorten("short", 10), "short");
    assert_eq!(shorten("aaaabbbbcccc", 8), "aaaa\n[… 4 bytes left out …]\ncccc");
}

#[test]
fn the_first_line_skips_empty_ones() {
    assert_eq!(first_line("\n  \n  hello there\nmore", 80), "hello there");
    assert_eq!(first_line("", 80), "");
}
