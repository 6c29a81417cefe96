//! Who may connect, and who is connected.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloister_control::rows::LiveClient;
use cloister_pki::{ClientName, Moment, Presented, Roster};
use cloister_protocol::{ClientId, UserId};
use tokio_util::sync::CancellationToken;

#[derive(Default)]
pub(super) struct Clients {
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    admitted: HashMap<ClientId, UserId>,
    open: HashMap<u64, OpenConnection>,
    next: u64,
}

struct OpenConnection {
    name: ClientName,
    root: u32,
    expires: Moment,
    close: CancellationToken,
}

impl Table {
    fn admits(&self, name: ClientName) -> bool {
        self.admitted.get(&name.client) == Some(&name.user)
    }
}

impl Roster for Clients {
    fn admits(&self, name: ClientName) -> bool {
        self.lock().admits(name)
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on these may connect; the connections of everybody else are closed.
    pub(super) fn replace(&self, live: &[LiveClient], now: Moment) {
        let mut table = self.lock();
        table.admitted = live.iter().map(|client| (client.id, client.user)).collect();
        for open in table.open.values() {
            if now >= open.expires || !table.admits(open.name) {
                open.close.cancel();
            }
        }
    }

    /// Closes the connections whose certificate comes from another root than these.
    pub(super) fn keep_roots(&self, roots: &[u32]) {
        for open in self.lock().open.values().filter(|open| !roots.contains(&open.root)) {
            open.close.cancel();
        }
    }

    /// Notes a connection; none if the client was revoked since its handshake.
    pub(super) fn enter(self: &Arc<Self>, shown: &Presented, root: u32) -> Option<Entered> {
        let mut table = self.lock();
        if !table.admits(shown.name) {
            return None;
        }
        let number = table.next;
        table.next += 1;
        let close = CancellationToken::new();
        let open =
            OpenConnection { name: shown.name, root, expires: shown.expires, close: close.clone() };
        table.open.insert(number, open);
        drop(table);
        Some(Entered { clients: Arc::clone(self), number, close })
    }

    pub(super) fn connections_of(&self, client: ClientId) -> usize {
        self.lock().open.values().filter(|open| open.name.client == client).count()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().open.is_empty()
    }
}

/// A connection that is noted; it is forgotten when this is dropped.
pub(super) struct Entered {
    clients: Arc<Clients>,
    number: u64,
    close: CancellationToken,
}

impl Entered {
    /// Cancelled when the connection must end.
    pub(super) fn close(&self) -> &CancellationToken {
        &self.close
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.clients.lock().open.remove(&self.number);
    }
}
