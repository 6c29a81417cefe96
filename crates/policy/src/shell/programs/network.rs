//! Programs that go outside. What they may reach is the broker's to decide; here it only matters
//! whether they ask or send.

use super::super::args::{Args, Target, target};
use super::super::syntax::Word;
use super::files::written;
use super::{HIDDEN_OPTION, Judged, Rule};
use crate::class::Rated;

const FETCHES: Judged = (Rated::Safe, "it reads from outside, where the rules allow it");
const SENDS: Judged = (Rated::Outward, "it sends data outside");
const SIGNS_IN: Judged = (Rated::Outward, "it sends a password or key outside");
const STRANGE_OPTION: Judged =
    (Rated::Unknown, "it has an option that is not known to be harmless");

pub(super) fn rule(name: &str) -> Option<Rule> {
    let judge: fn(Args<'_>) -> Judged = match name {
        "curl" => |args| options(args, &CURL),
        "wget" => |args| options(args, &WGET),
        "http" | "https" | "xh" | "xhs" => httpie,
        "rsync" => rsync,
        "ssh" | "mosh" | "autossh" => |_| (Rated::Outward, "it works on another machine"),
        _ => return None,
    };
    Some(Rule::Judge(judge))
}

/// The options of a program, as far as they are known.
struct Options {
    /// Letters without a value, and with one.
    plain: &'static str,
    valued: &'static str,
    /// Letters whose value is a file that is written.
    written: &'static str,
    plain_long: &'static [&'static str],
    valued_long: &'static [&'static str],
    written_long: &'static [&'static str],
    method: &'static [&'static str],
    sending: &'static str,
    sending_long: &'static [&'static str],
}

static CURL: Options = Options {
    plain: "sSLfivIOkgJN#046R",
    valued: "AemyYwzr",
    written: "oD",
    plain_long: &[
        "silent",
        "show-error",
        "location",
        "fail",
        "fail-with-body",
        "include",
        "verbose",
        "head",
        "remote-name",
        "insecure",
        "globoff",
        "compressed",
        "progress-bar",
        "http1.1",
        "http2",
        "no-progress-meter",
        "create-dirs",
        "ipv4",
        "ipv6",
        "tlsv1.2",
        "tlsv1.3",
    ],
    valued_long: &[
        "user-agent",
        "referer",
        "max-time",
        "connect-timeout",
        "retry",
        "retry-delay",
        "write-out",
        "range",
        "max-filesize",
        "max-redirs",
        "url",
        "proto",
        "retry-max-time",
        "limit-rate",
    ],
    written_long: &["output", "dump-header"],
    method: &["-X", "--request"],
    sending: "dFTuUbEnKQxPCct",
    sending_long: &[
        "data",
        "data-raw",
        "data-binary",
        "data-urlencode",
        "data-ascii",
        "form",
        "form-string",
        "json",
        "upload-file",
        "user",
        "oauth2-bearer",
        "cookie",
        "cert",
        "key",
        "netrc",
        "netrc-file",
        "mail-from",
        "mail-rcpt",
        "proxy",
        "quote",
    ],
};

static WGET: Options = Options {
    plain: "qvcNSkprnHE46",
    valued: "UtTwlQADR",
    written: "OPo",
    plain_long: &[
        "quiet",
        "no-verbose",
        "verbose",
        "continue",
        "timestamping",
        "server-response",
        "spider",
        "no-check-certificate",
        "content-disposition",
        "show-progress",
        "recursive",
        "no-parent",
        "page-requisites",
        "convert-links",
        "mirror",
        "no-clobber",
        "https-only",
    ],
    valued_long: &[
        "user-agent",
        "tries",
        "timeout",
        "wait",
        "level",
        "referer",
        "accept",
        "reject",
        "max-redirect",
        "domains",
    ],
    written_long: &["output-document", "directory-prefix", "output-file"],
    method: &["--method"],
    sending: "",
    sending_long: &[
        "post-data",
        "post-file",
        "body-data",
        "body-file",
        "user",
        "password",
        "http-user",
        "http-password",
        "load-cookies",
        "certificate",
        "private-key",
    ],
};

/// Every option must be known; then it is a plain download, or it sends.
fn options(args: Args<'_>, known: &Options) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    let mut worst = FETCHES;
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if !text.starts_with('-') || text == "-" {
            worst = worst.max(address(word));
            continue;
        }
        let (judged, takes_value) = match text.strip_prefix("--") {
            Some(long) => long_option(long, known),
            None => short_options(text, known),
        };
        let judged = match takes_value {
            Value::No | Value::Here => judged,
            Value::Next(use_of) => match words.next() {
                None => STRANGE_OPTION,
                Some(value) => match use_of {
                    Use::Nothing => judged,
                    Use::Written if target(value) == Target::Own || value.text == "-" => judged,
                    Use::Written => judged.max(written(value)),
                    Use::Method if matches!(value.known(), Some("GET" | "HEAD")) => judged,
                    Use::Method => SENDS,
                    // `@file` puts a file into a header, and a hole may put anything there.
                    Use::Header if value.known().is_some_and(|text| !text.starts_with('@')) => {
                        judged
                    }
                    Use::Header => SENDS,
                },
            },
        };
        worst = worst.max(judged);
    }
    worst
}

/// Where it goes: what is put into an address goes out with it.
fn address(word: &Word) -> Judged {
    if word.known().is_none() {
        return (Rated::Outward, "what it puts into the address is known only when it runs");
    }
    let other = word.text.contains("://")
        && !word.text.starts_with("https://")
        && !word.text.starts_with("http://");
    if other { STRANGE_OPTION } else { FETCHES }
}

enum Use {
    Nothing,
    Written,
    Method,
    Header,
}

enum Value {
    No,
    Here,
    Next(Use),
}

fn long_option(long: &str, known: &Options) -> (Judged, Value) {
    let (name, here) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let next = |judged, use_of| match here {
        Some(_) => (judged, Value::Here),
        None => (judged, Value::Next(use_of)),
    };
    if known.method.iter().any(|method| method.strip_prefix("--") == Some(name)) {
        return match here {
            Some("GET" | "HEAD") => (FETCHES, Value::Here),
            Some(_) => (SENDS, Value::Here),
            None => (FETCHES, Value::Next(Use::Method)),
        };
    }
    if known.sending_long.contains(&name) {
        let judged =
            if name.starts_with("user") || name.contains("pass") { SIGNS_IN } else { SENDS };
        return next(judged, Use::Nothing);
    }
    if name == "header" {
        return match here {
            Some(_) => (STRANGE_OPTION, Value::Here),
            None => (FETCHES, Value::Next(Use::Header)),
        };
    }
    if known.plain_long.contains(&name) {
        return (FETCHES, Value::No);
    }
    if known.valued_long.contains(&name) {
        return next(FETCHES, Use::Nothing);
    }
    if known.written_long.contains(&name) {
        return match here {
            Some(_) => (STRANGE_OPTION, Value::Here),
            None => (FETCHES, Value::Next(Use::Written)),
        };
    }
    (STRANGE_OPTION, Value::No)
}

/// `-sSLo file`: letters up to one that takes a value.
fn short_options(text: &str, known: &Options) -> (Judged, Value) {
    let mut letters = text.strip_prefix('-').unwrap_or(text).chars();
    let mut worst = FETCHES;
    while let Some(letter) = letters.next() {
        let attached = !letters.as_str().is_empty();
        let value = |use_of| if attached { Value::Here } else { Value::Next(use_of) };
        if letter == 'X' && known.method.contains(&"-X") {
            return match letters.as_str() {
                "" => (worst, Value::Next(Use::Method)),
                "GET" | "HEAD" => (worst, Value::Here),
                _ => (SENDS, Value::Here),
            };
        }
        if letter == 'H' && known.method.contains(&"-X") {
            let judged = if attached { worst.max(STRANGE_OPTION) } else { worst };
            return (judged, value(Use::Header));
        }
        if known.written.contains(letter) {
            let judged = if attached { worst.max(STRANGE_OPTION) } else { worst };
            return (judged, value(Use::Written));
        }
        if known.sending.contains(letter) {
            let judged = if matches!(letter, 'u' | 'U' | 'E' | 'n') { SIGNS_IN } else { SENDS };
            return (worst.max(judged), value(Use::Nothing));
        }
        if known.valued.contains(letter) {
            return (worst, value(Use::Nothing));
        }
        if !known.plain.contains(letter) {
            worst = worst.max(STRANGE_OPTION);
        }
    }
    (worst, Value::No)
}

fn httpie(args: Args<'_>) -> Judged {
    if args.has_hidden_options() || args.iter().any(|word| word.text.starts_with('-')) {
        return (Rated::Outward, "it can send data outside");
    }
    let mut words = args.operands().map(|word| word.text.as_str());
    let first = words.next();
    let reads =
        first.is_some_and(|word| matches!(word, "GET" | "HEAD") || word.contains(['/', '.']));
    // `name=value`, `name:=json`, `file@path` make it a request that sends.
    let sends = words.any(|word| word.contains(['=', '@']) || matches!(word, "POST" | "PUT"));
    if reads && !sends { FETCHES } else { SENDS }
}

fn rsync(args: Args<'_>) -> Judged {
    if args.operands().any(|word| word.text.contains(':') || word.known().is_none()) {
        return (Rated::Outward, "it copies to or from another machine");
    }
    if args.has_hidden_options() || args.has_short('e') || args.has_long("rsh") {
        return HIDDEN_OPTION;
    }
    if args.has_long("delete") || args.has_long("remove-source-files") {
        return (Rated::Destructive, "it deletes files");
    }
    let to = args.operands().last();
    to.map_or(FETCHES, written)
}
