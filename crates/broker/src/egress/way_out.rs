//! How connectors reach their platforms. Which hosts those are is control's to say; here is seen to it that a host
//! on the internet is there, and not on this machine or beside it.

use cloister_protocol::with_causes;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::{OutsideStream, WayOut, Whereabouts};
use cloister_policy::egress::Host;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::network::{Network, SystemNetwork};

/// How long a name may take to be found.
const FOUND_WITHIN: Duration = Duration::from_secs(10);
/// How long one address may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Addresses of one name that are tried.
const TRIED: usize = 4;

/// The way out of connectors' sandboxes.
pub struct ConnectorsWayOut {
    network: Arc<dyn Network>,
}

impl Default for ConnectorsWayOut {
    fn default() -> Self {
        Self { network: Arc::new(SystemNetwork::default()) }
    }
}

impl ConnectorsWayOut {
    async fn find(&self, host: &str, whereabouts: Whereabouts) -> io::Result<Vec<IpAddr>> {
        let found = match host.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let name: Host = host.parse().map_err(|error| {
                    io::Error::new(
                        io::ErrorKind::InvalidInput,
                        format!("{host}: {error}", error = with_causes(&error)),
                    )
                })?;
                let asked = timeout(FOUND_WITHIN, self.network.resolve(&name)).await;
                asked.map_err(|_late| late(host))??
            }
        };
        if whereabouts == Whereabouts::Public {
            self.check(host, &found)?;
        }
        Ok(found)
    }

    /// One bad address among good ones is enough.
    fn check(&self, host: &str, found: &[IpAddr]) -> io::Result<()> {
        let own = self.network.own_addresses()?;
        for address in found {
            let refused = |what: &dyn std::fmt::Display| {
                let message = format!("{host} is at {address}, which is {what}");
                io::Error::new(io::ErrorKind::PermissionDenied, message)
            };
            self.network.judge(*address).map_err(|class| refused(&class))?;
            if own.contains(address) {
                return Err(refused(&"this machine's own"));
            }
        }
        Ok(())
    }

    async fn connect(
        &self,
        (host, port): (&str, u16),
        whereabouts: Whereabouts,
    ) -> io::Result<Box<dyn OutsideStream>> {
        let found = self.find(host, whereabouts).await?;
        let none = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
        let mut failed = none;
        for address in found.into_iter().take(TRIED) {
            let dialled = self.network.connect(SocketAddr::new(address, port));
            match timeout(ANSWERS_WITHIN, dialled).await {
                Ok(Ok(stream)) => return Ok(Box::new(stream)),
                Ok(Err(error)) => failed = error,
                Err(_late) => failed = late(host),
            }
        }
        Err(failed)
    }
}

fn late(host: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{host} did not answer in time"))
}

impl WayOut for ConnectorsWayOut {
    fn dial<'a>(
        &'a self,
        host: &'a str,
        port: u16,
        where_it_may_be: Whereabouts,
    ) -> BoxFuture<'a, io::Result<Box<dyn OutsideStream>>> {
        self.connect((host, port), where_it_may_be).boxed()
    }
}
