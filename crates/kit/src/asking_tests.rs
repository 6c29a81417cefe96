use super::*;

/// Who reads German or Russian is asked in it; a name is filled in as it is, whatever it looks like.
#[test]
fn what_is_said_around_a_question_is_said_in_the_reader_s_language() {
    for answer in Answer::ALL {
        let in_english = meaning(Language::En, answer);
        for to in [Language::De, Language::Ru] {
            assert_ne!(meaning(to, answer), in_english, "{to}");
            let done = deed(to, "{by} & co", answer);
            assert!(done.starts_with("{by} & co ") && done.ends_with('.'), "{done}");
        }
    }
    assert_eq!(and_more(Language::En, 3), "… and 3 more");
    assert_eq!(takes_people(Language::En, 2), "It takes 2 different people.");
    assert_eq!(because_read(Language::En, "a page"), "Because this task has read a page");
}
