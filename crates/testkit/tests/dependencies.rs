//! Which crate may see which, and where dependencies come from.

#![expect(clippy::disallowed_methods, reason = "asks cargo for the dependency graph")]
#![expect(clippy::unwrap_used, reason = "a test that can't go on says so")]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

fn metadata() -> Value {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path", manifest])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What each crate may depend on, besides crates from outside.
fn may_see() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    // What a connector has of ours; `policy` for the words that it shows.
    let connector = ["kit", "policy", "protocol", "words"];
    // The store is closed: beside control only the wiring knows it. The kit is for its bucket and its backoff.
    let broker = ["control", "kit", "vault", "policy", "protocol"];
    let web = ["control", "vault", "policy", "pki", "protocol", "words"];
    let table: [(&str, &[&str]); 19] = [
        ("protocol", &[]),
        ("policy", &["protocol"]),
        ("words", &["protocol"]),
        ("vault", &["protocol"]),
        ("pki", &["protocol"]),
        ("store", &["policy", "protocol", "vault"]),
        ("kit", &["policy", "protocol", "words"]),
        ("control", &["kit", "protocol", "policy", "store", "vault", "words"]),
        ("broker", &broker),
        ("launcher", &[]),
        ("sandbox", &["control", "launcher", "protocol"]),
        ("matrix", &connector),
        ("discord", &connector),
        ("telegram", &connector),
        ("web", &web),
        (
            "cloister",
            &["broker", "control", "pki", "policy", "protocol", "sandbox", "store", "vault", "web"],
        ),
        ("cloister-agent", &["protocol"]),
        // Nothing ships it: it measures and attacks what the others are.
        (
            "lab",
            &["broker", "cloister", "control", "policy", "protocol", "sandbox", "store", "testkit"],
        ),
        (
            "testkit",
            &[
                "broker", "control", "pki", "policy", "protocol", "sandbox", "store", "vault",
                "web", "words",
            ],
        ),
    ];
    table.into_iter().map(|(name, sees)| (name, sees.iter().copied().collect())).collect()
}

fn short(name: &str) -> &str {
    match name {
        "cloister-agent" => name,
        other => other.strip_prefix("cloister-").unwrap_or(other),
    }
}

#[test]
fn dependencies_point_one_way() {
    let metadata = metadata();
    let allowed = may_see();
    let packages = metadata["packages"].as_array().unwrap();
    let ours = packages.iter().filter(|package| package["source"].is_null());
    let mut seen = 0;
    for package in ours {
        let name = short(package["name"].as_str().unwrap());
        let allowed =
            allowed.get(name).unwrap_or_else(|| panic!("{name} has no place in the rings"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let target = dependency["name"].as_str().unwrap();
            if dependency["source"].is_string() {
                continue;
            }
            let dev_only = dependency["kind"] == "dev";
            let target = short(target);
            // The tests of a connector may look at the commands that there are; those of web and broker prepare the
            // database that their handles work on, and look at what became of it.
            let in_tests = target == "testkit"
                || (["discord", "telegram"].contains(&name) && target == "control")
                || (["broker", "web"].contains(&name) && target == "store");
            let fine = allowed.contains(target) || (dev_only && in_tests);
            assert!(fine, "{name} must not depend on {target}");
        }
        seen += 1;
    }
    assert_eq!(seen, may_see().len(), "a crate of the table is gone");
}

#[test]
fn pure_crates_do_no_io_and_no_async() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        if !["cloister-protocol", "cloister-policy"].contains(&package["name"].as_str().unwrap()) {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let name = dependency["name"].as_str().unwrap();
            let impure = ["tokio", "futures-util", "sqlx", "reqwest", "rustix", "axum", "hyper"];
            assert!(!impure.contains(&name), "{} uses {name}", package["name"]);
        }
    }
}

#[test]
fn every_dependency_has_a_known_source_and_licence() {
    const LICENCES: &[&str] = &[
        "MIT",
        "Apache-2.0",
        "Apache-2.0 WITH LLVM-exception",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "Zlib",
        "Unicode-3.0",
        "CC0-1.0",
        "0BSD",
        "MIT-0",
        "Unlicense",
        "BSL-1.0",
        "CDLA-Permissive-2.0",
        "WTFPL",
    ];
    // Copyleft for their own files alone, which we do not change; the Matrix SDK needs them.
    const MPL: &[&str] = &[
        "as_variant",
        "bitmaps",
        "eyeball",
        "eyeball-im",
        "imbl",
        "imbl-sized-chunks",
        "readlock",
        "readlock-tokio",
    ];
    const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        assert!(
            package["source"].is_null() || package["source"] == CRATES_IO,
            "{name}: unknown source"
        );
        assert!(
            !["openssl", "openssl-sys", "native-tls"].contains(&name),
            "{name} is not wanted here"
        );
        let licence =
            package["license"].as_str().unwrap_or_else(|| panic!("{name} names no licence"));
        // One alternative of every part that is joined by AND must be known.
        let known = licence
            .replace(['(', ')'], " ")
            .replace('/', " OR ")
            .split(" AND ")
            .all(|part| part.split(" OR ").any(|one| LICENCES.contains(&one.trim())));
        let known = known || (licence.starts_with("MPL-2.0") && MPL.contains(&name));
        assert!(known, "{name}: the licence {licence:?} is not one we accept");
    }
}
