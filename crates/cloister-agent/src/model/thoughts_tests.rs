use super::*;

/// The words and the thoughts of a text that comes in pieces of this many characters.
fn read(text: &str, piece: usize) -> (String, String) {
    let mut reader = ThoughtsInText::default();
    let (mut words, mut thoughts) = (String::new(), String::new());
    let characters: Vec<char> = text.chars().collect();
    let mut parts: Vec<String> =
        characters.chunks(piece).map(|part| part.iter().collect()).collect();
    parts.push(String::new());
    let last = parts.len() - 1;
    for (number, part) in parts.iter().enumerate() {
        let found = if number == last { reader.finish() } else { reader.push(part, &words) };
        for part in found {
            match part {
                InText::Words(text) => words.push_str(&text),
                InText::Thought(text) => thoughts.push_str(&text),
                InText::AllThought => thoughts.push_str(&std::mem::take(&mut words)),
            }
        }
    }
    (words, thoughts)
}

#[test]
fn what_stands_between_the_tags_is_thought_and_the_rest_is_said() {
    for (text, words, thoughts) in [
        ("<think>hm\nso</think>\n\nHello", "Hello", "hm\nso"),
        ("\n<think>\n\n</think>\n\nHello", "Hello", "\n\n"),
        ("<thinking>a < b</thinking>c", "c", "a < b"),
        ("<think>never ends", "", "never ends"),
        ("hm, so be it\n</think>\n\nHello", "Hello", "hm, so be it\n"),
        ("Hello", "Hello", ""),
        ("<thing>", "<thing>", ""),
        ("<thi", "<thi", ""),
        ("a </thin b", "a </thin b", ""),
        ("The tag <think> begins, </think> ends.", "The tag <think> begins, </think> ends.", ""),
        ("`x`\n</think>", "`x`\n</think>", ""),
        ("<think>one</think>two<think>three</think>", "two<think>three</think>", "one"),
        ("", "", ""),
    ] {
        for piece in [1, 2, 3, 5, 1000] {
            assert_eq!(
                read(text, piece),
                (words.to_owned(), thoughts.to_owned()),
                "{text:?} by {piece}"
            );
        }
    }
}
