use cloister_policy::egress::{
    Access, Allowlist, Authority, Decision, Destination, Host, Rule, Scheme,
};
use cloister_testkit::Fuzz;

const RULES: &[&str] = &[
    "example.com",
    "*.example.com",
    "example.com/a/b",
    "example.com:8443",
    "http://example.com",
    "https://example.com:443/x",
    "bücher.example",
    "xn--bcher-kva.example",
    "a-b_c.example.co.uk",
];

const WORDS: &[&str] = &[
    "*.",
    "http://",
    "https://",
    "ftp://",
    "//",
    "/..",
    "/.",
    "%2e%2e",
    "%2F",
    ":443",
    ":0",
    ":65536",
    ":+1",
    "@",
    "user:pw@",
    "[::1]",
    "127.0.0.1",
    "0x7f.1",
    "2130706433",
    "localhost",
    ".internal",
    ".local",
    ".com",
    ".co.uk",
    "github.io",
    "xn--",
    "xn--a",
    "。",
    "．",
    "ß",
    "ẞ",
    "\u{200d}",
    "\u{ad}",
    "?",
    "#",
    ";",
    "\\",
    "..",
    "-",
    "_",
];

/// What is accepted has one spelling, which means the same.
fn rule(text: &str) -> Result<u8, String> {
    let Ok(rule) = text.parse::<Rule>() else { return Ok(0) };
    let shown = rule.to_string();
    let again: Rule = shown.parse().map_err(|error| format!("{shown:?} is not read: {error}"))?;
    if again != rule {
        return Err(format!("{rule:?} is shown as {shown:?}, which is {again:?}"));
    }
    if !shown.is_ascii() && !shown.contains('/') {
        return Err(format!("{shown:?} has a host that is not ASCII"));
    }
    names_what_it_allows(&rule, &shown)?;
    Ok(1 + u8::from(shown.starts_with('*'))
        + 2 * u8::from(shown.contains('/'))
        + 4 * u8::from(shown.contains(':')))
}

/// A rule never allows a host that it does not name.
fn names_what_it_allows(rule: &Rule, shown: &str) -> Result<(), String> {
    let authority =
        shown.trim_start_matches("http://").split(['/', ':']).next().unwrap_or_default();
    let below = authority.strip_prefix("*.");
    let own: Host =
        below.unwrap_or(authority).parse().map_err(|error| format!("{authority:?}: {error}"))?;
    let list = Allowlist::parse(&[shown]);
    let access = Access { user: &list, only: None, reads_only: false };
    for host in
        ["evil.example", &format!("evil{own}"), &format!("{own}.evil.example"), own.as_str()]
    {
        let Ok(host) = host.parse::<Host>() else { continue };
        for scheme in [Scheme::Http, Scheme::Https] {
            let (port, path) = (scheme.default_port(), "/".to_owned());
            let destination = Destination { scheme, host: host.clone(), port, path };
            let named = if below.is_some() { host.is_below(&own) } else { host == own };
            let allowed =
                rule.allows(&destination) || access.decide(&destination, "GET") == Decision::Allow;
            if allowed && !named {
                return Err(format!("{shown:?} allows {host}"));
            }
        }
    }
    Ok(())
}

#[test]
fn fuzz_egress_rules() {
    Fuzz::new("egress_rules").seeds(RULES).words(WORDS).run_text(rule).unwrap();
}

/// A host has one spelling, and no spelling of an address is a host.
fn host(text: &str) -> Result<(bool, bool), String> {
    if let Ok(authority) = text.parse::<Authority>()
        && authority.port == Some(0)
    {
        return Err("port 0".to_owned());
    }
    let Ok(host) = text.parse::<Host>() else { return Ok((false, false)) };
    let shown = host.to_string();
    if shown.parse::<Host>().as_ref() != Ok(&host) {
        return Err(format!("{shown:?} is not read as itself"));
    }
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if !shown.chars().all(plain) || shown.starts_with('.') || shown.ends_with('.') {
        return Err(format!("{shown:?} is not plain"));
    }
    if shown.parse::<std::net::IpAddr>().is_ok() {
        return Err(format!("{shown:?} is an address"));
    }
    Ok((true, shown != text))
}

#[test]
fn fuzz_hosts() {
    let seeds = RULES.iter().map(|rule| rule.trim_start_matches("*."));
    Fuzz::new("hosts").seeds(seeds).words(WORDS).run_text(host).unwrap();
}
