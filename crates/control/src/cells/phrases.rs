//! What an agent itself says, in somebody's language: it is given these with each turn, and holds no catalogue.

use cloister_protocol::Phrases;
use cloister_words::{Language, noted, text_of};

pub(crate) fn phrases(to: Language) -> Phrases {
    let said = |text: &'static str| text_of(to, text).to_owned();
    Phrases {
        stopped: said(noted!("Stopped.")),
        cut: said(noted!(
            "(The answer ends here because it may not be longer. Say \"go on\" for the rest.)"
        )),
        empty: said(noted!("The model gave an empty answer. Please ask again, or in other words.")),
        too_long: said(noted!("I stopped because the answer grew too long. Ask for a part of it.")),
        no_room: said(noted!(
            "I can't write to this chat's record: the workspace is full or over its quota. Delete files you no longer need, or raise the quota, and ask again."
        )),
        no_record: said(noted!(
            "I can't use this chat's record, so I can't answer here; the log has the cause. Start a new chat, or ask the operator to look at it."
        )),
        repeated: said(noted!(
            "I stopped because the same call came {times} times without getting anywhere: {call}. Tell me how to go on, or ask in another way."
        )),
        too_many_steps: said(noted!(
            "I stopped after asking the model {steps} times without coming to an end. Ask for a smaller part of it, or ask in another way."
        )),
        begun: said(noted!("I have begun with it ({task}) and tell you what comes of it.")),
        task_done: said(noted!("{task} ({title}) is done")),
        task_failed: said(noted!("{task} ({title}) failed")),
        task_cancelled: said(noted!("{task} ({title}) was cancelled")),
        not_shown: said(noted!("Not shown by the record: {claims}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_translated_is_what_an_agent_says_by_itself() {
        assert!(phrases(Language::En).is_default());
        for language in [Language::De, Language::Ru] {
            let (here, english) = (phrases(language), Phrases::default());
            assert_ne!(here.stopped, english.stopped);
            assert!(here.repeated.contains("{call}") && here.repeated.contains("{times}"));
        }
    }
}
