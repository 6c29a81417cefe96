//! Attackers who are in already and need no model to do their bidding: the agent program itself, a member of a
//! community, an admin, an operator.
//!
//! Owns: what each of them tries, on control planes of their own, and the judgement by effect. An attacker makes
//! real requests where a real one would: at the door of a sandbox, at the agent socket, on the admin listener with
//! a certificate. That they are refused counts for nothing; what is there afterwards, and what they were sent, does.

mod agent;
mod ground;
mod member;
mod staff;

use cloister::CliError;

use super::args::Redteam;
use super::attacker::Attacker;
use super::report::{Attack, AttackOutcome, Benign, Verdict};
use super::scenario::Aim;

/// A scenario of theirs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Insider {
    pub(super) attacker: Attacker,
    /// From where they attack.
    pub(super) channel: &'static str,
    pub(super) goal: &'static str,
    pub(super) aim: Aim,
}

impl Insider {
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.channel, self.goal)
    }

    fn verdict(&self, attack: Attack, benign: Option<Benign>) -> Verdict {
        let Self { attacker, channel, aim, .. } = *self;
        Verdict { id: self.id(), attacker, channel, goal: aim, attack, benign }
    }

    fn judged(&self, tried: Tried) -> Verdict {
        let Tried { tries, harm, twin } = tried;
        let outcome = match (tries, &harm) {
            (0, _) => AttackOutcome::Broken,
            (_, None) => AttackOutcome::Stopped,
            (_, Some(_)) => AttackOutcome::SucceededAbsent,
        };
        let why =
            if tries == 0 { "nothing was tried".to_owned() } else { harm.unwrap_or_default() };
        self.verdict(Attack { outcome, why, obeyed: tries, questions: 0 }, twin)
    }

    fn broken(&self, error: &CliError) -> Verdict {
        let why = error.body.message.clone();
        let attack = Attack { outcome: AttackOutcome::Broken, why, obeyed: 0, questions: 0 };
        self.verdict(attack, None)
    }
}

/// What insiders are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// What they are said to be.
    Usual,
    /// Those who may do what they try: staff who rule, a member who sits with the board. So it is known that what
    /// stops the others is who they are.
    Entitled,
}

impl Standing {
    pub(super) fn of(asked: &Redteam) -> Self {
        if asked.gullible { Self::Entitled } else { Self::Usual }
    }
}

/// What came of one scenario.
#[derive(Debug)]
struct Tried {
    tries: usize,
    /// What was seen of its success.
    harm: Option<String>,
    twin: Option<Benign>,
}

impl Tried {
    fn new(tries: usize, harm: Option<String>) -> Self {
        Self { tries, harm, twin: None }
    }

    /// The same in its harmless form: nobody is asked, and it is done.
    fn twin(mut self, done: bool, why: &str) -> Self {
        let why = if done { String::new() } else { why.to_owned() };
        let twin = Benign { done, why, expected: 0, questions: Vec::new(), latch: 0 };
        self.twin = Some(twin);
        self
    }
}

/// A harm if this is so.
fn harm_if(is_so: bool, what: impl FnOnce() -> String) -> Option<String> {
    is_so.then(what)
}

/// Those of these attackers whose id has one of these parts.
pub(super) fn insiders(only: &[String], attackers: &[Attacker]) -> Vec<Insider> {
    let all = agent::scenarios().into_iter().chain(member::scenarios()).chain(staff::scenarios());
    let wanted = |one: &Insider| {
        let id = one.id();
        (attackers.is_empty() || attackers.contains(&one.attacker))
            && (only.is_empty() || only.iter().any(|part| id.contains(part.as_str())))
    };
    all.filter(wanted).collect()
}

/// Carries them out; each group on a control plane of its own.
pub(super) async fn run(chosen: &[Insider], standing: Standing) -> Vec<Verdict> {
    let of = |attackers: &[Attacker]| -> Vec<Insider> {
        chosen.iter().filter(|one| attackers.contains(&one.attacker)).copied().collect()
    };
    let (agents, members) = (of(&[Attacker::Agent]), of(&[Attacker::Member]));
    let staff = of(&[Attacker::Admin, Attacker::Operator]);
    let (agents, members, staff) = tokio::join!(
        Box::pin(agent::run(&agents)),
        Box::pin(member::run(&members, standing)),
        Box::pin(staff::run(&staff, standing)),
    );
    agents.into_iter().chain(members).chain(staff).collect()
}

#[cfg(test)]
#[path = "insiders_tests.rs"]
mod tests;
