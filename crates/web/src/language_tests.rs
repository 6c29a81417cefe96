use cloister_words::{AREAS, Language, read};
use maud::html;

#[test]
fn what_is_put_into_a_sentence_is_escaped_once_and_the_sentence_is_text() {
    let name = "<b>";
    let shown = phrase!(Language::En, "{who} was here", who = html! { strong { (name) } });
    assert_eq!(shown.into_string(), "<strong>&lt;b&gt;</strong> was here");
}

/// Sentences go into pages as they are: nothing in one may mean anything in HTML.
#[test]
fn no_sentence_of_the_page_is_markup() {
    let web = AREAS.iter().find(|area| area.name == "web").unwrap();
    for language in Language::ALL {
        let (entries, _) = read(web.file(language).unwrap_or_default());
        for entry in entries {
            for text in entry.forms.iter().chain([&entry.text]) {
                assert!(!text.contains(['<', '>', '&']), "{text}");
            }
        }
    }
}
