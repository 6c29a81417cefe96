//! Package managers and build tools, by subcommand.

use super::super::args::Args;
use super::{Judged, READS, RUNS_CODE, Rule};
use crate::class::Rated;

const INSTALLS: Judged = (Rated::Middle, "it installs, removes or configures packages");
const PUBLISHES: Judged = (Rated::Outward, "it publishes a package or signs in");

/// What each subcommand of a program does; one that is not named runs code.
pub(in super::super) struct Manager {
    names: &'static [&'static str],
    reads: &'static [&'static str],
    installs: &'static [&'static str],
    publishes: &'static [&'static str],
}

const MANAGERS: &[Manager] = &[
    Manager {
        names: &[
            "pip",
            "pip2",
            "pip3",
            "uv",
            "pipx",
            "conda",
            "mamba",
            "micromamba",
            "poetry",
            "pdm",
            "hatch",
        ],
        reads: &["list", "show", "freeze", "check", "search", "tree", "help", "info"],
        installs: &[
            "install",
            "uninstall",
            "download",
            "wheel",
            "config",
            "cache",
            "add",
            "remove",
            "sync",
            "lock",
            "create",
            "update",
            "upgrade",
            "env",
            "venv",
            "pip",
            "init",
            "inject",
            "ensurepath",
            "export",
        ],
        publishes: &["publish", "upload"],
    },
    Manager {
        names: &["npm", "yarn", "pnpm", "bun", "corepack", "bower"],
        reads: &[
            "list", "ls", "view", "info", "outdated", "why", "search", "root", "bin", "help",
            "audit", "fund",
        ],
        installs: &[
            "install",
            "i",
            "ci",
            "add",
            "remove",
            "uninstall",
            "rm",
            "update",
            "upgrade",
            "config",
            "set",
            "link",
            "dedupe",
            "init",
            "create",
            "cache",
            "rebuild",
            "prune",
            "import",
            "install-test",
            "enable",
        ],
        publishes: &[
            "publish",
            "unpublish",
            "login",
            "adduser",
            "logout",
            "owner",
            "access",
            "token",
            "deprecate",
            "dist-tag",
            "team",
            "profile",
            "star",
            "hook",
        ],
    },
    Manager {
        names: &["cargo", "rustup"],
        reads: &[
            "tree",
            "metadata",
            "search",
            "version",
            "help",
            "locate-project",
            "show",
            "which",
            "fmt",
            "pkgid",
        ],
        installs: &[
            "install",
            "uninstall",
            "add",
            "remove",
            "update",
            "fetch",
            "vendor",
            "init",
            "new",
            "toolchain",
            "component",
            "target",
            "default",
            "override",
            "self",
            "generate-lockfile",
        ],
        publishes: &["publish", "yank", "login", "logout", "owner"],
    },
    Manager {
        names: &[
            "gem", "bundle", "bundler", "composer", "cpan", "cpanm", "luarocks", "opam", "cabal",
            "stack", "nuget",
        ],
        reads: &["list", "search", "info", "show", "help", "outdated", "which"],
        installs: &[
            "install",
            "uninstall",
            "update",
            "add",
            "remove",
            "require",
            "config",
            "init",
            "upgrade",
            "lock",
        ],
        publishes: &["push", "publish", "yank", "signin", "owner", "upload"],
    },
    Manager {
        names: &["go"],
        reads: &["version", "env", "list", "doc", "help", "fmt"],
        installs: &["get", "install", "mod", "work", "clean"],
        publishes: &[],
    },
];

/// The system's own.
const SYSTEM: &[&str] = &[
    "apt",
    "apt-get",
    "dnf",
    "yum",
    "apk",
    "pacman",
    "zypper",
    "brew",
    "snap",
    "flatpak",
    "nix",
    "nix-env",
    "port",
    "emerge",
    "xbps-install",
    "pkg",
    "dpkg",
    "rpm",
    "apt-key",
    "add-apt-repository",
    "easy_install",
    "npm-check-updates",
];
const SYSTEM_READS: &[&str] =
    &["list", "search", "show", "info", "policy", "help", "depends", "rdepends"];

pub(super) fn rule(name: &str) -> Option<Rule> {
    if SYSTEM.contains(&name) {
        return Some(Rule::Judge(system));
    }
    MANAGERS.iter().find(|manager| manager.names.contains(&name)).map(Rule::Manages)
}

impl Manager {
    pub(in super::super) fn judge(&self, args: Args<'_>) -> Judged {
        let Some(first) = args.first_known() else {
            return if args.0.is_empty() { READS } else { RUNS_CODE };
        };
        if matches!(first, "--version" | "-V" | "-v" | "--help" | "-h") && args.0.len() == 1 {
            return READS;
        }
        // Anywhere: an option and its value can stand in front of it.
        if args.iter().any(|word| self.publishes.contains(&word.text.as_str())) {
            PUBLISHES
        } else if self.installs.contains(&first) {
            INSTALLS
        } else if self.reads.contains(&first) && !args.has_hidden_options() {
            READS
        } else {
            RUNS_CODE
        }
    }
}

/// The system's own package manager changes packages unless it plainly reads.
fn system(args: Args<'_>) -> Judged {
    let first = args.first_known();
    let plain = first.is_some_and(|first| SYSTEM_READS.contains(&first) || first == "--version");
    if plain && !args.has_hidden_options() { READS } else { INSTALLS }
}
