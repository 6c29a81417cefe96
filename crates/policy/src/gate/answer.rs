//! Answers of people to an approval, and what they come to together.

use cloister_protocol::{Answer, UserId};

use super::effect::{Digest, Effect};
use super::grant::Reach;
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

/// What an approval has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// This many people more must answer.
    Waiting {
        people: u8,
    },
    Allowed {
        reach: Reach,
    },
    Denied {
        stop: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("what was approved is not what is asked for now: look at it again")]
    Changed,
    #[error("it has been answered already")]
    Closed,
    #[error("you have answered; another person must answer as well")]
    SamePerson,
    #[error("this answer is not one of those that were offered")]
    NotOffered,
}

/// A question that waits for answers, bound to one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ballot {
    effect: Effect,
    digest: Digest,
    people: u8,
    offered: Vec<Answer>,
    answers: Vec<(UserId, Answer)>,
}

impl Ballot {
    pub fn new(effect: Effect, class: Class, people: u8, untrusted: bool) -> Self {
        let digest = effect.digest();
        let people = people.max(1);
        let offered = offered(&effect, class, people, untrusted);
        Self { effect, digest, people, offered, answers: Vec::new() }
    }

    pub const fn digest(&self) -> Digest {
        self.digest
    }

    pub fn offered(&self) -> &[Answer] {
        &self.offered
    }

    /// Takes one person's answer to what they saw. That they may answer is the engine's to say.
    pub fn answer(
        &mut self,
        user: UserId,
        answer: Answer,
        saw: Digest,
    ) -> Result<Settled, AnswerError> {
        match self.settled() {
            Settled::Waiting { .. } => {}
            Settled::Allowed { .. } | Settled::Denied { .. } => return Err(AnswerError::Closed),
        }
        if saw != self.digest {
            return Err(AnswerError::Changed);
        }
        if !answer.is_among(&self.offered) {
            return Err(AnswerError::NotOffered);
        }
        if self.answers.iter().any(|(earlier, _)| *earlier == user) {
            return Err(AnswerError::SamePerson);
        }
        self.answers.push((user, answer));
        Ok(self.settled())
    }

    pub fn settled(&self) -> Settled {
        match tally(self.people, &self.answers) {
            Tally::Waiting { people } => Settled::Waiting { people },
            Tally::Allowed(narrowest) => Settled::Allowed { reach: self.reach(narrowest) },
            Tally::Denied { stop } => Settled::Denied { stop },
        }
    }

    fn reach(&self, narrowest: Answer) -> Reach {
        let (task, effect) = (self.effect.asker.task, self.digest);
        let once = Reach::Once { task, effect };
        match narrowest {
            Answer::AllowForTask => task.map_or(once, |task| Reach::Task { task, effect }),
            Answer::AllowAlways => {
                Template::of(&self.effect).map_or(once, |template| Reach::Always { template })
            }
            Answer::Allow | Answer::Deny | Answer::DenyAndStop => once,
        }
    }
}

/// What answers come to, apart from what they were about.
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
