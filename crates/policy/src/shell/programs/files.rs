//! Programs that work on files.

use super::super::args::{Args, Target, target};
use super::super::syntax::Word;
use super::{HIDDEN_OPTION, Judged, READS, RUNS_CODE, Rule, sed};
use crate::class::Rated;

const WRITES: Judged = (Rated::Safe, "it writes files of the task");
const DELETES: Judged = (Rated::Destructive, "it deletes files");
const DELETES_ORIGINALS: Judged = (Rated::Destructive, "it deletes what you sent");
const OVERWRITES_ORIGINALS: Judged = (Rated::Destructive, "it writes over what you sent");
const MOVES_ORIGINALS: Judged = (Rated::Destructive, "it moves what you sent");
/// Why a command is judged so that means to change what the person sent.
pub(in super::super) const CHANGES_ORIGINALS: [&str; 3] =
    [DELETES_ORIGINALS.1, OVERWRITES_ORIGINALS.1, MOVES_ORIGINALS.1];
const MOVES_AWAY: Judged =
    (Rated::Destructive, "it moves files to where they are lost when the task ends");

pub(super) fn rule(name: &str) -> Option<Rule> {
    let judge: fn(Args<'_>) -> Judged = match name {
        "rm" => remove,
        "cp" | "install" | "ln" => copy,
        "mv" => move_files,
        "dd" => disk_dump,
        "chmod" => change_mode,
        "tee" | "split" | "csplit" | "xxd" | "uniq" => writes_operands,
        "sort" | "iconv" | "tree" => writes_by_option,
        "sed" | "gsed" => sed::judge,
        "awk" | "gawk" | "mawk" | "nawk" => awk,
        "find" => return Some(Rule::Wraps(READS, super::wrappers::find)),
        "tar" | "bsdtar" => tar,
        "zip" => zip,
        "gzip" | "bzip2" | "xz" | "zstd" | "gunzip" | "bunzip2" | "unxz" | "unzstd" => compress,
        "unzip" | "7z" | "7za" | "7zz" | "cpio" | "unrar" | "unar" => extract,
        "rg" | "ag" | "ack" => search,
        "patch" => patch,
        _ => return None,
    };
    Some(Rule::Judge(judge))
}

fn remove(args: Args<'_>) -> Judged {
    // One name directly in /tmp is the sandbox's own; deeper, a link could lead elsewhere.
    let own = |word: &Word| {
        word.known().and_then(|text| text.strip_prefix("/tmp/")).is_some_and(|name| {
            !name.is_empty() && !name.contains('/') && name != ".." && name != "."
        })
    };
    let mut operands = args.operands().peekable();
    if operands.peek().is_some() && operands.all(own) && !args.has_hidden_options() {
        return (Rated::Safe, "it deletes what is the sandbox's own");
    }
    if args.operands().any(|word| target(word) == Target::Original) {
        return DELETES_ORIGINALS;
    }
    DELETES
}

/// How writing to a path is judged, for every program that does.
pub(in super::super) fn written(word: &Word) -> Judged {
    match target(word) {
        Target::Own | Target::Work => WRITES,
        Target::Original => OVERWRITES_ORIGINALS,
        Target::Settings => {
            (Rated::Middle, "it changes settings that programs or the agent follow")
        }
        Target::Device => (Rated::Destructive, "it writes to a device"),
        Target::Network => (Rated::Outward, "it sends over a connection"),
        Target::Unclear => (Rated::Unknown, "where it writes is known only when it runs"),
    }
}

fn copy(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    let operands: Vec<_> = args.operands().collect();
    let from_nothing = operands.first().is_some_and(|from| from.text == "/dev/null");
    if from_nothing {
        return (Rated::Destructive, "it empties a file");
    }
    // With -t the target stands first; then all of them are looked at.
    let by_option = args.has_short('t') || args.has_long("target-directory");
    if by_option {
        return operands.iter().map(|word| written(word)).max().unwrap_or(WRITES);
    }
    operands.last().map_or(WRITES, |word| written(word))
}

fn move_files(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    let operands: Vec<_> = args.operands().collect();
    let by_option = args.has_short('t') || args.has_long("target-directory");
    let Some((to, from)) = operands.split_last().filter(|_| !by_option) else {
        return MOVES_AWAY;
    };
    let stays = |word: &&Word| matches!(target(word), Target::Own);
    let originals = from.iter().map(|word| match target(word) {
        Target::Original => MOVES_ORIGINALS,
        Target::Own | Target::Work => WRITES,
        Target::Settings | Target::Device | Target::Network | Target::Unclear => written(word),
    });
    let from_worst = originals.max().unwrap_or(WRITES);
    let to_judged = if stays(to) && !from.iter().all(stays) { MOVES_AWAY } else { written(to) };
    from_worst.max(to_judged)
}

fn disk_dump(args: Args<'_>) -> Judged {
    let output = args.iter().find_map(|word| word.text.strip_prefix("of="));
    match output {
        Some("/dev/null" | "/dev/stdout") => READS,
        Some(_) => (Rated::Destructive, "it overwrites a file or device"),
        None if args.has_hidden_options() => HIDDEN_OPTION,
        None => READS,
    }
}

fn change_mode(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        HIDDEN_OPTION
    } else if args.has_short('R') || args.has_long("recursive") {
        (Rated::Middle, "it changes who may use many files")
    } else {
        (Rated::Safe, "it changes who may use a file")
    }
}

/// The operands are what is written to; reading one of them is judged no worse.
fn writes_operands(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    args.operands().map(written).max().unwrap_or(READS)
}

/// `-o FILE` writes, and so do options that run something.
fn writes_by_option(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    if args.has_long("compress-program") {
        return RUNS_CODE;
    }
    if args.has_short('o') || args.has_long("output") {
        let attached = args.iter().any(|word| word.text.starts_with("-o") && word.text.len() > 2);
        let equals =
            args.iter().any(|word| word.text.starts_with("--o") && word.text.contains('='));
        if attached || equals {
            return (Rated::Unknown, "it writes to a file of its options");
        }
        return args.operands().map(written).max().unwrap_or(READS);
    }
    READS
}

fn awk(args: Args<'_>) -> Judged {
    let short = |letter| args.has_short(letter);
    if args.has_hidden_options() || short('i') || short('f') || short('l') || short('E') {
        return RUNS_CODE;
    }
    let known = ["file", "exec", "include", "load"].iter().any(|name| args.has_long(name));
    // Its own language: these are the ways out of it.
    let gets_out = |word: &Word| {
        word.known().is_none_or(|text| {
            ["system", "getline", "|", ">", "@", "close"].iter().any(|way| text.contains(way))
        })
    };
    // Comparisons look like output to a file; saying "can't tell" of them is no loss.
    if known || args.operands().next().is_none_or(gets_out) { RUNS_CODE } else { READS }
}

fn tar(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    let runs =
        ["to-command", "checkpoint-action", "use-compress-program", "rsh-command", "info-script"];
    if runs.iter().any(|name| args.has_long(name)) || args.has_short('I') || args.has_short('F') {
        return RUNS_CODE;
    }
    if args.has_long("remove-files") || args.has_long("delete") {
        return DELETES;
    }
    let mode = args.first_known().unwrap_or_default().trim_start_matches('-');
    let extracts = mode.starts_with('x')
        || args.has_short('x')
        || args.has_long("extract")
        || args.has_long("get");
    if extracts && (args.has_short('P') || args.has_long("absolute-names")) {
        return (Rated::Unknown, "it unpacks to wherever the archive says");
    }
    if args.operands().any(|word| word.text.contains(':') && !word.text.contains('/')) {
        return (Rated::Outward, "it writes to another machine");
    }
    if extracts { extract(args) } else { WRITES }
}

fn zip(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        HIDDEN_OPTION
    } else if args.has_short('m') || args.has_long("move") {
        DELETES
    } else if args.has_short('T') || args.has_long("test") || args.has_long("unzip-command") {
        RUNS_CODE
    } else {
        WRITES
    }
}

fn compress(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    if args.has_short('c') || args.has_short('l') || args.has_short('t') || args.has_short('k') {
        return READS;
    }
    // The file is replaced by its other form; what was in it is still there.
    args.operands().map(written).max().unwrap_or(READS)
}

fn extract(args: Args<'_>) -> Judged {
    if args.has_hidden_options() { HIDDEN_OPTION } else { WRITES }
}

fn search(args: Args<'_>) -> Judged {
    let runs = ["pre", "hostname-bin", "pager"].iter().any(|name| args.has_long(name));
    if runs || args.has_hidden_options() { RUNS_CODE } else { READS }
}

fn patch(args: Args<'_>) -> Judged {
    if args.has_hidden_options() || args.has_short('e') || args.has_long("ed") {
        RUNS_CODE
    } else {
        WRITES
    }
}
