//! Answers of people to an approval, and what they come to together.

use cloister_protocol::{Answer, UserId};

use super::effect::Effect;
use super::template::Template;
use crate::class::Class;

/// What is remembered of a plain yes: an action of the middle class, to the byte. None: it is asked
/// about each time, or "always" has to be said, because it would cover more than was seen.
pub fn remembered(effect: &Effect, class: Class, people: u8) -> Option<Template> {
    let once = class == Class::Middle && people < 2;
    Template::of(effect).filter(|template| once && template.is_exact())
}

/// Which answers are offered, the expected one first.
pub fn offered(effect: &Effect, class: Class, people: u8, untrusted: bool) -> Vec<Answer> {
    let for_task = effect.asker.task.is_some();
    let mut answers = Vec::new();
    if remembered(effect, class, people).is_some() {
        // Asked once, then remembered: who the content is from makes no difference to what it does.
        answers.push(Answer::AllowAlways);
    } else {
        answers.push(Answer::Allow);
    }
    if for_task {
        answers.push(Answer::AllowForTask);
    }
    let always = Template::of(effect).is_some() && people < 2 && !untrusted;
    match (always && !answers.contains(&Answer::AllowAlways), class) {
        (true, Class::Safe | Class::Middle) => answers.insert(0, Answer::AllowAlways),
        (true, Class::Destructive | Class::Outward) => answers.push(Answer::AllowAlways),
        (false, _) => {}
    }
    answers.push(Answer::Deny);
    if for_task {
        answers.push(Answer::DenyAndStop);
    }
    answers
}

/// What answers come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tally {
    /// This many people more must answer.
    Waiting {
        people: u8,
    },
    /// The narrowest of the answers.
    Allowed(Answer),
    Denied {
        stop: bool,
    },
}

/// One denial denies; otherwise it takes as many people as are demanded, and the narrowest of their
/// answers counts. Each person counts once.
pub fn tally(people: u8, answers: &[(UserId, Answer)]) -> Tally {
    let mut narrowest: Option<(u8, Answer)> = None;
    let mut given: Vec<UserId> = Vec::new();
    for (user, answer) in answers {
        let width = match answer {
            Answer::Deny => return Tally::Denied { stop: false },
            Answer::DenyAndStop => return Tally::Denied { stop: true },
            Answer::Allow => 0,
            Answer::AllowForTask => 1,
            Answer::AllowAlways => 2,
        };
        if given.contains(user) {
            continue;
        }
        given.push(*user);
        if narrowest.is_none_or(|(other, _)| width < other) {
            narrowest = Some((width, *answer));
        }
    }
    let given = u8::try_from(given.len()).unwrap_or(u8::MAX);
    let people = people.max(1);
    match narrowest.filter(|_| given >= people) {
        None => Tally::Waiting { people: people.saturating_sub(given) },
        Some((_, answer)) => Tally::Allowed(answer),
    }
}
