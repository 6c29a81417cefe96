//! Git reading a repository over HTTP, told apart from what only looks like it.
//!
//! Reading is by method, address, content type and body together. In a task with foreign content the
//! broker speaks for git: it says again what was asked, in lines of its own, and wants only objects
//! that it saw this repository offer to this task. What git would say about itself, and which objects
//! it has already, does not leave.

mod asks;
mod lines;
mod offered;

use bytes::Bytes;

use super::{Content, Draft};
use crate::egress::Destination;
use asks::Asks;
pub use offered::Repositories;

pub const REQUEST_TYPE: &str = "application/x-git-upload-pack-request";
const AGENT: &str = "git/2.0-cloister";

/// One read of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The path of the repository.
    pub repository: String,
    /// Whether its answer says what the repository offers.
    pub lists: bool,
    kind: GitRequestKind,
    version: Version,
    /// What was chosen in it, in bits, besides the repository.
    pub bits: u32,
    body: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitRequestKind {
    /// `GET …/info/refs?service=git-upload-pack`
    Refs,
    /// `POST …/git-upload-pack`
    UploadPack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V0,
    V2,
}

impl Read {
    /// None where it is something else, or could be.
    pub(super) fn of(draft: &Draft<'_>, content: Content<'_>) -> Option<Self> {
        let path = &draft.to.path;
        if draft.method == "GET" && draft.query == Some("service=git-upload-pack") {
            let repository = path.strip_suffix("/info/refs")?.to_owned();
            if !draft.body.is_empty() {
                return None;
            }
            let version = version_of(draft.headers);
            let kind = GitRequestKind::Refs;
            // Which version; and that it is this and none of the other reads.
            let bits = 3;
            return Some(Self { repository, lists: true, kind, version, bits, body: None });
        }
        let repository = path.strip_suffix("/git-upload-pack")?.to_owned();
        let header = |name: &str| {
            let mut said =
                draft.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
            let first = said.next().map(|(_, value)| value.trim().to_ascii_lowercase());
            (first, said.next().is_some())
        };
        let typed = header("content-type") == (Some(REQUEST_TYPE.to_owned()), false);
        let encoded = header("content-encoding").0.is_some();
        if draft.method != "POST" || draft.query.is_some() || !typed || encoded {
            return None;
        }
        let asks = Asks::parse(draft.body)?;
        let (body, bits) = match content {
            Content::Own => (None, 0),
            Content::Foreign(known) => {
                let offered = known.get(&place(draft.to, &repository))?;
                let (body, bits) = asks.said_again(offered)?;
                (Some(body), bits)
            }
        };
        let (lists, version) = (asks.lists(), asks.version);
        Some(Self { repository, lists, kind: GitRequestKind::UploadPack, version, bits, body })
    }

    /// Where the repository is, whole.
    pub fn place(&self, to: &Destination) -> String {
        place(to, &self.repository)
    }

    /// What is said in place of what the program said; none where that is left as it is.
    pub(super) fn body(&self) -> Option<Bytes> {
        self.body.clone()
    }

    /// What every such request is asked with.
    pub(super) fn headers(&self) -> Vec<(&'static str, &'static str)> {
        let mut headers = vec![("user-agent", AGENT)];
        match self.kind {
            GitRequestKind::Refs => headers.push(("accept", super::ACCEPT)),
            GitRequestKind::UploadPack => headers.extend([
                ("accept", "application/x-git-upload-pack-result"),
                ("content-type", REQUEST_TYPE),
            ]),
        }
        if self.version == Version::V2 {
            headers.push(("git-protocol", "version=2"));
        }
        headers
    }
}

fn version_of(headers: &[(String, String)]) -> Version {
    let says = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("git-protocol") && value.trim() == "version=2"
    };
    if headers.iter().any(says) { Version::V2 } else { Version::V0 }
}

/// Where a repository is, whole.
fn place(to: &Destination, repository: &str) -> String {
    format!("{}://{}{repository}", to.scheme, to.authority())
}

fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
