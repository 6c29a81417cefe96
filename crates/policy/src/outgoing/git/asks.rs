//! What git asks for in a body, and the same in the broker's own words.

use std::collections::BTreeSet;

use bytes::Bytes;

use super::lines::{GitLine, Lines, OwnLines};
use super::offered::Offered;
use super::{AGENT, Version, is_id};

const MAX_WANTS: usize = 50_000;

/// What a request to `git-upload-pack` asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asks {
    pub(super) version: Version,
    wants: BTreeSet<String>,
    /// It says what it has.
    haves: bool,
    done: bool,
    no_done: bool,
    depth: Option<u16>,
    filter: Option<&'static str>,
    lists_refs: bool,
    /// There is something in it that git says and that is not said again here.
    more: bool,
}

impl Asks {
    pub(super) const fn lists(&self) -> bool {
        self.lists_refs
    }

    /// None where a line is none of git's.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let mut lines = Vec::new();
        let mut reading = Lines(body);
        while let Some(line) = reading.next() {
            lines.push(line?);
        }
        let first = lines.first()?;
        let version = match first {
            GitLine::Text(text) if text.starts_with(b"command=") => Version::V2,
            GitLine::Text(_) => Version::V0,
            GitLine::End => return None,
        };
        let mut asks = Self {
            version,
            wants: BTreeSet::new(),
            haves: false,
            done: false,
            no_done: false,
            depth: None,
            filter: None,
            lists_refs: false,
            more: false,
        };
        for (at, line) in lines.iter().enumerate() {
            if let GitLine::Text(text) = line {
                let text = std::str::from_utf8(text).ok()?;
                let text = text.strip_suffix('\n').unwrap_or(text);
                asks.take(text, at == 0)?;
            }
        }
        let reads = asks.lists_refs || !asks.wants.is_empty();
        (reads && asks.wants.len() <= MAX_WANTS).then_some(asks)
    }

    fn take(&mut self, line: &str, first: bool) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (self.version, word) {
            (Version::V2, "command=ls-refs") if first => self.lists_refs = true,
            (Version::V2, "command=fetch") if first => {}
            (_, "want") => {
                let (id, capabilities) = rest.split_once(' ').unwrap_or((rest, ""));
                if !is_id(id)
                    || (!capabilities.is_empty() && (!first || self.version == Version::V2))
                {
                    return None;
                }
                self.wants.insert(id.to_owned());
                capabilities
                    .split(' ')
                    .filter(|c| !c.is_empty())
                    .try_for_each(|c| self.capability(c))?;
            }
            (_, "have") if is_id(rest) => self.haves = true,
            (_, "shallow") if is_id(rest) => self.more = true,
            (_, "deepen") => self.depth = Some(rest.parse().ok()?),
            (_, "deepen-since" | "deepen-not" | "want-ref") if is_plain(rest) => self.more = true,
            (_, "filter") => match rest {
                "blob:none" => self.filter = Some("blob:none"),
                "tree:0" => self.filter = Some("tree:0"),
                _ if is_plain(rest) => self.more = true,
                _ => return None,
            },
            (_, "done") if rest.is_empty() => self.done = true,
            (Version::V2, "ref-prefix") if self.lists_refs && is_plain(rest) => {}
            (Version::V2, _) if rest.is_empty() => self.word(word)?,
            _ => return None,
        }
        Some(())
    }

    /// A line of the second version that is one word.
    fn word(&mut self, word: &str) -> Option<()> {
        const PLAIN: &[&str] = &[
            "thin-pack",
            "no-progress",
            "include-tag",
            "ofs-delta",
            "peel",
            "symrefs",
            "unborn",
            "object-format=sha1",
            "object-format=sha256",
        ];
        const MORE: &[&str] = &["wait-for-done", "deepen-relative", "sideband-all"];
        if MORE.contains(&word) {
            self.more = true;
            return Some(());
        }
        let known = PLAIN.contains(&word)
            || ["agent=", "session-id="].iter().any(|name| word.starts_with(name));
        (known && is_plain(word)).then_some(())
    }

    /// A word behind the first want of the first version.
    fn capability(&mut self, word: &str) -> Option<()> {
        const PLAIN: &[&str] = &[
            "thin-pack",
            "no-progress",
            "include-tag",
            "ofs-delta",
            "multi_ack_detailed",
            "side-band-64k",
            "deepen-since",
            "deepen-not",
            "filter",
            "object-format=sha1",
            "object-format=sha256",
        ];
        const MORE: &[&str] = &["multi_ack", "side-band", "deepen-relative"];
        self.no_done |= word == "no-done";
        self.more |= MORE.contains(&word);
        let known = PLAIN.contains(&word)
            || MORE.contains(&word)
            || word == "no-done"
            || ["agent=", "session-id="].iter().any(|name| word.starts_with(name));
        (known && is_plain(word)).then_some(())
    }

    /// The same in lines of our own, and how many bits were chosen in it.
    pub(super) fn said_again(&self, offered: &Offered) -> Option<(Bytes, u32)> {
        if self.more {
            return None;
        }
        if self.lists_refs {
            return Some((ls_refs(offered), 2));
        }
        // That it is this; whether it is done, has something, can do without a last word.
        let mut bits = offered.bits_of(&self.wants)? + 2 + 3;
        bits += self.depth.map_or(0, |depth| if depth == 1 { 1 } else { 16 });
        bits += self.filter.map_or(0, |_| 2);
        let mut said = OwnLines::default();
        match self.version {
            Version::V2 => self.say_fetch(offered, &mut said),
            Version::V0 => self.say_first(offered, &mut said),
        }
        Some((said.0.into(), bits))
    }

    fn say_fetch(&self, offered: &Offered, said: &mut OwnLines) {
        said.line("command=fetch");
        said.capabilities(offered);
        said.0.extend_from_slice(b"0001");
        ["no-progress", "include-tag", "ofs-delta"].iter().for_each(|word| said.line(word));
        self.wants.iter().for_each(|id| said.line(&format!("want {id}\n")));
        self.say_limits(said);
        if self.haves {
            said.line(&format!("have {}\n", offered.nothing()));
        }
        if self.done {
            said.line("done\n");
        }
        said.flush();
    }

    fn say_first(&self, offered: &Offered, said: &mut OwnLines) {
        let mut words = vec!["multi_ack_detailed"];
        words.extend(self.no_done.then_some("no-done"));
        words.extend(["side-band-64k", "no-progress", "include-tag", "ofs-delta"]);
        words.extend(self.filter.map(|_| "filter"));
        words.extend(offered.object_format);
        let agent = format!("agent={AGENT}");
        if offered.agent {
            words.push(&agent);
        }
        let words = words.join(" ");
        for (at, id) in self.wants.iter().enumerate() {
            let more = if at == 0 { format!(" {words}") } else { String::new() };
            said.line(&format!("want {id}{more}\n"));
        }
        self.say_limits(said);
        said.flush();
        if self.haves {
            said.line(&format!("have {}\n", offered.nothing()));
        }
        if self.done {
            said.line("done\n");
        } else if self.haves {
            said.flush();
        }
    }

    fn say_limits(&self, said: &mut OwnLines) {
        if let Some(depth) = self.depth {
            said.line(&format!("deepen {depth}"));
        }
        if let Some(filter) = self.filter {
            said.line(&format!("filter {filter}"));
        }
    }
}

fn is_plain(text: &str) -> bool {
    (1..=200).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Always the same: what is listed there that nobody wants does no harm.
fn ls_refs(offered: &Offered) -> Bytes {
    let mut said = OwnLines::default();
    said.line("command=ls-refs");
    said.capabilities(offered);
    said.0.extend_from_slice(b"0001");
    for line in
        ["peel", "symrefs", "ref-prefix HEAD", "ref-prefix refs/heads/", "ref-prefix refs/tags/"]
    {
        said.line(line);
    }
    said.flush();
    said.0.into()
}
