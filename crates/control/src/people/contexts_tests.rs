use super::*;

fn context(name: &str, inherits: &str, tools: Option<&[&str]>) -> Context {
    let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
    let lists = Lists { tools, ..Lists::default() };
    let fresh = fresh(WorkspaceId::from_number(1), name);
    Context { inherits: inherits.to_owned(), lists, ..fresh }
}

/// I3, T4: a context inherits, and only takes away.
#[test]
fn an_inner_context_never_has_more_than_those_around_it() {
    let contexts = [
        context("workspace", "workspace", Some(&["bash", "ls", "fetch_url"])),
        context("room", "workspace", Some(&["bash", "ls", "send_mail"])),
        context("thread", "room", None),
        context("corner", "thread", Some(&["ls", "fetch_url"])),
    ];
    let tools = |name: &str| effective(&contexts, name).tools;
    let only = |names: &[&str]| Names::Only(names.iter().map(|name| (*name).to_owned()).collect());
    assert_eq!(tools("workspace"), only(&["bash", "ls", "fetch_url"]));
    assert_eq!(tools("room"), only(&["bash", "ls"]));
    assert_eq!(tools("thread"), only(&["bash", "ls"]));
    assert_eq!(tools("corner"), only(&["ls"]));
    assert_eq!(effective(&contexts, "corner").models, Names::All);
}

#[test]
fn what_is_gone_or_lies_in_a_ring_allows_nothing() {
    let contexts = [context("a", "b", None), context("b", "a", None), context("c", "gone", None)];
    for name in ["a", "b", "c", "gone"] {
        let lists = effective(&contexts, name);
        assert_eq!(lists.tools, Names::none(), "{name}");
        assert_eq!(lists.models, Names::none(), "{name}");
    }
    assert_eq!(effective(&contexts, OUTERMOST), ContextLists::UNLIMITED);
}
