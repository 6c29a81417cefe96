//! What git sends when it reads a repository, told apart from what only looks like it.
//!
//! Before it reads, git asks what there is; then it says what it wants, in lines of a fixed form. Such
//! a request says no more than which repository is read, but for the ids of the objects in it: of
//! those it may name as many as a clone of an ordinary repository does, and no more.

use cloister_policy::provenance::Address;

use crate::ports::Outward;

const MAX_IDS: usize = 64;

/// The repository that is read, if this is git reading one.
pub(super) fn repository(base: &str, outward: &Outward) -> Option<Address> {
    let path = &outward.to.path;
    let repository = match outward.method.as_str() {
        "GET" if outward.query.as_deref() == Some("service=git-upload-pack") => {
            path.strip_suffix("/info/refs").filter(|_| outward.body.is_empty())
        }
        "POST" if outward.query.is_none() => {
            path.strip_suffix("/git-upload-pack").filter(|_| asks_only(&outward.body))
        }
        _ => None,
    }?;
    Address::parse(&format!("{base}{repository}"))
}

/// Whether every line is one that git itself would write.
fn asks_only(body: &[u8]) -> bool {
    let mut rest = body;
    let mut ids = 0;
    while !rest.is_empty() {
        let Some(length) = rest.get(..4).and_then(length_of) else { return false };
        // 0, 1 and 2 end a part, and have no text.
        let end = length.max(4);
        let Some(line) = rest.get(4..end) else { return false };
        if length == 3 || (length >= 4 && !is_known(line, &mut ids)) {
            return false;
        }
        rest = rest.get(end..).unwrap_or_default();
    }
    ids <= MAX_IDS
}

fn length_of(digits: &[u8]) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_known(line: &[u8], ids: &mut usize) -> bool {
    const WHOLE: &[&str] = &[
        "command=ls-refs",
        "command=fetch",
        "object-format=sha1",
        "thin-pack",
        "no-progress",
        "include-tag",
        "ofs-delta",
        "peel",
        "symrefs",
        "unborn",
        "done",
        "wait-for-done",
        "ref-prefix HEAD",
        "ref-prefix refs/",
        "ref-prefix refs/heads/",
        "ref-prefix refs/tags/",
    ];
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let line = line.strip_suffix('\n').unwrap_or(line);
    if let Some(rest) = line.strip_prefix("want ").or_else(|| line.strip_prefix("have ")) {
        *ids += 1;
        return rest.len() == 40 && rest.bytes().all(|b| b.is_ascii_hexdigit());
    }
    if let Some(depth) = line.strip_prefix("deepen ") {
        return depth.len() <= 3 && depth.bytes().all(|b| b.is_ascii_digit());
    }
    if let Some(version) = line.strip_prefix("agent=git/") {
        let plain = |b: u8| b.is_ascii_digit() || b == b'.';
        let version = version.strip_suffix("-Linux").unwrap_or(version);
        return version.len() <= 8 && version.bytes().all(plain);
    }
    WHOLE.contains(&line)
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
