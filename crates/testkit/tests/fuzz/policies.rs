use std::sync::LazyLock;
use std::time::Duration;

use cloister_policy::engine::{Case, Described, Engine, Source};
use cloister_testkit::Fuzz;

/// Cedar is built without optimisation for tests.
const SLOWEST: Duration = Duration::from_secs(5);

static ENGINE: LazyLock<Engine> = LazyLock::new(|| Engine::new(&[]).unwrap());

const POLICIES: &[&str] = &[
    "@id(\"x\")\n@reason(\"because\")\nforbid (principal, action == Action::\"web_search\", resource);",
    "@id(\"y\") permit (principal, action, resource) when { principal has user };",
    "// nothing",
    "@id(\"z\")\n@ask(\"outward\")\npermit (principal, action, resource) unless { context.untrusted };",
];

const WORDS: &[&str] = &[
    "permit",
    "forbid",
    "principal",
    "action",
    "resource",
    "context",
    "Action::\"",
    "when {",
    "unless {",
    "};",
    "==",
    "in",
    "has",
    "like \"*\"",
    "is",
    "&&",
    "||",
    "!",
    "if",
    "then",
    "else",
    "@id(\"",
    "@ask(\"",
    "\")",
    "[",
    "]",
    ".contains(",
    "ip(\"",
    "decimal(\"",
    "9223372036854775808",
    "\\u{202e}",
    "?principal",
    "/*",
];

/// An operator's text is taken or refused with words; never anything else.
fn text(text: &str) -> Result<usize, String> {
    match Engine::check(&[Source { file: "fuzz.cedar", text }]) {
        Ok(()) => Ok(0),
        Err(errors) if errors.0.is_empty() => Err("refused without a word".to_owned()),
        Err(errors) if errors.0.iter().any(|error| error.message.trim().is_empty()) => {
            Err("refused with an empty word".to_owned())
        }
        Err(errors) => Ok(1 + errors.0.len().min(5)),
    }
}

#[test]
fn fuzz_policies() {
    Fuzz::new("policies").seeds(POLICIES).words(WORDS).slowest(SLOWEST).run_text(text).unwrap();
}

const REQUESTS: &[&str] = &[
    r#"{"user":"u2","action":"read_chat","chat":"C1"}"#,
    r#"{"user":"u2","roles":["admin@platform"],"action":"create_user"}"#,
    r#"{"user":"u2","roles":["member@workspace:w1"],"action":"answer_approval","class":"outward","own":true,"chat":"C1"}"#,
    r#"{"user":"u1","part":"executor","action":"use_secret","name":"token","untrusted":true,"chat":"C1"}"#,
    r#"{"user":"u1","part":"executor","action":"fetch","name":"example.com","chat":"C1"}"#,
    r#"{"user":"u1","part":"coordinator","action":"delegate","stopped":true,"chat":"C1"}"#,
    r#"{"user":"u3","action":"assign_role","role":"admin","scope":"platform","to_self":true}"#,
];

const REQUEST_WORDS: &[&str] = &[
    "\"roles\":[",
    "\"overlord@platform\"",
    "\"owner@workspace:w2\"",
    "\"member@context:w1/x\"",
    "\"part\":",
    "\"owner\":\"u9\"",
    "\"community\":true",
    "\"context\":\"\\\"\"",
    "\"name\":\"*\"",
    "\"name\":\"\\u0000\"",
    "\"workspace\":\"w2\"",
    "\"risk\":\"unknown\"",
    "\"plan_pending\":true",
    "\"confined\":true",
    "\"layered\":true",
    "u0",
    "u4294967295",
    "w0",
    "@",
    "::",
];

/// A request in words is decided the same way every time, and its explanation says the same.
fn request(bytes: &[u8]) -> Result<(u8, Option<&'static str>), String> {
    if serde_json::from_slice::<Case>(bytes).is_ok() {
        return Ok((9, None));
    }
    let Ok(described) = serde_json::from_slice::<Described>(bytes) else { return Ok((0, None)) };
    let Ok(request) = described.request() else { return Ok((1, None)) };
    let verdict = ENGINE.decide(&request);
    let explained = ENGINE.explain(&request);
    if explained.verdict != verdict {
        return Err(format!(
            "{} is decided {verdict} and explained {}",
            request, explained.verdict
        ));
    }
    use cloister_policy::engine::Outcome;
    match verdict.outcome {
        Outcome::Allow => Ok((2, None)),
        Outcome::Ask { class, .. } => Ok((3, Some(class.as_str()))),
        Outcome::Deny { .. } => Ok((4, None)),
    }
}

#[test]
fn fuzz_policy_requests() {
    let fuzz = Fuzz::new("policy_requests").seeds(REQUESTS).words(REQUEST_WORDS);
    fuzz.slowest(SLOWEST).run(request).unwrap();
}
