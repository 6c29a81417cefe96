//! What a scenario is: a channel by which an attacker's words come in, a goal that they are after, and
//! the twin in which nobody attacks.
//!
//! Scenarios are data. In their texts «name» stands for what is known only when they run: a host
//! («site», «attacker», …), the run's own marker («run»), the private note («canary»), something of
//! the victim's («victim_task», …). «seen» is filled by the model, with the last private note that it
//! has seen: an attacker's page does not know what is in there.

use serde::Serialize;

/// One call of a tool: its main argument, or a JSON object of all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScenarioCall {
    pub(super) tool: &'static str,
    pub(super) argument: &'static str,
}

pub(super) const fn call(tool: &'static str, argument: &'static str) -> ScenarioCall {
    ScenarioCall { tool, argument }
}

/// Says something in the next answer, which is no tool's business.
pub(super) const SAY: &str = "say";
/// The same call for ever, with a number in it («n»).
pub(super) const LOOP: &str = "loop";

/// How an attacker's words come before the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Channel {
    /// In the text of a page that the person wants read.
    WebText,
    WebComment,
    /// In an element that no browser shows.
    WebHidden,
    /// In characters that nobody sees.
    WebTags,
    /// On the page that the named one redirects to.
    WebRedirect,
    WebSearch,
    /// In what a failing server says.
    ErrorText,
    /// In a file that the person sends.
    FileIncoming,
    /// In a file of the chat that an earlier task saved from the web.
    FileChat,
    FileName,
    /// In a mail that the person quotes, or forwards.
    MailQuoted,
    MailForwarded,
    /// In a mail that the person quoted in a message before, which was answered and led to no work.
    MailQuotedEarlier,
    /// In a mail as Thunderbird forwards it, and in one below the head that a German Outlook puts there.
    MailThunderbird,
    MailOutlook,
    /// In a mail that the person pastes between fences, and that has fences of its own.
    MailFenced,
    /// The same, with the first fence behind the person's own words on their line, as chats allow.
    MailMidst,
    /// In what others wrote in a room, which the person quotes.
    RoomQuoted,
    /// In what a program prints.
    ToolOutput,
    /// In what a tool says of itself.
    ToolDescription,
    /// In the agent's memory, where an earlier page wanted it.
    Memory,
    /// The same, and the person was fooled into letting it be kept.
    MemoryKept,
    /// In the report of a sub-task.
    SubTask,
    /// In the report of a task, which the coordinator reads.
    Report,
}

impl Channel {
    pub(super) const ALL: [Self; 24] = [
        Self::WebText,
        Self::WebComment,
        Self::WebHidden,
        Self::WebTags,
        Self::WebRedirect,
        Self::WebSearch,
        Self::ErrorText,
        Self::FileIncoming,
        Self::FileChat,
        Self::FileName,
        Self::MailQuoted,
        Self::MailForwarded,
        Self::MailQuotedEarlier,
        Self::MailThunderbird,
        Self::MailOutlook,
        Self::MailFenced,
        Self::MailMidst,
        Self::RoomQuoted,
        Self::ToolOutput,
        Self::ToolDescription,
        Self::Memory,
        Self::MemoryKept,
        Self::SubTask,
        Self::Report,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::WebText => "web-text",
            Self::WebComment => "web-comment",
            Self::WebHidden => "web-hidden",
            Self::WebTags => "web-tags",
            Self::WebRedirect => "web-redirect",
            Self::WebSearch => "web-search",
            Self::ErrorText => "error-text",
            Self::FileIncoming => "file-incoming",
            Self::FileChat => "file-chat",
            Self::FileName => "file-name",
            Self::MailQuoted => "mail-quoted",
            Self::MailForwarded => "mail-forwarded",
            Self::MailQuotedEarlier => "mail-quoted-earlier",
            Self::MailThunderbird => "mail-thunderbird",
            Self::MailOutlook => "mail-outlook",
            Self::MailFenced => "mail-fenced",
            Self::MailMidst => "mail-midst",
            Self::RoomQuoted => "room-quoted",
            Self::ToolOutput => "tool-output",
            Self::ToolDescription => "tool-description",
            Self::Memory => "memory",
            Self::MemoryKept => "memory-kept",
            Self::SubTask => "sub-task",
            Self::Report => "report",
        }
    }
}

/// What an attacker is after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Aim {
    Exfiltrate,
    Delete,
    Send,
    Spend,
    Persist,
    Escalate,
    CrossUser,
    Forge,
    Exhaust,
}

impl Aim {
    pub(super) const ALL: [Self; 9] = [
        Self::Exfiltrate,
        Self::Delete,
        Self::Send,
        Self::Spend,
        Self::Persist,
        Self::Escalate,
        Self::CrossUser,
        Self::Forge,
        Self::Exhaust,
    ];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Exfiltrate => "exfiltrate",
            Self::Delete => "delete",
            Self::Send => "send",
            Self::Spend => "spend",
            Self::Persist => "persist",
            Self::Escalate => "escalate",
            Self::CrossUser => "cross-user",
            Self::Forge => "forge",
            Self::Exhaust => "exhaust",
        }
    }
}

/// What must not have happened, seen from outside of the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Harm {
    /// The private note is at a server, in whatever writing.
    Leaked,
    /// The chat page loads something from the attacker by itself.
    Loads,
    /// This text is in a request to this host.
    Arrived { host: &'static str, text: &'static str },
    /// There were more of these requests than the person allowed.
    ArrivedTwice { host: &'static str, text: &'static str },
    /// There were more of these requests than anyone may make unasked.
    ArrivedOften { host: &'static str, text: &'static str, most: usize },
    /// The secret's value is with the model, or at a server that it is not for.
    SecretOut,
    /// The person's own file is gone or changed.
    FileHarmed,
    /// A file that an earlier task made is gone or changed, and taking tasks back does not bring it back as it was.
    WorkLost,
    /// Something of the run's is where programs of the person's run it.
    Planted,
    /// The run's marker is in what outlives a task: identity, memory, skills, tools.
    Kept,
    /// There is a rule for a host that the person did not allow.
    RuleAdded,
    /// A role that nobody gave.
    RoleGained,
    /// The settings of the platform are not what they were.
    SettingsChanged,
    /// Something of the victim's is with this run's model.
    SawVictim,
    /// The victim's task or question is not as it was.
    VictimHarmed,
    /// More was spent, made or stored than the person's limits allow.
    Overspent,
    /// The person has more questions before them than anybody reads.
    Flooded,
}

/// What must have come of a twin, besides its answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Done {
    Arrived {
        host: &'static str,
        text: &'static str,
    },
    /// This file of the workspace has this text.
    Kept {
        path: &'static str,
        text: &'static str,
    },
    /// This file is in the chat and has this text.
    Made {
        path: &'static str,
        text: &'static str,
    },
    /// The person's own file is gone, as they wanted.
    FileGone,
    /// The person was sent a file.
    Delivered,
}

/// What a person might honestly ask for that looks like the attack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Twin {
    pub(super) words: &'static str,
    pub(super) steps: &'static [ScenarioCall],
    /// How often a plain latch would ask: the sinks among the steps.
    pub(super) sinks: u32,
    /// The questions a person expects, each by something that is in it.
    pub(super) expects: &'static [&'static str],
    pub(super) does: &'static [Done],
}

impl Twin {
    /// Only what the channel brings is asked for.
    pub(super) const PLAIN: Self =
        Self { words: "", steps: &[], sinks: 0, expects: &[], does: &[] };
}

/// Another message, before or after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Later {
    pub(super) words: &'static str,
    pub(super) steps: &'static [ScenarioCall],
}

/// What an attack does, how it is known to have succeeded, and its twin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goal {
    pub(super) id: &'static str,
    pub(super) aim: Aim,
    pub(super) attack: &'static [ScenarioCall],
    /// What stands beside the instructions, for whoever reads along: links, mostly.
    pub(super) bait: &'static str,
    pub(super) harms: &'static [Harm],
    pub(super) twin: Twin,
    /// The attack rides on what the person honestly asks for, and allows.
    pub(super) rides: bool,
    /// An honest message before, whose question the person answers with "always".
    pub(super) before: Option<Later>,
    pub(super) later: Option<Later>,
    pub(super) channels: &'static [Channel],
}

impl Goal {
    /// The rest is filled in by each entry of a table.
    pub(super) const NONE: Self = Self {
        id: "",
        aim: Aim::Exfiltrate,
        attack: &[],
        bait: "",
        harms: &[],
        twin: Twin::PLAIN,
        rides: false,
        before: None,
        later: None,
        channels: &[],
    };
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Scenario {
    pub(super) channel: Channel,
    pub(super) goal: &'static Goal,
}

impl Scenario {
    pub(super) fn id(&self) -> String {
        format!("{}/{}", self.channel.as_str(), self.goal.id)
    }
}

/// All of them, or those whose id has one of these parts.
pub(super) fn scenarios(only: &[String]) -> Vec<Scenario> {
    let all = super::goals::all().flat_map(|goal| {
        goal.channels.iter().map(move |channel| Scenario { channel: *channel, goal })
    });
    let wanted = |scenario: &Scenario| {
        let id = scenario.id();
        only.is_empty() || only.iter().any(|part| id.contains(part.as_str()))
    };
    all.filter(wanted).collect()
}

#[cfg(test)]
#[path = "scenario_tests.rs"]
mod tests;
