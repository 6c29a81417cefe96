//! Which part asks which others, and so may fail with what those refuse.
//!
//! The compiler holds the parts to these lines: a `?` on what a part refuses that is not named behind the asker is no
//! code. Faults pass everywhere.

use super::Failed;
use crate::agents::AgentRefusal;
use crate::cells::CellRefusal;
use crate::commands::CommandRefusal;
use crate::config::ConfigRefusal;
use crate::egress::EgressRefusal;
use crate::gates::GateRefusal;
use crate::inbox::InboxRefusal;
use crate::people::PeopleRefusal;
use crate::secrets::SecretsRefusal;
use crate::stop::StopRefusal;
use crate::surfaces::SurfaceRefusal;
use crate::tasks::TaskRefusal;

macro_rules! asks {
    ($($asker:ident: $($asked:ident),+;)+) => {$($(
        impl From<Failed<$asked>> for Failed<$asker> {
            fn from(failed: Failed<$asked>) -> Self {
                failed.pass_on()
            }
        }

        impl From<$asked> for Failed<$asker> {
            fn from(refusal: $asked) -> Self {
                Failed::Refused(refusal).pass_on()
            }
        }
    )+)+};
}

asks! {
    AgentRefusal: ConfigRefusal;
    CellRefusal: CommandRefusal, EgressRefusal, GateRefusal, PeopleRefusal, TaskRefusal;
    CommandRefusal: AgentRefusal, CellRefusal, EgressRefusal, GateRefusal, PeopleRefusal, StopRefusal, SurfaceRefusal,
        TaskRefusal;
    GateRefusal: CellRefusal, ConfigRefusal, PeopleRefusal, TaskRefusal;
    InboxRefusal: CommandRefusal, PeopleRefusal;
    PeopleRefusal: SurfaceRefusal;
    SurfaceRefusal: GateRefusal, InboxRefusal, PeopleRefusal, SecretsRefusal;
    TaskRefusal: CellRefusal, GateRefusal, PeopleRefusal, StopRefusal;
}
