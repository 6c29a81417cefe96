//! What a page's script says: it asks for its sentences as code does, `say("There is no chat {id}.", { id })`.

/// The sentences of a script, wherever they are said. They stand there as they are: no escapes are read.
pub fn said_by_script(script: &str) -> impl Iterator<Item = &str> {
    let said = script.match_indices("say(\"").filter(|(at, _)| {
        let before = script.get(..*at).unwrap_or_default();
        !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    said.filter_map(|(at, found)| script.get(at + found.len()..)?.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::said_by_script;

    #[test]
    fn every_sentence_of_a_script_is_found_once_for_each_place() {
        let script = r#"[say("one"), essay("no"), a ? say("two {n}", { n }) : say(words)]"#;
        assert_eq!(said_by_script(script).collect::<Vec<_>>(), ["one", "two {n}"]);
    }
}
