use proptest::prelude::*;

use super::*;

fn words(phrase: Option<Phrase>) -> Option<String> {
    phrase.map(|phrase| phrase.words.join("|"))
}

/// A7: the same words are told in one way for each separator, and in no other.
#[test]
fn a_phrase_has_one_separator_and_one_spelling() {
    for text in ["a+b+c", "a%20b%20c", "a-b-c", "a_b_c", "a/b/c", "a%2Fb%2Fc"] {
        assert_eq!(words(Phrase::in_address(text)).as_deref(), Some("a|b|c"), "{text}");
    }
    assert_eq!(words(Phrase::in_address("%D1%87%D0%B0%D0%B9")).as_deref(), Some("чай"));
    for text in [
        "", "a+b%20c", "a%20b+c", "a/b%2Fc", "a-b_c", "a++b", "+a", "a+", "/a", "a%2fb", "a%62",
        "%61+b", "a%2Bb", "a%00", "a%", "a%2", "a%FF", "чай", "%d1%87", "a.b", "a~b", "a%09b",
        "a%C2%A0b", "a\u{301}",
    ] {
        assert_eq!(Phrase::in_address(text), None, "{text}");
    }
    for text in ["a b c", "a-b-c", "a_b_c", "a/b/c"] {
        assert_eq!(words(Phrase::in_search(text)).as_deref(), Some("a|b|c"), "{text}");
    }
    for text in
        ["", " a", "a ", "a  b", "a b-c", "a\tb", "a\nb", "a b\n", "a+b", "a%20b", "a\u{a0}b"]
    {
        assert_eq!(Phrase::in_search(text), None, "{text}");
    }
}

proptest! {
    /// Whatever is read as a phrase is what its words and one separator make.
    #[test]
    fn a_phrase_is_its_words_and_a_separator(text in "([a-cé ]|\\+|%20|-|_|/|%2F|%2f|%61|%C3%A9){0,12}") {
        if let Some(phrase) = Phrase::in_address(&text) {
            let spelled: Vec<String> =
                phrase.words.iter().map(|word| one_query(word).unwrap_or_default()).collect();
            prop_assert!(IN_ADDRESS.iter().any(|separator| spelled.join(separator) == text));
        }
        if let Some(phrase) = Phrase::in_search(&text) {
            prop_assert!(IN_SEARCH.iter().any(|separator| phrase.words.join(separator) == text));
        }
    }
}
