use cloister_protocol::link::Lasting;

use super::calls::plan_has;
use super::proposals::checked_path;

/// G2: what a plan says in passing approves no command.
#[test]
fn a_plan_covers_a_command_that_stands_in_it_verbatim_and_no_other() {
    let plan = "1. look around\n2. `rm -r build`\nrm old.txt\n   mv a b   \nthen run rm new.txt";
    for covered in ["rm -r build", "rm old.txt", "mv a b", " rm old.txt\n"] {
        assert!(plan_has(plan, covered), "{covered}");
    }
    for other in ["rm -r buil", "rm -r build/..", "rm new.txt", "rm  old.txt", "", "look around"] {
        assert!(!plan_has(plan, other), "{other}");
    }
    let script = "```\ncd build\nmake clean\n```";
    assert!(plan_has(script, "cd build\nmake clean"));
    assert!(!plan_has(script, "make clean\ncd build"));
    // As it was shown: what was invisible in the plan is a character of its own there.
    assert!(!plan_has("rm a\u{200b}b", "rm ab"));
}

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
