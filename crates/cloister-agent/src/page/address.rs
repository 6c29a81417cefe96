//! The addresses of links, made absolute. They are only shown: whoever goes there asks the broker.

const MAX_BYTES: usize = 2_000;
const SHOWN_SCHEMES: [&str; 4] = ["http", "https", "ftp", "mailto"];

/// The address a link leads to, fit to stand in Markdown; none for those that lead nowhere (a place on
/// the same page, a script).
pub(super) fn absolute(base: &str, link: &str) -> Option<String> {
    let link: String = link.trim().chars().filter(|c| !c.is_control()).collect();
    if link.is_empty() || link.starts_with('#') || link.len() > MAX_BYTES {
        return None;
    }
    let whole = match scheme(&link) {
        Some(scheme) if SHOWN_SCHEMES.iter().any(|shown| scheme.eq_ignore_ascii_case(shown)) => {
            link
        }
        Some(_) => return None,
        None => joined(base, &link)?,
    };
    let whole = whole.split_once('#').map_or(whole.as_str(), |(page, _place)| page);
    (whole.len() <= MAX_BYTES).then(|| quoted(whole))
}

fn scheme(link: &str) -> Option<&str> {
    let (start, _) = link.split_once(':')?;
    let mut letters = start.chars();
    let valid = letters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    valid.then_some(start)
}

fn joined(base: &str, link: &str) -> Option<String> {
    let (scheme, rest) = base.split_once("://")?;
    if link.starts_with("//") {
        return Some(format!("{scheme}:{link}"));
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    if link.starts_with('?') {
        return Some(format!("{scheme}://{host}{path}{link}"));
    }
    let (link, query) = match link.find(['?', '#']) {
        Some(at) => link.split_at(at),
        None => (link, ""),
    };
    let folder = if link.starts_with('/') { "" } else { path.rsplit_once('/')?.0 };
    let path = without_dots(&format!("{folder}/{}", link.trim_start_matches('/')));
    Some(format!("{scheme}://{host}{path}{query}"))
}

/// Follows `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        match part {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => {
                kept.push(part);
                continue;
            }
        }
        if parts.peek().is_none() {
            kept.push("");
        }
    }
    format!("/{}", kept.join("/"))
}

/// Without the characters that would end a link in Markdown.
fn quoted(address: &str) -> String {
    let mut quoted = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            ' ' => quoted.push_str("%20"),
            '(' => quoted.push_str("%28"),
            ')' => quoted.push_str("%29"),
            '<' => quoted.push_str("%3C"),
            '>' => quoted.push_str("%3E"),
            _ => quoted.push(c),
        }
    }
    quoted
}
