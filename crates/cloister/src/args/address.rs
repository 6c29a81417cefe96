//! Addresses of servers, as they are typed.

/// An address that starts with http:// or https:// and names a host, and nothing that could be a secret.
pub(super) fn web_address(text: &str) -> Result<String, String> {
    checked(text, &["https://", "http://"])
        .ok_or_else(|| "expected an address such as https://example.org".to_owned())
}

/// The same for a socket: wss:// or ws://.
pub(super) fn socket_address(text: &str) -> Result<String, String> {
    checked(text, &["wss://", "ws://"])
        .ok_or_else(|| "expected an address such as wss://gateway.example.org".to_owned())
}

/// An address that starts with one of these and names a host, and nothing that could be a secret.
pub(super) fn checked(text: &str, schemes: &[&str]) -> Option<String> {
    let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme))?;
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    let bracketed = rest.starts_with('[') && rest.contains(']');
    if host.is_empty() && !bracketed
        || rest.contains(['@', '?', '#', '\\'])
        || rest.contains(char::is_whitespace)
    {
        return None;
    }
    Some(text.trim_end_matches('/').to_owned())
}
