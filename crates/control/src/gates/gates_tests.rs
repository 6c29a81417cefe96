use cloister_protocol::link::Lasting;

use super::proposals::checked_path;

#[test]
fn a_lasting_change_is_to_a_file_of_its_kind_or_to_none() {
    let fits = [
        (Lasting::Memory, "MEMORY.md"),
        (Lasting::Memory, "notes/people/bob.md"),
        (Lasting::Config, "SOUL.md"),
        (Lasting::Config, "HEARTBEAT.md"),
        (Lasting::Skill, "skills/brew-tea/SKILL.md"),
        (Lasting::Tool, "tools/tea_timer"),
        (Lasting::Schedule, "schedules/morning.md"),
    ];
    for (what, path) in fits {
        assert!(checked_path(what, path).is_ok(), "{path}");
    }
    let strays = [
        (Lasting::Memory, "SOUL.md"),
        (Lasting::Memory, "notes/../SOUL.md"),
        (Lasting::Memory, "notes/.hidden.md"),
        (Lasting::Memory, "notes/a/b/c/d/e/f.md"),
        (Lasting::Memory, "/MEMORY.md"),
        (Lasting::Memory, "./MEMORY.md"),
        (Lasting::Config, "skills/x/SKILL.md"),
        (Lasting::Skill, "skills/SKILL.md"),
        (Lasting::Skill, "skills/../../etc/SKILL.md"),
        (Lasting::Skill, "skills/a b/SKILL.md"),
        (Lasting::Tool, "tools/.bashrc"),
        (Lasting::Tool, "tools/a/b"),
        (Lasting::Schedule, "schedules/x.txt"),
        (Lasting::Schedule, "chats/C1/files/x.md"),
    ];
    for (what, path) in strays {
        assert!(checked_path(what, path).is_err(), "{path}");
    }
}

/// Memory in the person's own words replaced all that was kept before, and a file's name was free.
#[test]
fn only_what_is_added_behind_what_is_kept_goes_unasked() {
    let added = super::proposals::added;
    assert_eq!(added("MEMORY.md", None, "- tea\n"), Some("- tea\n"));
    assert_eq!(added("MEMORY.md", Some("\n"), "- tea\n"), Some("- tea\n"));
    assert_eq!(added("MEMORY.md", Some("- one\n"), "- one\n- tea\n"), Some("\n- tea\n"));
    assert_eq!(added("notes/a.md", Some("- one\n\n"), "- one\n- tea\n"), Some("\n- tea\n"));
    for (path, before, after) in [
        ("MEMORY.md", Some("- never share my address\n"), "- tea\n"),
        ("MEMORY.md", Some("- never share my address\n"), "- tea\n- never share my address\n"),
        ("MEMORY.md", Some("- never share"), "- never share tea\n"),
        ("notes/SYSTEM-from-now-on.md", None, "- tea\n"),
    ] {
        assert_eq!(added(path, before, after), None, "{path}: {after}");
    }
}
