//! Variables: some make a program do something else, whatever its name and options say.

use super::args::Args;
use super::programs::{HIDDEN_OPTION, Judged, READS, RUNS_CODE, Rule};
use crate::class::Rated;

/// Names that change which program runs, or what it loads or runs itself.
const STEERING: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "BROWSER",
    "CC",
    "CDPATH",
    "CXX",
    "DYLD_INSERT_LIBRARIES",
    "EDITOR",
    "ENV",
    "FPATH",
    "GCONV_PATH",
    "GREP_OPTIONS",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "MAKEFLAGS",
    "MANPAGER",
    "NLSPATH",
    "NODE_OPTIONS",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS4",
    "RIPGREP_CONFIG_PATH",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "TAR_OPTIONS",
    "TERMINFO",
    "TMPDIR",
    "VISUAL",
    "ZDOTDIR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
];
const STEERING_PREFIXES: &[&str] = &[
    "LD_",
    "GIT_",
    "PYTHON",
    "BASH_FUNC",
    "DYLD_",
    "NPM_CONFIG",
    "npm_config",
    "CARGO_",
    "PIP_",
    "UV_",
    "SSL_",
    "CURL_",
    "WGET",
];

/// Names that a program can be given without its doing anything else.
const HARMLESS: &[&str] = &[
    "CI",
    "CLICOLOR",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

const STEERS: Judged = (Rated::Unknown, "a variable makes programs do something else");

fn steers(name: &str) -> bool {
    STEERING.contains(&name) || STEERING_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// A variable of the script itself.
pub(super) fn assigned(name: &str) -> Judged {
    if steers(name) { STEERS } else { (Rated::Safe, "it sets a variable") }
}

/// A variable that a program is given: any can mean something to one.
pub(super) fn passed_on(name: &str) -> Judged {
    let harmless = HARMLESS.contains(&name) || name.starts_with("LC_");
    if harmless { (Rated::Safe, "it sets a variable") } else { STEERS }
}

/// Builtins that set variables or change the shell.
pub(super) fn rule(name: &str) -> Option<Rule> {
    let judge: fn(Args<'_>) -> Judged = match name {
        "export" => |args| names(args, passed_on),
        "declare" | "typeset" | "local" | "readonly" => declare,
        "read" | "printf" | "getopts" | "unset" | "let" => |args| names(args, assigned),
        "mapfile" | "readarray" => |args| {
            if args.has_short('C') { RUNS_CODE } else { names(args, assigned) }
        },
        "set" | "unalias" => |_| READS,
        "shopt" => |args| if args.has_word("expand_aliases") { STEERS } else { READS },
        "hash" => |args| if args.has_short('p') { STEERS } else { READS },
        "enable" | "bind" | "complete" | "history" | "fc" => |_| RUNS_CODE,
        _ => return None,
    };
    Some(Rule::Judge(judge))
}

fn declare(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    // -n makes one name stand for another.
    if args.has_short('n') {
        return STEERS;
    }
    names(args, if args.has_short('x') { passed_on } else { assigned })
}

/// Every word that can be a name, with or without a value.
fn names(args: Args<'_>, judge: fn(&str) -> Judged) -> Judged {
    let named = args.iter().filter_map(|word| {
        let name = word.text.split(['=', '[', '+']).next().unwrap_or_default();
        let is_name = name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
            && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric());
        is_name.then(|| judge(name))
    });
    named.max().unwrap_or(READS)
}
