//! Turns in chats that are already long: their cost must not grow with what was said before.

use super::Plan;
use super::driver::Driver;
use super::floor::Floor;
use super::report::{Aim, Row};
use cloister::CliError;

/// A turn is a message and its answer.
const MESSAGES_PER_TURN: usize = 2;

pub(super) async fn measure(
    plan: &Plan,
    driver: &mut Driver<'_>,
    floor: &mut Floor,
) -> Result<Vec<Row>, CliError> {
    let mut rows: Vec<Row> = Vec::new();
    let mut chat = Growing { driver, floor, messages: 0 };
    for length in plan.history {
        let mut times = Vec::with_capacity(plan.history_turns);
        while times.len() < plan.history_turns {
            chat.reach(length).await?;
            times.push(chat.measured_turn().await?);
        }
        let what = format!("turn in a chat of {length} messages: overhead");
        let row = Row::times(&format!("history.{length}"), &what, times);
        rows.push(match rows.first() {
            Some(shortest) => row.over(shortest).aim(Aim::Flat),
            None => row,
        });
    }
    Ok(rows)
}

struct Growing<'a, 'b> {
    driver: &'a mut Driver<'b>,
    floor: &'a mut Floor,
    messages: usize,
}

impl Growing<'_, '_> {
    /// Goes on until the chat has about this many messages, in a new chat if it has far more.
    async fn reach(&mut self, length: usize) -> Result<(), CliError> {
        if self.messages == 0 || self.messages > length + length / 2 {
            self.driver.new_chat().await?;
            self.messages = 0;
        }
        while self.messages < length {
            self.driver.turn().await?;
            self.messages += MESSAGES_PER_TURN;
        }
        Ok(())
    }

    async fn measured_turn(&mut self) -> Result<std::time::Duration, CliError> {
        let round = self.driver.round(self.floor).await?;
        self.messages += MESSAGES_PER_TURN;
        Ok(round.overhead())
    }
}
