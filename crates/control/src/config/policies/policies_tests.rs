use cloister_policy::engine::{Outcome, Person, PlatformCall, Request};
use cloister_protocol::UserId;

use super::files::check;
use super::*;

const FORBID: &str = "@id(\"closed\")\n@reason(\"closed\")\nforbid (principal, action == Action::\"read_status\", resource);\n";
const CASES: &str = "[[case]]\nname = \"nobody reads the status\"\nexpect = \"deny\"\nby = \"closed\"\nrequest = { user = \"u1\", roles = [\"overlord@platform\"], action = \"read_status\" }\n";

fn file(name: &str, text: &str) -> PolicyFile {
    PolicyFile { name: name.to_owned(), text: text.to_owned() }
}

fn reads_status(policies: &Policies) -> bool {
    let roles = vec!["overlord@platform".parse().unwrap()];
    let person = Person { user: UserId::from_number(1), roles };
    let request = Request::platform(&person, PlatformCall::ReadStatus);
    policies.engine().decide(&request).outcome == Outcome::Allow
}

#[test]
fn a_directory_is_read_and_other_files_in_it_are_not() {
    let dir = tempfile::tempdir().unwrap();
    assert!(reads_status(&Policies::load(&dir.path().join("missing")).unwrap()));
    std::fs::write(dir.path().join("a.cedar~"), "garbage").unwrap();
    std::fs::write(dir.path().join("README.md"), "garbage").unwrap();
    assert!(reads_status(&Policies::load(dir.path()).unwrap()));
    std::fs::write(dir.path().join("a.cedar"), FORBID).unwrap();
    assert!(!reads_status(&Policies::load(dir.path()).unwrap()));
}

/// E44: what does not check is never put in force, and what is in force stays so.
#[test]
fn a_broken_set_changes_nothing() {
    let policies = Policies::new(&[Source { file: "a.cedar", text: FORBID }]).unwrap();
    for broken in
        ["forbid (", "@id(\"x\") permit (principal, action == Action::\"fly\", resource);"]
    {
        let errors = policies.replace(vec![file("b.cedar", broken)], 1).unwrap_err();
        assert!(errors.to_string().starts_with("b.cedar:1"), "{errors}");
        assert!(!reads_status(&policies));
    }
    policies.replace(Vec::new(), 2).unwrap();
    assert!(reads_status(&policies));
}

#[test]
fn cases_are_run_against_the_files_they_come_with() {
    let checked = check(&[file("a.cedar", FORBID), file("a.cases", CASES)]);
    assert!(checked.ok(), "{checked:?}");
    assert_eq!((checked.policies, checked.cases), (1, 1));
    let alone = check(&[file("a.cases", CASES)]);
    assert_eq!(alone.failures.len(), 1);
    assert_eq!((alone.failures[0].file.as_str(), alone.failures[0].line), ("a.cases", Some(2)));
    let broken = check(&[file("a.cases", "[[case]]\nname = 3\n")]);
    assert_eq!(broken.problems[0].line, Some(2), "{broken:?}");
    let misnamed = check(&[file("../a.cedar", ""), file("b.txt", "")]);
    assert_eq!(misnamed.problems.len(), 2, "{misnamed:?}");
}
