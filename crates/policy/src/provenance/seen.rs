//! What passed through the broker on its way into a task: the links in it, and the hosts it was
//! fetched from. Recorded where it can't be forged, by the control plane.

use std::collections::BTreeSet;

use super::address::Address;
use crate::egress::Host;

/// More links than this are forgotten, and then asked about.
const MAX_LINKS: usize = 20_000;
/// The same of their bytes.
const MAX_LINK_BYTES: usize = 4 << 20;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    links: BTreeSet<Address>,
    /// How much the links take.
    bytes: usize,
    hosts: BTreeSet<Host>,
}

impl Seen {
    /// A host that the task went to before anything untrusted was in it.
    pub fn visit(&mut self, host: &Host) {
        self.hosts.insert(host.clone());
    }

    pub fn visited(&self, host: &Host) -> bool {
        self.hosts.contains(host)
    }

    pub fn has_link(&self, address: &Address) -> bool {
        self.links.contains(address)
    }

    pub fn links(&self) -> impl Iterator<Item = &Address> {
        self.links.iter()
    }

    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.hosts.iter()
    }

    /// A link that was recorded before.
    pub fn link(&mut self, link: &str) {
        self.add(Address::parse(link));
    }

    /// A page that was fetched: the links on it, whole or relative to where it was.
    pub fn page(&mut self, at: &Address, text: &str) {
        for attribute in ["href=\"", "href='", "src=\"", "](", "<loc>"] {
            for rest in text.split(attribute).skip(1) {
                let end = rest.find(['"', '\'', ')', '>', '<', ' ', '\n']).unwrap_or(rest.len());
                let link = rest.get(..end).unwrap_or_default().replace("&amp;", "&");
                self.add(at.link(&link));
            }
        }
        self.text(text);
    }

    /// Other content: the whole addresses in it.
    pub fn text(&mut self, text: &str) {
        for scheme in ["https://", "http://"] {
            for rest in text.split(scheme).skip(1) {
                let ends = |c: char| c.is_whitespace() || "\"'<>()[]{}`|\\^".contains(c);
                let end = rest.find(ends).unwrap_or(rest.len());
                let link = rest.get(..end).unwrap_or_default().replace("&amp;", "&");
                let link = link.trim_end_matches(['.', ',', ';', ':', '!', '?']);
                self.add(Address::parse(&format!("{scheme}{link}")));
            }
        }
    }

    /// The links of these that there is room for and that are not known.
    pub fn new_in<'a>(&self, more: &'a Self) -> Vec<&'a Address> {
        let (mut count, mut bytes) = (self.links.len(), self.bytes);
        let mut fits = |link: &&Address| {
            let size = size(link);
            let fits = count < MAX_LINKS && bytes + size <= MAX_LINK_BYTES;
            if fits {
                (count, bytes) = (count + 1, bytes + size);
            }
            fits
        };
        more.links.iter().filter(|link| !self.has_link(link)).filter(|link| fits(link)).collect()
    }

    fn add(&mut self, address: Option<Address>) {
        let Some(address) = address else { return };
        let size = size(&address);
        let fits = self.links.len() < MAX_LINKS && self.bytes + size <= MAX_LINK_BYTES;
        if fits && self.links.insert(address) {
            self.bytes += size;
        }
    }
}

fn size(link: &Address) -> usize {
    let query = link.query.as_ref().map_or(0, String::len);
    link.host.as_str().len() + link.path.len() + query
}
