use super::*;

const PLAIN: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[user]\n\tname = Ada\n\
                     [remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

#[test]
fn files_that_programs_run_by_themselves_are_known() {
    for path in [
        ".envrc",
        "deep/in/a/project/.envrc",
        ".bashrc",
        ".profile",
        ".ssh/authorized_keys",
        ".config/autostart/x",
        ".npmrc",
        ".gitconfig",
        ".GitConfig",
        ".pre-commit-config.yaml",
        ".vscode/tasks.json",
        ".VSCode/settings.json",
        ".idea/workspace.xml",
        "all.code-workspace",
        "Invoice.desktop",
        "readme.lnk",
        ".git/hooks/pre-commit",
        "site/.git/hooks/any-name",
        "bare.git/hooks/post-receive",
        ".husky/pre-push",
        ".something-nobody-knows",
        ".something/x",
    ] {
        let found = interpreted(path, Some("x"));
        assert!(found.is_some_and(|found| found.moment == Moment::Opening), "{path}: {found:?}");
    }
    for path in [
        "Makefile",
        "src/makefile",
        "rules.mk",
        "Dockerfile",
        ".github/workflows/ci.yml",
        "conftest.py",
        "lib/sitecustomize.py",
        "setup.py",
        "build.rs",
        "vite.config.ts",
        "CMakeLists.txt",
    ] {
        let found = interpreted(path, Some("x"));
        assert!(found.is_some_and(|found| found.moment == Moment::Building), "{path}: {found:?}");
    }
}

#[test]
fn ordinary_files_and_those_of_ordinary_git_work_are_not() {
    for path in [
        "report.py",
        "notes.md",
        "data.csv",
        "src/main.rs",
        "src/hooks/useTheme.ts",
        "run.sh",
        ".gitignore",
        "docs/.gitkeep",
        ".~lock.letter.odt#",
        ".pytest_cache/v/cache/lastfailed",
        ".venv/bin/activate",
        "node_modules/left-pad/index.js",
        "node_modules/.package-lock.json",
        "target/debug/.fingerprint/x/lib-x",
        ".git/hooks/pre-commit.sample",
        ".git/HEAD",
        ".git/index",
        ".git/objects/ab/cdef",
        ".git/refs/heads/config",
        ".git/logs/refs/heads/config",
        ".git/info/exclude",
        ".git/COMMIT_EDITMSG",
        "config/settings.toml",
    ] {
        assert_eq!(interpreted(path, Some("x")), None, "{path}");
    }
    assert_eq!(interpreted(".git/config", Some(PLAIN)), None);
    assert_eq!(interpreted("site/.git/modules/lib/config", Some(PLAIN)), None);
    assert_eq!(interpreted("lib/.git", Some("gitdir: ../.git/modules/lib\n")), None);
    assert_eq!(interpreted("package.json", Some("{\"name\": \"x\"}")), None);
    assert_eq!(interpreted("config", Some("colour = blue\n")), None);
}

/// Whatever git would run out of its configuration, in whichever spelling.
#[test]
fn a_git_configuration_is_plain_only_if_all_of_it_is() {
    for more in [
        "[core]\n\tfsmonitor = curl evil",
        "[Core]\n\tFsMonitor = x",
        "[core] fsmonitor = x",
        "[core]\n\tfsmonitor",
        "[core]\n\tfilemode = true \\\n\tfsmonitor = x",
        "[core]\n\thooksPath = ../hooks",
        "[core]\n\tsshCommand = x",
        "[core]\n\tpager = x",
        "[core]\n\teditor = x",
        "[alias]\n\tst = !x",
        "[include]\n\tpath = ../evil",
        "[includeIf \"gitdir:~/\"]\n\tpath = x",
        "[filter \"x\"]\n\tsmudge = x",
        "[diff \"x\"]\n\ttextconv = x",
        "[credential]\n\thelper = !x",
        "[remote \"x\"]\n\turl = ext::sh -c x",
        "[remote \"x\"]\n\tuploadpack = x",
        "[submodule \"x\"]\n\tupdate = !x",
        "[gpg]\n\tprogram = x",
        "[core",
        "stray = x",
    ] {
        let text = format!("{PLAIN}{more}\n");
        assert!(interpreted(".git/config", Some(&text)).is_some(), "{more}");
        // A repository can be any folder that looks like one.
        assert!(interpreted("notes/config", Some(&text)).is_some(), "{more}");
    }
    assert!(interpreted(".git/config", None).is_some(), "what can't be read is not plain");
    assert!(interpreted("lib/.git", Some("gitdir: ../lookalike\n")).is_some());
}

#[test]
fn a_link_counts_as_whatever_it_could_stand_for() {
    for path in [".git", ".git/hooks", "x/.vscode", ".envrc", "Makefile", "a/hooks", ".husky"] {
        assert!(interpreted_link(path).is_some(), "{path}");
    }
    for path in ["current", "data/latest.csv", "bin/run"] {
        assert_eq!(interpreted_link(path).map(|found| found.by), None, "{path}");
    }
}

#[test]
fn a_person_names_what_runs_by_itself_and_need_not_name_what_builds() {
    let wanted = |path: &str, words: &str| interpreted(path, None).unwrap().is_wanted(path, words);
    assert!(wanted("Makefile", "set up a small C project"));
    assert!(wanted(".envrc", "Write me an .envrc that sets PORT"));
    assert!(wanted(".git/hooks/pre-commit", "add a hook that runs the tests"));
    assert!(wanted(".vscode/tasks.json", "make VS Code build it with one key"));
    assert!(!wanted(".envrc", "set up a small C project"));
    assert!(!wanted(".git/hooks/pre-commit", "commit everything"));
    assert!(!wanted(".bashrc", "what is in the report?"));
}
