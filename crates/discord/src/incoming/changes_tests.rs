use super::says_the_same;

/// A preview that appears, or a word that is not changed, is no correction.
#[test]
fn the_same_words_are_no_correction() {
    assert!(says_the_same("buy milk", "buy milk"));
    assert!(says_the_same("> in reply to Bo:\n> what?\n\nbuy milk", "buy milk "));
    assert!(!says_the_same("buy milk", "buy oat milk"));
    assert!(!says_the_same("first this\n\nbuy milk", "buy milk"), "a part was taken away");
}
