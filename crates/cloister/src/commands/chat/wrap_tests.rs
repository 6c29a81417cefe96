use super::*;

fn all(width: usize, pieces: &[&str]) -> Vec<String> {
    let mut lines = Lines::new(width);
    let mut done: Vec<String> = pieces.iter().flat_map(|piece| lines.push(piece)).collect();
    done.extend(lines.finish());
    done
}

#[test]
fn long_lines_break_at_spaces_however_they_come() {
    let text = "one two three four five six seven eight";
    let whole = all(20, &[text]);
    assert_eq!(whole, ["one two three four", "five six seven eight"]);
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(all(20, &letters), whole);
    assert_eq!(all(20, &["a\n\nb"]), ["a", "", "b"]);
}

#[test]
fn code_and_words_without_spaces_are_left_whole() {
    let long = "x".repeat(50);
    assert_eq!(all(20, &[&long]).join("|"), long);
    let code = format!("```\nlet a = {long} + 1;\n```\nand then it goes on for a while");
    let lines = all(20, &[&code]);
    assert_eq!(lines.get(1).unwrap(), &format!("let a = {long} + 1;"));
    assert_eq!(lines.last().unwrap(), "for a while");
}
