//! The ways in which a value may come back: as it is, and as programs commonly write it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Every text that gives the value away, each once.
pub(super) fn encodings(value: &[u8]) -> Vec<Zeroizing<Vec<u8>>> {
    let mut all: BTreeSet<Vec<u8>> = BTreeSet::from([value.to_vec()]);
    all.extend(hexes(value));
    all.extend(percents(value));
    all.extend(base64s(value, &STANDARD_NO_PAD));
    all.extend(base64s(value, &URL_SAFE_NO_PAD));
    if let Ok(text) = std::str::from_utf8(value) {
        all.extend(escapes(text));
    }
    all.into_iter().filter(|text| !text.is_empty()).map(Zeroizing::new).collect()
}

fn hexes(value: &[u8]) -> [Vec<u8>; 2] {
    let mut lower = String::with_capacity(value.len() * 2);
    for byte in value {
        write!(lower, "{byte:02x}").unwrap_or_default();
    }
    let upper = lower.to_ascii_uppercase();
    [lower.into_bytes(), upper.into_bytes()]
}

/// What stays as it is in an address, by whoever writes it: the standard, forms, browsers, Python, paths,
/// and those who leave nothing.
const UNESCAPED: [&[u8]; 6] =
    [b"-._~", b"*-._", b"-._~!*'()", b"-._~/", b"-._~/!$&'()*+,;=:@", b""];

/// `%2F` and `%2f`, with and without `+` for a space.
fn percents(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for unescaped in UNESCAPED {
        for plus in [false, true] {
            all.push(percent(value, unescaped, plus, true));
            all.push(percent(value, unescaped, plus, false));
        }
    }
    let every = |upper: bool| {
        let byte = |byte: &u8| if upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
        value.iter().map(byte).collect::<String>().into_bytes()
    };
    all.extend([every(true), every(false)]);
    all
}

fn percent(value: &[u8], unescaped: &[u8], plus: bool, upper: bool) -> Vec<u8> {
    let mut text = String::with_capacity(value.len() * 3);
    for byte in value {
        match byte {
            b' ' if plus => text.push('+'),
            byte if byte.is_ascii_alphanumeric() || unescaped.contains(byte) => {
                text.push(char::from(*byte));
            }
            byte if upper => write!(text, "%{byte:02X}").unwrap_or_default(),
            byte => write!(text, "%{byte:02x}").unwrap_or_default(),
        }
    }
    text.into_bytes()
}

/// Inside of a longer text in base64 the value begins at any of three places. Letters that also hold
/// bits of what is around the value are left out.
fn base64s(value: &[u8], engine: &GeneralPurpose) -> Vec<Vec<u8>> {
    let at = |before: usize| {
        let mut text = Zeroizing::new(vec![0; before]);
        text.extend_from_slice(value);
        let encoded = engine.encode(&*text).into_bytes();
        let first = (before * 8).div_ceil(6);
        let end = text.len() * 8 / 6;
        encoded.get(first..end).unwrap_or_default().to_vec()
    };
    vec![at(0), at(1), at(2)]
}

/// As JSON and HTML write it; also JSON within JSON, as in the arguments of a call.
fn escapes(text: &str) -> Vec<Vec<u8>> {
    let json = in_json(text);
    let (twice, thrice) = (in_json(&json), in_json(&in_json(&json)));
    let for_html = json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let slashes = json.replace('/', "\\/");
    let mut html = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    html = html.replace('"', "&quot;");
    let apostrophes = html.replace('\'', "&#39;");
    [json, twice, thrice, for_html, slashes, html, apostrophes].map(String::into_bytes).to_vec()
}

fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
}
