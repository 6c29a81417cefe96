use proptest::prelude::*;

use super::*;

fn destination(scheme: Scheme, host: &str, port: u16, path: &str) -> Destination {
    Destination { scheme, host: host.parse().unwrap(), port, path: path.to_owned() }
}

fn decide(rules: &[&str], destination: &Destination) -> Decision {
    let user = Allowlist::parse(rules);
    Access { user: &user, only: None, reads_only: false }.decide(destination, "GET")
}

fn denial(rules: &[&str], destination: &Destination) -> (Reason, Option<String>) {
    match decide(rules, destination) {
        Decision::Allow => panic!("{destination:?} is allowed by {rules:?}"),
        Decision::Deny(denial) => (denial.reason, denial.rule.map(|rule| rule.to_string())),
    }
}

#[test]
fn a_denial_says_why_and_what_would_allow_it() {
    let https = |host, path| destination(Scheme::Https, host, 443, path);
    let (reason, rule) = denial(&[], &https("example.com", "/x"));
    assert_eq!((reason, rule.as_deref()), (Reason::NotListed, Some("example.com")));
    let plain = destination(Scheme::Http, "example.com", 80, "/");
    let (reason, rule) = denial(&["example.com"], &plain);
    assert_eq!((reason, rule.as_deref()), (Reason::PlainHttp, Some("http://example.com")));
    let port = destination(Scheme::Https, "example.com", 25, "/");
    let (reason, rule) = denial(&["example.com"], &port);
    assert_eq!((reason, rule.as_deref()), (Reason::OtherPort(25), Some("example.com:25")));
    let (reason, rule) = denial(&["example.com/a/b"], &https("example.com", "/c/d/e"));
    assert_eq!((reason, rule.as_deref()), (Reason::OtherPath, Some("example.com/c/d")));
    let (reason, rule) = denial(&["example.com/a/b"], &https("example.com", "/a/b/../c"));
    assert_eq!((reason, rule), (Reason::OtherPath, None));
    let (reason, rule) = denial(&[], &https("metadata.google.internal", "/"));
    assert_eq!((reason, rule), (Reason::LocalName, None));
}

#[test]
fn one_broken_rule_denies_all_and_is_named() {
    let (reason, rule) =
        denial(&["example.com", "*.com"], &destination(Scheme::Https, "example.com", 443, "/"));
    assert!(reason.to_string().contains("\"*.com\""), "{reason}");
    assert_eq!(rule, None);
    assert_eq!(Allowlist::parse(&["a.test", "*"]).broken().unwrap().rule, "*");
}

#[test]
fn a_tasks_list_narrows_and_never_widens() {
    let user = Allowlist::parse(&["a.test", "b.test"]);
    let only = Allowlist::parse(&["b.test", "c.test"]);
    let access = Access { user: &user, only: Some(&only), reads_only: false };
    let allowed = |host| access.decide(&destination(Scheme::Https, host, 443, "/"), "GET");
    assert_eq!(allowed("a.test"), Decision::Deny(Reason::OutsideTask.into()));
    assert_eq!(allowed("b.test"), Decision::Allow);
    assert!(matches!(allowed("c.test"), Decision::Deny(Denial { reason: Reason::NotListed, .. })));
    let broken = Allowlist::parse(&["b.test", "*"]);
    let access = Access { user: &user, only: Some(&broken), reads_only: false };
    let denied = access.decide(&destination(Scheme::Https, "b.test", 443, "/"), "GET");
    let Decision::Deny(Denial { reason: Reason::BrokenTaskRule(_), rule: None }) = denied else {
        panic!("{denied:?}");
    };
}

#[test]
fn before_the_plan_is_approved_only_reading_goes_out() {
    let user = Allowlist::parse(&["a.test"]);
    let access = Access { user: &user, only: None, reads_only: true };
    let to = destination(Scheme::Https, "a.test", 443, "/");
    for method in ["GET", "HEAD"] {
        assert_eq!(access.decide(&to, method), Decision::Allow);
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "get", "PROPFIND"] {
        assert!(matches!(access.decide(&to, method), Decision::Deny(_)), "{method}");
    }
}

#[test]
fn an_origin_is_open_when_any_path_of_it_is() {
    let user = Allowlist::parse(&["a.test/only/this"]);
    let access = Access { user: &user, only: None, reads_only: true };
    let origin = |host, port| access.decide_origin(&destination(Scheme::Https, host, port, ""));
    assert_eq!(origin("a.test", 443), Decision::Allow);
    assert_ne!(origin("a.test", 25), Decision::Allow);
    assert_ne!(origin("b.test", 443), Decision::Allow);
}

fn rules() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(
        "(http://)?(\\*\\.)?[abc]\\.(test|example)(:8[01])?(/[xy]){0,2}",
        0..5,
    )
}

fn destinations() -> impl Strategy<Value = Destination> {
    let host = "([ab]\\.)?[abc]\\.(test|example)";
    let path = "(/([xy]|\\.\\.|%2e%2e|%78|)){0,4}";
    let port = prop_oneof![Just(80_u16), Just(81), Just(443)];
    (any::<bool>(), host, port, path).prop_map(|(plain, host, port, path)| {
        let scheme = if plain { Scheme::Http } else { Scheme::Https };
        destination(scheme, &host, port, &path)
    })
}

proptest! {
    #[test]
    fn a_narrower_list_never_gains(
        user in rules(), only in rules(), to in destinations(), reads_only in any::<bool>(),
    ) {
        let (user, only) = (Allowlist::parse(&user), Allowlist::parse(&only));
        let wide = Access { user: &user, only: None, reads_only: false };
        let narrow = Access { user: &user, only: Some(&only), reads_only };
        for method in ["GET", "POST"] {
            if narrow.decide(&to, method) == Decision::Allow {
                prop_assert_eq!(wide.decide(&to, method), Decision::Allow);
            }
        }
    }

    #[test]
    fn a_rule_more_never_takes_away(user in rules(), more in rules(), to in destinations()) {
        let before = Allowlist::parse(&user);
        let after = Allowlist::parse(&[user, more].concat());
        let decide = |user| Access { user, only: None, reads_only: false }.decide(&to, "GET");
        if decide(&before) == Decision::Allow {
            prop_assert_eq!(decide(&after), Decision::Allow);
        }
    }

    #[test]
    fn what_a_path_allows_its_origin_allows(user in rules(), to in destinations()) {
        let user = Allowlist::parse(&user);
        let access = Access { user: &user, only: None, reads_only: false };
        if access.decide(&to, "GET") == Decision::Allow {
            prop_assert_eq!(access.decide_origin(&to), Decision::Allow);
        }
    }

    #[test]
    fn the_suggested_rule_allows_it(user in rules(), to in destinations()) {
        let parsed = Allowlist::parse(&user);
        let access = Access { user: &parsed, only: None, reads_only: false };
        if let Decision::Deny(Denial { rule: Some(rule), .. }) = access.decide(&to, "GET") {
            let more = Allowlist::parse(&[user, vec![rule.to_string()]].concat());
            let access = Access { user: &more, only: None, reads_only: false };
            prop_assert_eq!(access.decide(&to, "GET"), Decision::Allow, "{}", rule);
        }
    }
}
