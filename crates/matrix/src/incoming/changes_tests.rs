use super::*;

#[test]
fn an_edit_that_says_the_same_is_no_correction() {
    assert!(says_the_same("hello", "hello\n"));
    assert!(says_the_same("> in reply to @a:b:\n> earlier\n\nhello", "hello"));
    assert!(!says_the_same("hello", "hello there"));
}

/// X2: who takes a paragraph back has changed what they said.
#[test]
fn an_edit_that_takes_a_paragraph_back_is_a_correction() {
    assert!(!says_the_same("delete everything\n\nno, only a.txt", "no, only a.txt"));
    assert!(!says_the_same("> quoted\nown words\n\nlast", "last"));
}
