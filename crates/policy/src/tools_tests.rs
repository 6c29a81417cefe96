use super::*;

#[test]
fn an_unknown_tool_is_denied() {
    assert!(matches!(may_call(Level::Executor, "delegate", false), Decision::Deny { .. }));
    assert!(matches!(may_call(Level::Coordinator, "bash", false), Decision::Deny { .. }));
}

#[test]
fn nothing_changes_before_the_plan_is_approved() {
    for tool in MUTATING_TOOLS {
        assert!(matches!(may_call(Level::Executor, tool, true), Decision::Deny { .. }), "{tool}");
        assert_eq!(may_call(Level::Executor, tool, false), Decision::Allow, "{tool}");
    }
    for tool in READING_TOOLS {
        assert_eq!(may_call(Level::Executor, tool, true), Decision::Allow, "{tool}");
    }
}

#[test]
fn what_is_not_known_to_read_counts_as_changing() {
    assert!(is_mutating("something_new"));
}
