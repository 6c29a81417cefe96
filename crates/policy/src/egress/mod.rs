//! Where an executor may go.
//!
//! Owns: what a host is, what a rule says, which list of rules allows which request, and which
//! addresses are outside. Promises: what can't be read allows nothing; a task's own list only takes
//! away; a name that was parsed is safe to print, to compare and to resolve.

mod address;
mod allowlist;
mod destination;
mod host;
mod path;
mod rule;
mod spelling;

pub use address::{AddressClass, address_is_public};
pub use allowlist::{Access, Allowlist, Broken, Decision, Denial, Reason};
pub use destination::{Authority, AuthorityError, Destination, Scheme};
pub use host::{Host, HostError};
pub use rule::{Rule, RuleError};
pub use spelling::{one_path, one_query};
