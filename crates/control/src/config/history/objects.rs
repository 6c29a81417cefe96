//! Git's objects: blobs, trees and commits, as any git reads them.
//!
//! They are stored and not compressed: configuration is small, and nothing has to be unpacked that
//! could turn out larger than it looks.

use std::collections::BTreeMap;
use std::fmt;

use sha1::{Digest, Sha1};

/// The largest block that deflate takes uncompressed.
const BLOCK: usize = 0xffff;
const ADLER: u32 = 65_521;

/// The name of an object: the SHA-1 of what it holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id([u8; 20]);

impl Id {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let pairs = text.as_bytes().chunks_exact(2);
        let bytes: Vec<u8> = pairs.filter_map(hex_byte).collect();
        (text.len() == 40).then_some(())?;
        Some(Self(bytes.try_into().ok()?))
    }

    fn from_slice(bytes: &[u8]) -> Option<Self> {
        Some(Self(bytes.try_into().ok()?))
    }

    /// As much of it as people need.
    pub(super) fn short(self) -> String {
        self.to_string().chars().take(10).collect()
    }
}

fn hex_byte(pair: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Blob,
    Tree,
    Commit,
}

impl ObjectKind {
    const ALL: [Self; 3] = [Self::Blob, Self::Tree, Self::Commit];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Blob => "blob",
            Self::Tree => "tree",
            Self::Commit => "commit",
        }
    }
}

/// An object with its header, and its name.
pub(super) fn encode(kind: ObjectKind, body: &[u8]) -> (Id, Vec<u8>) {
    let mut whole = format!("{} {}\0", kind.as_str(), body.len()).into_bytes();
    whole.extend_from_slice(body);
    (Id(Sha1::digest(&whole).into()), whole)
}

/// The kind and the body of an object, if it is whole and has this name.
pub(super) fn decode(id: Id, whole: &[u8]) -> Option<(ObjectKind, Vec<u8>)> {
    if Id(Sha1::digest(whole).into()) != id {
        return None;
    }
    let end = whole.iter().position(|byte| *byte == 0)?;
    let (head, body) = (whole.get(..end)?, whole.get(end + 1..)?);
    let (word, length) = std::str::from_utf8(head).ok()?.split_once(' ')?;
    let kind = ObjectKind::ALL.into_iter().find(|kind| kind.as_str() == word)?;
    (length.parse() == Ok(body.len())).then(|| (kind, body.to_vec()))
}

/// In the form of zlib, in blocks that are not compressed.
pub(super) fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&(!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend_from_slice(&adler32(bytes).to_be_bytes());
    out
}

/// What `stored` has written; none for anything else.
pub(super) fn unstored(bytes: &[u8]) -> Option<Vec<u8>> {
    let (mut rest, mut out) = (bytes.strip_prefix(&[0x78, 0x01])?, Vec::new());
    loop {
        let (head, after) = rest.split_at_checked(5)?;
        let &[last, low, high, not_low, not_high] = head else { return None };
        let length = u16::from_le_bytes([low, high]);
        if last > 1 || u16::from_le_bytes([not_low, not_high]) != !length {
            return None;
        }
        let (block, after) = after.split_at_checked(length.into())?;
        out.extend_from_slice(block);
        rest = after;
        if last == 1 {
            break;
        }
    }
    (rest == adler32(&out).to_be_bytes()).then_some(out)
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % ADLER;
        b = (b + a) % ADLER;
    }
    (b << 16) | a
}

/// What a name in a tree stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    File(Id),
    Folder(Id),
}

impl Node {
    pub(super) const fn id(self) -> Id {
        match self {
            Self::File(id) | Self::Folder(id) => id,
        }
    }
}

pub(super) type Folder = BTreeMap<String, Node>;

/// The body of a tree, in git's order: a folder is sorted as if its name ended with a slash.
pub(super) fn tree_body(folder: &Folder) -> Vec<u8> {
    let mut entries: Vec<(Vec<u8>, &str, Node)> = Vec::new();
    for (name, node) in folder {
        let mut key = name.clone().into_bytes();
        if matches!(node, Node::Folder(_)) {
            key.push(b'/');
        }
        entries.push((key, name, *node));
    }
    entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut body = Vec::new();
    for (_, name, node) in entries {
        let mode = match node {
            Node::File(_) => "100644",
            Node::Folder(_) => "40000",
        };
        body.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        body.extend_from_slice(&node.id().0);
    }
    body
}

/// The entries of a tree.
pub(super) fn parse_tree(body: &[u8]) -> Option<Folder> {
    let (mut rest, mut folder) = (body, Folder::new());
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (head, after) = (rest.get(..end)?, rest.get(end + 1..)?);
        let (mode, name) = std::str::from_utf8(head).ok()?.split_once(' ')?;
        let (id, after) = after.split_at_checked(20)?;
        let id = Id::from_slice(id)?;
        let node = if mode == "40000" { Node::Folder(id) } else { Node::File(id) };
        folder.insert(name.to_owned(), node);
        rest = after;
    }
    Some(folder)
}

/// One version of everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) tree: Id,
    pub(super) parent: Option<Id>,
    pub(super) author: String,
    /// Seconds since 1970.
    pub(super) at: i64,
    pub(super) why: String,
}

impl Commit {
    pub(super) fn body(&self) -> Vec<u8> {
        let Self { tree, parent, author, at, why } = self;
        let parent = parent.map(|id| format!("parent {id}\n")).unwrap_or_default();
        let author = name(author);
        format!(
            "tree {tree}\n{parent}author {author} <{author}@cloister> {at} +0000\n\
             committer cloister <cloister@cloister> {at} +0000\n\n{}\n",
            why.trim()
        )
        .into_bytes()
    }

    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (head, why) = std::str::from_utf8(body).ok()?.split_once("\n\n")?;
        let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
        let author = field("author ")?;
        let (author_name, rest) = author.split_once(" <")?;
        let at = rest.split_once("> ")?.1.split_once(' ')?.0.parse().ok()?;
        Some(Self {
            tree: Id::parse(field("tree ")?)?,
            parent: field("parent ").and_then(Id::parse),
            author: author_name.to_owned(),
            at,
            why: why.trim().to_owned(),
        })
    }
}

/// A name as it may stand in a commit: on one line, and without git's own marks.
fn name(author: &str) -> String {
    let plain = |c: &char| !c.is_control() && !"<>\"\\,;:".contains(*c);
    let name: String = author.chars().filter(plain).take(80).collect();
    let name = name.trim().trim_matches('.');
    if name.is_empty() { "unknown".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
