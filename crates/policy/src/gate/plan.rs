//! What an approved plan lets happen: the commands that stand in it, as they stand there.

use super::{Action, Effect, Pass, PassedBy, Question, Reading, visible};

impl Question {
    /// Nobody is asked again about a command of a plan that they have approved, unless two must be.
    pub fn settled_by(
        self: Box<Self>,
        plans: &[String],
        effect: &Effect,
    ) -> Result<Pass, Box<Self>> {
        let Action::Command { text } = &effect.action else { return Err(self) };
        if self.people < 2 && plans.iter().any(|plan| has(plan, text)) {
            return Ok(Pass { digest: effect.digest(), by: PassedBy::Plan });
        }
        Err(self)
    }
}

/// Whether a plan, as it was shown, has this command: on lines of its own, or in backticks.
fn has(plan: &str, command: &str) -> bool {
    let command = visible(command.trim(), Reading::Prose);
    if command.is_empty() {
        return false;
    }
    let lines: Vec<&str> = plan.lines().map(str::trim).collect();
    let wanted: Vec<&str> = command.lines().map(str::trim).collect();
    let on_lines = lines.windows(wanted.len()).any(|window| window == wanted);
    on_lines || plan.split('`').skip(1).step_by(2).any(|quoted| quoted.trim() == command)
}

#[cfg(test)]
mod tests {
    use super::has;

    /// G2: what a plan says in passing approves no command.
    #[test]
    fn a_plan_covers_a_command_that_stands_in_it_verbatim_and_no_other() {
        let plan =
            "1. look around\n2. `rm -r build`\nrm old.txt\n   mv a b   \nthen run rm new.txt";
        for covered in ["rm -r build", "rm old.txt", "mv a b", " rm old.txt\n"] {
            assert!(has(plan, covered), "{covered}");
        }
        for other in
            ["rm -r buil", "rm -r build/..", "rm new.txt", "rm  old.txt", "", "look around"]
        {
            assert!(!has(plan, other), "{other}");
        }
        let script = "```\ncd build\nmake clean\n```";
        assert!(has(script, "cd build\nmake clean"));
        assert!(!has(script, "make clean\ncd build"));
        // As it was shown: what was invisible in the plan is a character of its own there.
        assert!(!has("rm a\u{200b}b", "rm ab"));
    }
}
