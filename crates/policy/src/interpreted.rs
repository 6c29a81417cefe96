//! Files that a person's own programs run, as far as their names and what is in them show.
//!
//! Promises: a file whose name begins with a dot counts as one of them unless it is known to be harmless; a git
//! configuration counts unless all of it is known to be harmless; a link counts if anything it could stand for does.
//! Programs and libraries that a person starts themselves (a script, what is in `node_modules`) are not among them.

/// When a program runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// By itself: when a folder is entered, opened or looked at.
    Opening,
    /// With the usual command of a tool: to build, to test, to install.
    Building,
}

/// Why a file is one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpreted {
    /// What runs it.
    pub by: &'static str,
    pub moment: Moment,
    /// Words of a person that mean such a file, besides its name.
    words: &'static [&'static str],
}

const fn opening(by: &'static str, words: &'static [&'static str]) -> Interpreted {
    Interpreted { by, moment: Moment::Opening, words }
}

const fn building(by: &'static str) -> Interpreted {
    Interpreted { by, moment: Moment::Building, words: &[] }
}

const HOOK: Interpreted = opening("git runs it", &["hook", "husky"]);
const GIT: Interpreted = opening("git may run what it names", &["git config", "fsmonitor"]);
const EDITOR: Interpreted =
    opening("editors act on it", &["vscode", "vs code", "editor", "devcontainer", "idea"]);
const DESKTOP: Interpreted =
    opening("the desktop starts what it names", &["desktop", "launcher", "shortcut", "autostart"]);
const HIDDEN: Interpreted =
    opening("shells and tools act on it", &["dotfile", "bash", "zsh", "shell", "direnv"]);
const CI: Interpreted = building("build services run it");
const BUILD: Interpreted = building("build tools run it");
const PYTHON: Interpreted = building("python runs it by itself");
const PACKAGE: Interpreted = building("package managers run its scripts");

/// Hidden names that nothing runs.
const HARMLESS: &[&str] = &[
    ".gitignore",
    ".gitattributes",
    ".gitkeep",
    ".keep",
    ".mailmap",
    ".editorconfig",
    ".dockerignore",
    ".npmignore",
    ".prettierignore",
    ".eslintignore",
    ".env.example",
    ".python-version",
    ".nvmrc",
    ".node-version",
    ".ruby-version",
    ".coverage",
    ".ds_store",
    ".nojekyll",
    ".rustc_info.json",
    ".package-lock.json",
    ".ninja_log",
    ".ninja_deps",
    ".cargo-lock",
];
/// Hidden folders of what programs keep for themselves.
const CACHES: &[&str] = &[
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".cache",
    ".ipynb_checkpoints",
    ".venv",
    ".tox",
    ".next",
    ".svelte-kit",
    ".parcel-cache",
    ".fingerprint",
    ".gradle",
    ".trash",
];
const EDITORS: &[&str] = &[
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".vim",
    ".nvim",
    ".emacs.d",
    ".cursor",
];
/// Names of hooks that git runs, wherever a repository has its files.
const HOOKS: &[&str] = &[
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "post-index-change",
];
const BUILDING: &[&str] = &[
    "makefile",
    "gnumakefile",
    "justfile",
    "taskfile.yml",
    "taskfile.yaml",
    "rakefile",
    "gemfile",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradlew",
    "gradlew.bat",
    "mvnw",
    "pom.xml",
    "cmakelists.txt",
    "meson.build",
    "sconstruct",
    "build.bazel",
    "workspace",
    "build.rs",
    "setup.py",
    "setup.cfg",
    "noxfile.py",
    "tox.ini",
    "pyproject.toml",
    "dockerfile",
    "containerfile",
    "docker-compose.yml",
    "docker-compose.yaml",
    "compose.yml",
    "compose.yaml",
    "vagrantfile",
    "procfile",
    "flake.nix",
    "shell.nix",
    "default.nix",
    "composer.json",
    "binding.gyp",
];
const CI_NAMES: &[&str] = &["jenkinsfile", "action.yml", "action.yaml", "azure-pipelines.yml"];
const PYTHON_NAMES: &[&str] = &["conftest.py", "sitecustomize.py", "usercustomize.py"];
const DESKTOP_NAMES: &[&str] = &["autorun.inf", "desktop.ini"];
const DESKTOP_ENDINGS: &[&str] =
    &[".desktop", ".lnk", ".url", ".scf", ".command", ".service", ".timer", ".plist", ".webloc"];
const EDITOR_ENDINGS: &[&str] =
    &[".code-workspace", ".sublime-project", ".sublime-workspace", ".iml"];

/// What runs a file at this path of a chat's, with this in it: none of one that is too long or no text.
pub fn interpreted(path: &str, text: Option<&str>) -> Option<Interpreted> {
    // Some file systems do not tell capital letters from small ones.
    let path = path.to_lowercase();
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (name, folders) = parts.split_last()?;
    if let Some(at) = folders.iter().position(|folder| *folder == ".git") {
        return in_git(folders.get(at + 1..).unwrap_or_default(), name, text);
    }
    if folders.last() == Some(&"hooks") && HOOKS.contains(name) {
        return Some(HOOK);
    }
    if *name == "config" && text.is_none_or(|text| text.contains('[') && !is_plain_git(text)) {
        return Some(GIT);
    }
    by_folder(folders, name, text).or_else(|| by_name(name, text))
}

/// The same of a link, which can stand for a file or for a folder of them.
pub fn interpreted_link(path: &str) -> Option<Interpreted> {
    let in_git = path.to_lowercase().split('/').any(|part| part == ".git");
    let inside = [(in_git, "config"), (true, "pre-commit"), (true, "x")].into_iter();
    let inside = inside.filter(|(fits, _)| *fits).map(|(_, name)| format!("{path}/{name}"));
    let inside = inside.into_iter().find_map(|path| interpreted(&path, None));
    interpreted(path, None).or(inside).or_else(|| {
        let name = path.rsplit('/').next().unwrap_or(path);
        name.starts_with('.').then_some(HIDDEN)
    })
}

impl Interpreted {
    /// Whether a person has asked for it, by what they wrote where nothing of others' is in the task: what builds is
    /// what they wanted built; what runs by itself they have to name.
    pub fn is_wanted(&self, path: &str, words: &str) -> bool {
        if self.moment == Moment::Building {
            return true;
        }
        let (path, words) = (path.to_lowercase(), words.to_lowercase());
        let name = path.rsplit('/').next().unwrap_or(&path).trim_start_matches('.');
        // That word means a hundred other things as well.
        let named = name.len() > 2 && name != "config" && words.contains(name);
        named || self.words.iter().any(|word| words.contains(word))
    }
}

/// What is in a repository's own folder.
fn in_git(folders: &[&str], name: &str, text: Option<&str>) -> Option<Interpreted> {
    if folders.contains(&"hooks") {
        return (!name.ends_with(".sample")).then_some(HOOK);
    }
    // Branches can be called so.
    if matches!(folders.first(), Some(&"refs" | &"logs" | &"objects")) {
        return None;
    }
    let plain = text.is_some_and(is_plain_git);
    (matches!(name, "config" | "config.worktree") && !plain).then_some(GIT)
}

fn by_folder(folders: &[&str], name: &str, text: Option<&str>) -> Option<Interpreted> {
    let hidden = folders.iter().find(|folder| folder.starts_with('.') && **folder != ".")?;
    if CACHES.contains(hidden) {
        return by_name(name, text).filter(|found| *found != HIDDEN);
    }
    Some(match *hidden {
        ".github" | ".gitlab" | ".circleci" | ".buildkite" | ".forgejo" | ".gitea" => CI,
        ".githooks" | ".husky" => HOOK,
        _ if EDITORS.contains(hidden) => EDITOR,
        _ => HIDDEN,
    })
}

fn by_name(name: &str, text: Option<&str>) -> Option<Interpreted> {
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if name == ".git" {
        return (!text.is_some_and(leads_into_git)).then_some(GIT);
    }
    if matches!(name, ".gitlab-ci.yml" | ".travis.yml" | ".drone.yml") {
        return Some(CI);
    }
    if matches!(name, ".devcontainer.json" | ".vimrc" | ".exrc" | ".nvim.lua" | ".dir-locals.el") {
        return Some(EDITOR);
    }
    if name.starts_with('.') {
        let of_office = name.starts_with(".~lock.");
        return (!HARMLESS.contains(&name) && !of_office).then_some(HIDDEN);
    }
    if name == "package.json" {
        return (!text.is_some_and(has_no_scripts)).then_some(PACKAGE);
    }
    let configures = |ending: &str| {
        name.strip_suffix(ending).is_some_and(|stem| {
            stem.ends_with(".config") || matches!(stem, "gulpfile" | "gruntfile")
        })
    };
    if BUILDING.contains(&name)
        || ends(&[".mk", ".bzl", ".dockerfile"])
        || name.starts_with("dockerfile.")
        || [".js", ".cjs", ".mjs", ".ts", ".mts", ".cts"].into_iter().any(configures)
    {
        return Some(BUILD);
    }
    if CI_NAMES.contains(&name) {
        return Some(CI);
    }
    if PYTHON_NAMES.contains(&name) || ends(&[".pth"]) {
        return Some(PYTHON);
    }
    if DESKTOP_NAMES.contains(&name) || ends(DESKTOP_ENDINGS) {
        return Some(DESKTOP);
    }
    ends(EDITOR_ENDINGS).then_some(EDITOR)
}

/// Whether a package of JavaScript is read and names no commands.
fn has_no_scripts(text: &str) -> bool {
    let read = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(text);
    read.is_ok_and(|package| !package.contains_key("scripts"))
}

/// The file that stands for a repository's folder elsewhere: in a submodule and in a worktree.
fn leads_into_git(text: &str) -> bool {
    let to = text.trim().strip_prefix("gitdir:").map(str::trim);
    to.is_some_and(|to| !to.contains('\n') && to.split('/').any(|part| part == ".git"))
}

/// Whether all of a git configuration is known to run nothing.
fn is_plain_git(text: &str) -> bool {
    let mut section = String::new();
    text.lines().all(|line| {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            return true;
        }
        // A value that goes on in the next line could hide a key there from us.
        if line.ends_with('\\') {
            return false;
        }
        let Some(header) = line.strip_prefix('[') else { return is_plain_key(&section, line) };
        let Some((header, rest)) = header.split_once(']') else { return false };
        let name = header.split([' ', '\t', '"', '.']).next().unwrap_or_default();
        section = name.to_lowercase();
        rest.trim().is_empty()
    })
}

fn is_plain_key(section: &str, line: &str) -> bool {
    let (key, value) = line.split_once('=').unwrap_or((line, "true"));
    let (key, value) = (key.trim().to_lowercase(), value.trim().trim_matches('"'));
    let is_address = || !value.contains("::") && !value.starts_with(['-', '!', '|']);
    match (section, key.as_str()) {
        (
            "core",
            "repositoryformatversion"
            | "filemode"
            | "bare"
            | "logallrefupdates"
            | "ignorecase"
            | "precomposeunicode"
            | "symlinks"
            | "autocrlf"
            | "eol"
            | "safecrlf"
            | "quotepath"
            | "compression"
            | "abbrev"
            | "sparsecheckout"
            | "sparsecheckoutcone",
        )
        | ("remote", "fetch" | "tagopt" | "prune" | "mirror" | "push")
        | ("branch", "remote" | "merge" | "rebase" | "description" | "pushremote")
        | ("user", "name" | "email")
        | ("author" | "committer", "name" | "email")
        | ("init", "defaultbranch")
        | ("pull", "rebase" | "ff")
        | ("push", "default" | "autosetupremote" | "followtags")
        | ("fetch", "prune")
        | ("merge", "ff" | "conflictstyle")
        | ("rebase", "autosquash" | "autostash")
        | ("gc", "auto")
        | ("submodule", "active" | "path" | "branch")
        | ("extensions", "objectformat" | "worktreeconfig" | "partialclone" | "refstorage")
        | ("color" | "advice" | "column" | "help", _) => true,
        ("remote", "url" | "pushurl") | ("submodule", "url") => is_address(),
        _ => false,
    }
}

#[cfg(test)]
#[path = "interpreted_tests.rs"]
mod tests;
