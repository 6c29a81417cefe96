use proptest::prelude::*;

use super::*;

fn entity(kind: &str, offset: usize, length: usize) -> Entity {
    Entity { kind: kind.to_owned(), offset, length, ..Entity::default() }
}

#[test]
fn links_and_code_are_told() {
    let link = Entity { url: Some("https://x.test".into()), ..entity("text_link", 3, 4) };
    assert_eq!(marked("👋 this one", &[link]), "👋 [this](https://x.test) one");
    assert_eq!(marked("run ls now", &[entity("code", 4, 2)]), "run `ls` now");
    let pre = Entity { language: Some("rust".into()), ..entity("pre", 0, 4) };
    assert_eq!(marked("fn a", &[pre]), "```rust\nfn a\n```");
    let bold = [entity("bold", 0, 3)];
    assert_eq!(marked("run ls", &bold), "run ls", "decoration is left out");
    let nested = [entity("pre", 0, 6), entity("code", 4, 2)];
    assert_eq!(marked("run ls", &nested), "```\nrun ls\n```", "once");
}

proptest! {
    /// Whatever Telegram says is marked, no text is lost and nothing fails.
    #[test]
    fn any_marks_keep_the_text(
        text in "[a-zé👋\n]{0,20}",
        marks in proptest::collection::vec((0usize..25, 0usize..25, 0usize..3), 0..5),
    ) {
        let kinds = ["text_link", "code", "pre"];
        let entities: Vec<Entity> = marks
            .into_iter()
            .map(|(offset, length, kind)| entity(kinds.get(kind).unwrap(), offset, length))
            .collect();
        let out = marked(&text, &entities);
        let kept = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        prop_assert_eq!(kept(&out), kept(&text));
    }
}
