//! One connected account: what every part of this crate works with.

use std::sync::OnceLock;

use cloister_kit::Plane;
use cloister_protocol::surface::options::MatrixOptions;
use cloister_protocol::surface::{Connector, ConnectorId};
use matrix_sdk::Client;
use ref_cast::RefCast;
use serde::{Deserialize, Serialize};

use crate::incoming::{
    Devices, DevicesState, Intake, IntakeState, Privacy, Reactions, Sayings, SayingsState,
    Speakers, SpeakersState,
};
use crate::outgoing::{Sending, SendingState};
use crate::rooms::{
    Comparison, Homeserver, Lobbies, Making, Members, Rooms, RoomsState, Strangers, Survey,
};
use crate::secrecy::{Encryption, Sealed};
use crate::session::verification::{Running, Verifications};

/// What is kept about an account besides its address; none of it is secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BotSettings {
    /// Whether new rooms are end-to-end encrypted.
    pub(crate) encrypted: bool,
    pub(crate) device_id: String,
}

/// A logged-in account.
pub struct Bot {
    pub(crate) plane: Plane,
    /// As it was when the account was connected; the control plane keeps its position.
    pub(crate) connector: Connector,
    pub(crate) settings: BotSettings,
    pub(crate) options: MatrixOptions,
    pub(crate) client: Client,
    /// The largest file that the homeserver takes, if it says so.
    pub(crate) server_takes: OnceLock<u64>,
    pub(crate) intake: IntakeState,
    pub(crate) sayings: SayingsState,
    pub(crate) speakers: SpeakersState,
    pub(crate) devices: DevicesState,
    pub(crate) sending: SendingState,
    pub(crate) rooms: RoomsState,
    pub(crate) sealed: Sealed,
    pub(crate) verifications: Running,
}

impl Bot {
    pub(crate) const fn id(&self) -> ConnectorId {
        self.connector.id
    }

    /// The largest file that is taken or sent, in bytes.
    pub(crate) fn largest_file(&self) -> u64 {
        let ours = self.options.max_file_mb.saturating_mul(1024 * 1024);
        self.server_takes.get().map_or(ours, |server| ours.min(*server))
    }
}

/// The parts, each by its handle.
impl Bot {
    pub(crate) fn intake(&self) -> &Intake {
        Intake::ref_cast(self)
    }

    pub(crate) fn speakers(&self) -> &Speakers {
        Speakers::ref_cast(self)
    }

    pub(crate) fn devices(&self) -> &Devices {
        Devices::ref_cast(self)
    }

    pub(crate) fn reactions(&self) -> &Reactions {
        Reactions::ref_cast(self)
    }

    pub(crate) fn privacy(&self) -> &Privacy {
        Privacy::ref_cast(self)
    }

    pub(crate) fn sayings(&self) -> &Sayings {
        Sayings::ref_cast(self)
    }

    pub(crate) fn sending(&self) -> &Sending {
        Sending::ref_cast(self)
    }

    pub(crate) fn rooms(&self) -> &Rooms {
        Rooms::ref_cast(self)
    }

    pub(crate) fn making(&self) -> &Making {
        Making::ref_cast(self)
    }

    pub(crate) fn members(&self) -> &Members {
        Members::ref_cast(self)
    }

    pub(crate) fn lobbies(&self) -> &Lobbies {
        Lobbies::ref_cast(self)
    }

    pub(crate) fn strangers(&self) -> &Strangers {
        Strangers::ref_cast(self)
    }

    pub(crate) fn comparison(&self) -> &Comparison {
        Comparison::ref_cast(self)
    }

    pub(crate) fn survey(&self) -> &Survey {
        Survey::ref_cast(self)
    }

    pub(crate) fn homeserver(&self) -> &Homeserver {
        Homeserver::ref_cast(self)
    }

    pub(crate) fn encryption(&self) -> &Encryption {
        Encryption::ref_cast(self)
    }

    pub(crate) fn verifications(&self) -> &Verifications {
        Verifications::ref_cast(self)
    }
}
