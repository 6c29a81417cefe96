//! The names of places, events and devices that a connector has kept: none is longer than any platform's.

use cloister_protocol::surface::{AnyCall, Heard};

use super::SurfaceRefusal;

/// What no platform's names come near.
const LONGEST_NAME: usize = 1024;

/// Refuses a call that would have a longer one kept.
pub(super) fn bounded(call: &AnyCall) -> Result<(), SurfaceRefusal> {
    let longest = kept_by(call).iter().map(|name| name.len()).max().unwrap_or_default();
    if longest > LONGEST_NAME {
        return Err(SurfaceRefusal::LongName { most: LONGEST_NAME });
    }
    Ok(())
}

fn kept_by(call: &AnyCall) -> Vec<&str> {
    match call {
        AnyCall::PutConversation(c) => c.new.external_id.as_deref().into_iter().collect(),
        AnyCall::ConversationMoved(c) => vec![&c.to],
        AnyCall::SetHome(c) => c.place.as_deref().into_iter().collect(),
        AnyCall::Locate(c) => {
            let mut names = vec![c.sender.as_str()];
            match &c.heard {
                Heard::Direct(id) | Heard::Shared(id) => names.push(id),
                Heard::Thread { of, id, title: _ } | Heard::OwnThread { of, id, title: _ } => {
                    names.extend([of.as_str(), id.as_str()]);
                }
            }
            names
        }
        AnyCall::LetWait(c) => vec![&c.place, &c.event],
        AnyCall::RefuseEvent(c) => vec![&c.event],
        AnyCall::RefusedDevice(c) => vec![&c.place, &c.account, &c.device, &c.event],
        AnyCall::SetEncrypted(c) => vec![&c.place],
        AnyCall::Expect(c) => vec![&c.name, c.proof.expose()],
        _ => Vec::new(),
    }
}
