//! Group D, as far as it is the sandbox's: there is no way out but the door. What the door lets through
//! is the broker's part.

use std::net::UdpSocket;

use crate::suite::{Attack, Suite, Weak};

pub(crate) async fn attack(suite: &mut Suite) {
    let address = own_address();
    let host = &suite.host;
    let port = host.loopback.local_addr().unwrap().port().to_string();
    let sockets = vec![port, host.abstract_name.clone(), host.path("host.sock")];
    let network = Weak::Without("network_namespace");
    let names = Weak::Without("network_namespace+own_root+landlock");
    for (id, what, args, weak) in [
        ("E33", "reach the network", vec![address.clone()], network),
        ("E34", "reach the host's sockets", sockets, names.clone()),
        ("E45", "ask for names", vec![address], names),
    ] {
        suite.attack(Attack { id, what, args, as_root: weak.clone(), as_user: weak }).await;
    }
}

/// An address that the host can reach wherever it runs: one of its own.
fn own_address() -> String {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent by this; it only picks the way.
    match socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr()) {
        Ok(address) => address.ip().to_string(),
        Err(_no_network) => "127.0.0.1".to_owned(),
    }
}
