use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use cloister_store::secrets::SecretInfo;
use cloister_vault::{Binding, Form, Owner, SecretValue};

use super::*;

const VALUE: &str = "tok/EN+ \"value\"~ü-123";

fn secret(name: &str, value: &str) -> OpenSecret {
    let form = Form::Header { name: "x".to_owned(), template: "{}".to_owned() };
    let info = SecretInfo {
        owner: Owner::Platform,
        name: name.parse().unwrap(),
        version: 1,
        binding: Binding::new(vec!["a.test".parse().unwrap()], form).unwrap(),
        set_by: String::new(),
        set_at: 0,
        expires_at: None,
    };
    OpenSecret { info, value: SecretValue::from(value.to_owned()) }
}

fn mask(secrets: &[(&str, &str)]) -> Arc<Mask> {
    let open: Vec<OpenSecret> = secrets.iter().map(|(name, value)| secret(name, value)).collect();
    Arc::new(Mask::new(&open).unwrap())
}

/// The text as it comes out when it comes in pieces of this size.
fn masked(mask: &Arc<Mask>, text: &[u8], size: usize) -> (String, Vec<String>) {
    let mut masker = Masker::new(Arc::clone(mask));
    let mut out = Vec::new();
    for piece in text.chunks(size) {
        out.extend_from_slice(&masker.push(Bytes::copy_from_slice(piece)));
    }
    out.extend_from_slice(&masker.finish());
    let hits = masker.new_hits().iter().map(ToString::to_string).collect();
    (String::from_utf8_lossy(&out).into_owned(), hits)
}

#[test]
fn a_value_is_masked_however_it_is_cut() {
    let mask = mask(&[("key", VALUE)]);
    let text = format!("before {VALUE} between {VALUE}{VALUE} after");
    for size in 1..=text.len() {
        let (out, hits) = masked(&mask, text.as_bytes(), size);
        assert_eq!(out, "before [secret key] between [secret key][secret key] after", "{size}");
        assert_eq!(hits, ["key"]);
    }
}

#[test]
fn a_value_is_masked_however_it_is_written() {
    let mask = mask(&[("key", VALUE)]);
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent = url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect::<String>();
    let json = serde_json::to_string(&serde_json::json!({ "v": VALUE })).unwrap();
    let within = serde_json::json!({ "arguments": json }).to_string();
    let mut written = vec![hex.clone(), hex.to_uppercase(), percent.clone(), json, within];
    written.push(percent.replace('+', "%20"));
    for before in ["", "u", "us", "user:"] {
        for after in ["", "x", "yz"] {
            let text = format!("{before}{VALUE}{after}");
            written.push(STANDARD.encode(&text));
            written.push(URL_SAFE.encode(&text));
        }
    }
    for text in written {
        for size in [1, 7, text.len()] {
            let (out, hits) = masked(&mask, format!("<{text}>").as_bytes(), size);
            assert!(out.contains("[secret key]"), "{text} became {out}");
            assert_eq!(hits, ["key"], "{text}");
        }
    }
}

#[test]
fn what_overlaps_shows_nothing_of_either() {
    let mask = mask(&[("one", "abcdefgh"), ("two", "fghijklm"), ("same", "zzzzzz")]);
    for size in 1..20 {
        let (out, _) = masked(&mask, b"-abcdefghijklm-", size);
        assert_eq!(out, "-[secret one]-", "{size}");
        let (out, _) = masked(&mask, b"-zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz-", size);
        assert_eq!(out, "-[secret same]-", "{size}");
    }
}

#[test]
fn a_beginning_that_comes_to_nothing_is_shown() {
    let mask = mask(&[("key", "abcdefgh")]);
    for size in 1..20 {
        let (out, hits) = masked(&mask, b"abcdefg abcabcdefg abcdef", size);
        assert_eq!(out, "abcdefg abcabcdefg abcdef");
        assert!(hits.is_empty());
    }
}

#[test]
fn only_what_may_be_a_beginning_is_held_back() {
    let mut masker = Masker::new(mask(&[("key", "abcdefgh")]));
    assert_eq!(masker.push(Bytes::from("data: 1\n\n")), "data: 1\n\n");
    assert_eq!(masker.push(Bytes::from("data: ab")), "data: ");
    assert_eq!(masker.push(Bytes::from("x")), "abx");
}

#[test]
fn a_stream_of_one_letter_is_not_kept_in_memory() {
    let mut masker = Masker::new(mask(&[("key", "zzzzzz")]));
    for _ in 0..1_000 {
        masker.push(Bytes::from(vec![b'z'; 1_000]));
        assert!(masker.held.len() < 64);
    }
}

#[test]
fn short_values_and_no_values_mask_nothing() {
    let mask = mask(&[("pin", "12345")]);
    assert!(mask.is_empty());
    assert_eq!(masked(&mask, b"12345", 2).0, "12345");
}
