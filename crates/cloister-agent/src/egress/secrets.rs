//! The secrets that a task may use: what programs and the model are told of them, which is all but their
//! values.

use std::fmt::Write as _;

use serde::Deserialize;

use crate::text;

const MAX_SHOWN: usize = 50;
const MAX_FIELD_BYTES: usize = 300;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Secret {
    name: String,
    pub(super) env: String,
    /// What stands for the value, for as long as this task runs.
    pub(super) handle: String,
    hosts: Vec<String>,
    /// How it is put on a request.
    how: String,
}

/// What the model is told; nothing when there are none.
pub(crate) fn told(secrets: &[Secret]) -> Option<String> {
    if secrets.is_empty() {
        return None;
    }
    let mut told = String::from(
        "Secrets you may use. You never see a value: the variable holds a handle, and the broker puts the \
         value in its place on the way out, where the handle stands exactly as said below, for the hosts \
         named, over https. In any other place, or for another host, the request is refused and the person \
         is told. For a page use fetch_url with `secret`; programs take the variable.",
    );
    for secret in secrets.iter().take(MAX_SHOWN) {
        let Secret { name, hosts, how, .. } = secret;
        let hosts = plain(&hosts.join(", "));
        write!(told, "\n- {}: for {hosts}, as {}", plain(name), plain(how)).ok();
    }
    Some(told)
}

fn plain(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text::head(line.trim(), MAX_FIELD_BYTES).to_owned()
}
