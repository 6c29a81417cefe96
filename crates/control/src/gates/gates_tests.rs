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
