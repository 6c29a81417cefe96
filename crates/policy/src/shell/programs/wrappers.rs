//! Programs that run other programs: what they run is found and judged too.

use super::super::args::Args;
use super::super::syntax::Word;
use super::{Judged, READS, RUNS_CODE, Rule, Runs};
use crate::class::Rated;

const AS_ROOT: Judged = (Rated::Middle, "it asks for another user's rights");
const AS_IS: Judged = READS;

pub(super) fn rule(name: &str) -> Option<Rule> {
    type Finder = for<'a> fn(Args<'a>) -> Vec<Runs<'a>>;
    let (own, find): (Judged, Finder) = match name {
        "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "rbash" | "csh" | "tcsh" => {
            (AS_IS, shell)
        }
        "eval" => (AS_IS, eval),
        "." | "source" => (RUNS_CODE, nothing),
        "env" => (AS_IS, env),
        "sudo" | "doas" | "runuser" | "pkexec" => {
            (AS_ROOT, |a| after_options(a, "ugUGCDRTrtph", 0))
        }
        "trap" => (AS_IS, trap),
        "alias" => (RUNS_CODE, alias),
        "su" => (AS_ROOT, command_text),
        "timeout" => (AS_IS, |a| after_options(a, "sk", 1)),
        "nice" => (AS_IS, |a| after_options(a, "n", 0)),
        "ionice" => (AS_IS, |a| after_options(a, "cnpPu", 0)),
        "stdbuf" => (AS_IS, |a| after_options(a, "ioe", 0)),
        "chrt" | "taskset" => (AS_IS, |a| after_options(a, "pT", 1)),
        "command" => (AS_IS, command),
        "nohup" | "setsid" | "exec" | "builtin" | "time" | "busybox" | "toybox" | "catchsegv"
        | "unbuffer" => (AS_IS, |a| after_options(a, "oaf", 0)),
        "strace" | "ltrace" | "perf" | "valgrind" | "rr" | "firejail" | "bwrap" | "unshare"
        | "nsenter" | "chroot" | "proot" | "fakeroot" | "torsocks" | "proxychains"
        | "proxychains4" | "systemd-run" | "dbus-run-session" | "xvfb-run" | "script" | "flock"
        | "watch" | "entr" | "parallel" | "rush" | "direnv" | "uvx" | "npx" | "bunx" | "pnpx"
        | "hyperfine" | "scriptreplay" | "start-stop-daemon" | "caffeinate" | "screen" | "tmux" => {
            (RUNS_CODE, anywhere)
        }
        "xargs" => (AS_IS, xargs),
        "fd" | "fdfind" => (AS_IS, fd),
        "export" | "declare" | "typeset" | "readonly" | "local" | "set" | "shopt" | "let"
        | "enable" | "hash" | "bind" | "complete" | "mapfile" | "readarray" | "history" | "fc"
        | "unalias" | "read" | "printf" | "getopts" | "unset" => {
            return super::super::variables::rule(name);
        }
        "python" | "python2" | "python3" | "pypy3" | "perl" | "ruby" | "node" | "nodejs"
        | "deno" | "php" | "lua" | "luajit" => return Some(Rule::Judge(interpreter)),
        _ => return versioned_interpreter(name),
    };
    Some(Rule::Wraps(own, find))
}

fn versioned_interpreter(name: &str) -> Option<Rule> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(stem, "python" | "perl" | "ruby" | "php" | "lua").then_some(Rule::Judge(interpreter))
}

const fn nothing(_: Args<'_>) -> Vec<Runs<'_>> {
    Vec::new()
}

/// The rest, after options (of which those of these letters take a value) and so many operands.
fn after_options<'a>(args: Args<'a>, valued: &str, operands: usize) -> Vec<Runs<'a>> {
    let mut at = 0;
    let mut left = operands;
    while let Some(word) = args.0.get(at) {
        if word.starts_open && left == 0 {
            break;
        }
        let text = word.text.as_str();
        if text == "--" {
            at += 1 + left;
            break;
        }
        if text.starts_with("--") {
            at += 1;
        } else if let Some(letters) = text.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let takes_next = letters.chars().last().is_some_and(|last| valued.contains(last));
            at += if takes_next && letters.chars().count() == 1 { 2 } else { 1 };
        } else if is_assignment(word) {
            at += 1;
        } else if left > 0 {
            left -= 1;
            at += 1;
        } else {
            break;
        }
    }
    words_from(args, at)
}

/// The command that starts here. Where its name says nothing, an option's value may have been taken
/// for it, and the command is somewhere behind.
fn words_from(args: Args<'_>, at: usize) -> Vec<Runs<'_>> {
    let rest = args.from(at);
    let Some(first) = rest.0.first() else { return Vec::new() };
    let mut runs = vec![Runs::Words(rest)];
    if first.known().is_some_and(|name| super::rule(name).is_none()) {
        runs.extend(anywhere(rest.from(1)));
    }
    runs
}

fn is_assignment(word: &Word) -> bool {
    word.assigns.is_some()
}

fn env(args: Args<'_>) -> Vec<Runs<'_>> {
    let splits = args.has_short('S') || args.has_long("split-string");
    let strange = args.iter().take_while(|word| word.text.starts_with('-') || is_assignment(word));
    let strange = strange.filter(|word| word.text.starts_with('-')).any(|word| {
        !matches!(
            word.known(),
            Some("-i" | "-" | "-0" | "-u" | "--" | "--ignore-environment" | "--null")
        )
    });
    if splits || strange {
        let mut runs = anywhere(args);
        runs.push(Runs::Nothing(RUNS_CODE));
        return runs;
    }
    let assignments = args.iter().filter(|word| is_assignment(word));
    let judged = assignments.map(|word| {
        let at = word.assigns.unwrap_or_default();
        let name = word.text.get(..at).unwrap_or_default();
        Runs::Nothing(super::super::variables::passed_on(name))
    });
    let mut runs: Vec<_> = judged.collect();
    runs.extend(after_options(args, "u", 0));
    runs
}

fn shell(args: Args<'_>) -> Vec<Runs<'_>> {
    let mut at = 0;
    let mut takes_text = false;
    let mut takes_input = false;
    while let Some(word) = args.0.get(at) {
        let Some(text) = word.known() else {
            return vec![Runs::Nothing(RUNS_CODE)];
        };
        if matches!(text, "-" | "--") {
            at += 1;
            break;
        }
        let Some(letters) = text.strip_prefix(['-', '+']) else { break };
        if letters.starts_with('-')
            && !matches!(letters, "-norc" | "-noprofile" | "-posix" | "-login")
        {
            return vec![Runs::Nothing(RUNS_CODE)];
        }
        takes_text |= !letters.starts_with('-') && letters.contains('c');
        takes_input |= !letters.starts_with('-') && letters.contains('s');
        at += if letters.ends_with(['o', 'O']) && !letters.starts_with('-') { 2 } else { 1 };
    }
    match (takes_text, args.0.get(at)) {
        // `$0`, `$1` … of that text are the words after it, and are holes in it.
        (true, Some(word)) => match word.known() {
            Some(text) => vec![Runs::Text(text.to_owned())],
            None => vec![Runs::Nothing(RUNS_CODE), Runs::Text(word.text.replace('\0', " "))],
        },
        (true, None) => Vec::new(),
        (false, _) if takes_input => vec![Runs::Input],
        (false, Some(_)) => vec![Runs::Nothing(RUNS_CODE)],
        (false, None) => vec![Runs::Input],
    }
}

fn eval(args: Args<'_>) -> Vec<Runs<'_>> {
    let texts: Vec<_> = args.iter().map(|word| word.text.replace('\0', " ")).collect();
    let mut runs = vec![Runs::Text(texts.join(" "))];
    if args.iter().any(|word| word.known().is_none()) {
        runs.push(Runs::Nothing(HIDDEN));
    }
    runs
}

pub(in super::super) const HIDDEN: Judged =
    (Rated::Destructive, "it runs commands that can't be seen here");

fn command(args: Args<'_>) -> Vec<Runs<'_>> {
    // -v and -V only say what would run.
    let asks = matches!(args.first_known(), Some("-v" | "-V"));
    if asks { Vec::new() } else { after_options(args, "", 0) }
}

fn command_text(args: Args<'_>) -> Vec<Runs<'_>> {
    let at = args.0.iter().position(|word| matches!(word.known(), Some("-c" | "--command")));
    let text = at.and_then(|at| args.0.get(at + 1));
    match text.map(|word| word.known()) {
        Some(Some(text)) => vec![Runs::Text(text.to_owned())],
        Some(None) | None => vec![Runs::Nothing(RUNS_CODE)],
    }
}

fn trap(args: Args<'_>) -> Vec<Runs<'_>> {
    match args.operands().next().map(|word| (word.known(), word)) {
        Some((Some(text), _)) => vec![Runs::Text(text.to_owned())],
        Some((None, word)) => vec![Runs::Nothing(HIDDEN), Runs::Text(word.text.replace('\0', " "))],
        None => Vec::new(),
    }
}

fn alias(args: Args<'_>) -> Vec<Runs<'_>> {
    let text = |word: &Word| word.text.split_once('=').map(|(_, text)| text.replace('\0', " "));
    args.iter().filter_map(text).map(Runs::Text).collect()
}

/// Somewhere among the words a command starts; each place is tried.
fn anywhere(args: Args<'_>) -> Vec<Runs<'_>> {
    let places = (0..args.0.len()).filter(|at| {
        args.0
            .get(*at)
            .and_then(Word::known)
            .is_some_and(|text| !text.starts_with('-') && super::rule(text).is_some())
    });
    let mut runs: Vec<_> = places.take(8).map(|at| Runs::Words(args.from(at))).collect();
    let text = |word: &&Word| word.known().is_some_and(|text| text.contains(' '));
    runs.extend(args.iter().filter(text).take(4).map(|word| Runs::Text(word.text.clone())));
    runs
}

fn xargs(args: Args<'_>) -> Vec<Runs<'_>> {
    let runs = after_options(args, "adEIiLlnPs", 0);
    let more = runs.into_iter().filter_map(|run| match run {
        Runs::Words(words) => Some(Runs::WordsAndMore(words)),
        Runs::WordsAndMore(_) | Runs::Text(_) | Runs::Input | Runs::Nothing(_) => None,
    });
    more.collect()
}

/// `-exec … ;` and its like; `-delete` and `-fprint` act by themselves.
pub(super) fn find(args: Args<'_>) -> Vec<Runs<'_>> {
    let mut runs = Vec::new();
    for (at, word) in args.iter().enumerate() {
        match word.text.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = args.from(at + 1);
                let end = rest.0.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
                let inner = rest.0.get(..end.unwrap_or(rest.0.len())).unwrap_or_default();
                runs.push(Runs::WordsAndMore(Args(inner)));
            }
            "-delete" => runs.push(Runs::Nothing((Rated::Destructive, "it deletes files"))),
            "-fprint" | "-fprintf" | "-fls" | "-fprint0" => {
                runs.push(Runs::Nothing((Rated::Unknown, "it writes to a file of its options")));
            }
            _ if word.starts_open || (word.text.starts_with('-') && word.known().is_none()) => {
                runs.push(Runs::Nothing(super::HIDDEN_OPTION));
            }
            _ => {}
        }
    }
    runs
}

fn fd(args: Args<'_>) -> Vec<Runs<'_>> {
    let starts =
        |word: &Word| matches!(word.text.as_str(), "-x" | "-X" | "--exec" | "--exec-batch");
    let attached =
        args.iter().any(|word| word.text.starts_with("--exec") && word.text.contains('='));
    match args.0.iter().position(starts) {
        Some(at) => vec![Runs::WordsAndMore(args.from(at + 1))],
        None if attached || args.has_short('x') || args.has_short('X') => {
            vec![Runs::Nothing(RUNS_CODE)]
        }
        None if args.has_hidden_options() => vec![Runs::Nothing(super::HIDDEN_OPTION)],
        None => Vec::new(),
    }
}

/// Code is never known to be harmless; what it says can only make it worse.
fn interpreter(args: Args<'_>) -> Judged {
    const DELETING: &[&str] = &[
        "rmtree",
        "os.remove",
        "unlink",
        "rmdir",
        "rmSync",
        "FileUtils.rm",
        "truncate(",
        "File.delete",
        "os.removedirs",
    ];
    const SENDING: &[&str] = &[
        "requests.post",
        "requests.put",
        "smtplib",
        "urlopen",
        "http.client",
        "socket",
        "paramiko",
        "ftplib",
        "fetch(",
        "Net::HTTP",
        "LWP::",
        "httpx",
        "aiohttp",
        "websocket",
        "XMLHttpRequest",
        "net.connect",
    ];
    if args.0.len() == 1
        && matches!(args.first_known(), Some("--version" | "-V" | "-v" | "--help" | "-h"))
    {
        return READS;
    }
    let says =
        |words: &[&str]| args.iter().any(|arg| words.iter().any(|word| arg.text.contains(word)));
    let module =
        args.iter().zip(args.iter().skip(1)).find(|(m, _)| m.text == "-m").map(|(_, name)| name);
    if says(SENDING)
        || module.is_some_and(|name| matches!(name.text.as_str(), "http.server" | "smtpd"))
    {
        (Rated::Outward, "it runs code that speaks of sending")
    } else if says(DELETING) {
        (Rated::Destructive, "it runs code that speaks of deleting")
    } else if module
        .is_some_and(|name| matches!(name.text.as_str(), "pip" | "venv" | "ensurepip" | "conda"))
    {
        (Rated::Middle, "it installs packages")
    } else {
        RUNS_CODE
    }
}
