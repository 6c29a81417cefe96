//! What every surface owes a person, checked with the same words on all of them: a person on one of them sees
//! what they would see on any other.

#![recursion_limit = "256"]

#[cfg(test)]
mod checks;
#[cfg(test)]
mod discord;
#[cfg(test)]
mod folder;
#[cfg(test)]
mod matrix;
#[cfg(test)]
#[path = "../matrix/person.rs"]
#[expect(dead_code, reason = "a person can do more on Matrix than every surface must offer")]
mod person;
#[cfg(test)]
mod seat;
#[cfg(test)]
mod telegram;
#[cfg(test)]
mod terminal;
#[cfg(test)]
mod together;
#[cfg(test)]
mod web;

/// Where the person on Matrix looks for it.
#[cfg(test)]
mod world {
    pub(crate) use crate::seat::{PATIENCE, eventually};
}

/// Every check on one surface.
macro_rules! conformance {
    ($name:ident, $ground:ty) => {
        conformance!($name, $ground:
            answers_keep_their_order,
            a_message_that_comes_twice_is_answered_once,
            a_streamed_answer_ends_as_it_was_meant,
            a_question_is_answered_where_it_is_asked,
            files_go_both_ways,
            a_stranger_gets_nothing_done,
            a_kill_in_mid_answer_loses_and_doubles_nothing,
            a_long_answer_is_whole,
            a_flood_holds_up_nobody_else,
            another_agent_is_made_and_talked_to,
        );
    };
    ($name:ident, $ground:ty: $($check:ident),+ $(,)?) => {
        #[cfg(test)]
        mod $name {
            $(
                #[tokio::test]
                async fn $check() {
                    Box::pin(crate::checks::$check::<$ground>()).await;
                }
            )+
        }
    };
}

conformance!(on_the_web, crate::web::Web);
conformance!(in_the_terminal, crate::terminal::Terminal);
conformance!(on_matrix, crate::matrix::Matrix);
conformance!(on_telegram, crate::telegram::Telegram);
conformance!(on_discord, crate::discord::Discord);
conformance!(in_a_folder, crate::folder::Folder);
