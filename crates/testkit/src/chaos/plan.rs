//! When to kill what. The plan follows from the seed alone.

use std::time::Duration;

use cloister_protocol::AgentFrame;

use super::random::Random;

/// What is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    Control,
    Coordinator,
    Executor,
    Launcher,
}

/// The kinds of frames after which it is worth striking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Accepted,
    Chunk,
    ToolCall,
    ToolResult,
    Task,
    Ask,
    End,
}

impl Moment {
    pub(super) fn of(frame: &AgentFrame) -> Option<Self> {
        match frame {
            AgentFrame::Accepted { .. } => Some(Self::Accepted),
            AgentFrame::TextChunk(_) => Some(Self::Chunk),
            AgentFrame::ToolCall(_) => Some(Self::ToolCall),
            AgentFrame::ToolResult(_) => Some(Self::ToolResult),
            AgentFrame::Update(_) => Some(Self::Task),
            AgentFrame::Ask(_) => Some(Self::Ask),
            AgentFrame::End(_) => Some(Self::End),
            AgentFrame::SendFile(_) | AgentFrame::Error(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Kill {
    pub(super) victim: Victim,
    /// Strike after some client is shown such a frame.
    pub(super) after: Option<Moment>,
    pub(super) delay: Duration,
    /// Which of the possible victims.
    pub(super) choice: u64,
    /// How long the control plane stays down.
    pub(super) down: Duration,
    /// The control plane is killed once more this long after it was started again.
    pub(super) false_start: Option<Duration>,
    /// The control plane is also stopped and started in order, in the middle of the load.
    pub(super) orderly: bool,
}

pub(super) fn plan(seed: u64, kills: usize) -> Vec<Kill> {
    const VICTIMS: [Victim; 10] = [
        Victim::Control,
        Victim::Control,
        Victim::Control,
        Victim::Coordinator,
        Victim::Coordinator,
        Victim::Coordinator,
        Victim::Executor,
        Victim::Executor,
        Victim::Executor,
        Victim::Launcher,
    ];
    const MOMENTS: [Moment; 9] = [
        Moment::Accepted,
        Moment::Chunk,
        Moment::ToolCall,
        Moment::ToolCall,
        Moment::ToolResult,
        Moment::Task,
        Moment::Ask,
        Moment::End,
        Moment::End,
    ];
    let mut random = Random::new(seed, "kills");
    let kill = |_| {
        let victim = random.pick(&VICTIMS, Victim::Control);
        let targeted = random.one_in(2);
        let moment = random.pick(&MOMENTS, Moment::End);
        let millis = random.below(if targeted { 20 } else { 400 });
        Kill {
            victim,
            after: targeted.then_some(moment),
            delay: Duration::from_millis(millis),
            choice: random.next(),
            down: Duration::from_millis(random.below(150)),
            orderly: random.one_in(8),
            false_start: random.one_in(4).then(|| Duration::from_millis(random.below(300))),
        }
    };
    (0..kills).map(kill).collect()
}
