//! `git` and its like, by subcommand.

use super::super::args::Args;
use super::{HIDDEN_OPTION, Judged, RUNS_CODE, Rule};
use crate::class::Rated;

const LOCAL: Judged = (Rated::Safe, "it works on the repository here");
const FETCHES: Judged = (Rated::Safe, "it reads from outside, where the rules allow it");
const LOSES: Judged = (Rated::Destructive, "it throws away changes or commits");
const PUSHES: Judged = (Rated::Outward, "it publishes commits");
const CONFIGURES: Judged = (Rated::Middle, "it changes the repository's settings");

pub(super) fn rule(name: &str) -> Option<Rule> {
    match name {
        "git" => Some(Rule::Judge(git)),
        "hg" | "svn" | "fossil" | "jj" | "bzr" | "cvs" | "p4" => Some(Rule::Always(RUNS_CODE)),
        _ => None,
    }
}

fn git(args: Args<'_>) -> Judged {
    let mut at = 0;
    loop {
        let Some(word) = args.0.get(at) else { return LOCAL };
        let Some(text) = word.known() else {
            return (Rated::Unknown, "what git is to do is known only when it runs");
        };
        match text {
            "--no-pager" | "-p" | "--paginate" | "--version" | "--help" | "--no-optional-locks" => {
                at += 1
            }
            "-C" | "--git-dir" | "--work-tree" => at += 2,
            // -c can name programs that git then runs.
            _ if text.starts_with('-') => return RUNS_CODE.max(loudest(args.from(at + 1))),
            _ => return subcommand(text, args.from(at + 1)),
        }
    }
}

/// The worst that any of these words can be as a subcommand.
fn loudest(args: Args<'_>) -> Judged {
    let words = args.iter().enumerate().filter_map(|(at, word)| Some((at, word.known()?)));
    words.map(|(at, name)| subcommand(name, args.from(at + 1))).max().unwrap_or(LOCAL)
}

fn subcommand(name: &str, args: Args<'_>) -> Judged {
    let hidden = args.has_hidden_options();
    let runs = [
        "upload-pack",
        "receive-pack",
        "exec",
        "extcmd",
        "open-files-in-pager",
        "ext-diff",
        "textconv",
    ]
    .iter()
    .any(|option| args.has_long(option));
    let remote_helper = args.iter().any(|word| word.text.contains("::"));
    if runs || remote_helper {
        return RUNS_CODE;
    }
    match name {
        "push" | "send-pack" | "send-email" | "request-pull" | "imap-send" | "http-push"
        | "svn" | "p4" => PUSHES,
        "clean" | "filter-branch" | "filter-repo" | "prune" | "gc" | "reflog" | "update-ref"
        | "rm" => LOSES,
        "reset" if args.has_long("hard") || args.has_long("merge") || args.has_long("keep") => {
            LOSES
        }
        "checkout" | "restore" | "switch" => checkout(name, args),
        "branch" | "tag" | "worktree" | "stash" | "notes" | "remote" => with_deletions(name, args),
        _ if hidden => HIDDEN_OPTION,
        "status" | "log" | "diff" | "show" | "ls-files" | "ls-tree" | "rev-parse" | "rev-list"
        | "blame" | "annotate" | "describe" | "shortlog" | "cat-file" | "grep" | "merge-base"
        | "name-rev" | "whatchanged" | "diff-tree" | "for-each-ref" | "show-ref"
        | "count-objects" | "version" | "help" | "var" | "check-ignore" | "fsck" | "range-diff"
        | "cherry" | "add" | "commit" | "init" | "mv" | "reset" | "merge" | "rebase"
        | "cherry-pick" | "revert" | "apply" | "am" | "format-patch" | "archive" | "bundle" => {
            let runs_more = args.has_short('x') && matches!(name, "rebase");
            if runs_more { RUNS_CODE } else { LOCAL }
        }
        "clone" | "fetch" | "pull" | "ls-remote" => {
            let configures = args.has_short('c')
                || args.has_short('u')
                || args.has_long("config")
                || args.has_long("template");
            if configures { RUNS_CODE } else { FETCHES }
        }
        "config" => {
            let reads = ["get", "list", "get-all", "get-regexp"].iter().any(|o| args.has_long(o));
            let lists = args.first_known() == Some("-l")
                || matches!(args.first_known(), Some("get" | "list"));
            if reads || lists { LOCAL } else { CONFIGURES }
        }
        _ => RUNS_CODE,
    }
}

fn checkout(name: &str, args: Args<'_>) -> Judged {
    // Only making a branch leaves the files alone.
    let makes = match name {
        "checkout" => args.has_short('b'),
        "switch" => args.has_short('c') && !args.has_long("discard-changes"),
        _ => false,
    };
    let forced = args.has_short('f') || args.has_short('B') || args.has_long("force");
    if makes && !forced && !args.has_hidden_options() { LOCAL } else { LOSES }
}

fn with_deletions(name: &str, args: Args<'_>) -> Judged {
    let first = args.first_known().unwrap_or_default();
    let by_word = matches!(first, "drop" | "clear" | "remove" | "rm" | "prune" | "delete" | "pop");
    let by_letter = matches!(name, "branch" | "tag")
        && ['d', 'D', 'f', 'M', 'C'].iter().any(|letter| args.has_short(*letter));
    let by_option = ["delete", "force", "prune"].iter().any(|option| args.has_long(option));
    if by_word || by_letter || by_option {
        return LOSES;
    }
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    let configures =
        name == "remote" && !matches!(first, "" | "-v" | "show" | "get-url" | "--verbose");
    if configures { CONFIGURES } else { LOCAL }
}
