//! What each program is built from: the crates that are dear to build or dear to trust, and how many there are.
//!
//! A new row is a decision, not an accident: `make timings` says what it costs, `docs/building.md` why it is there.

#![expect(clippy::disallowed_methods, reason = "asks cargo what a program is built from")]
#![expect(clippy::unwrap_used, reason = "a test that can't go on says so")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// The dear ones, wherever they are. The last five must not come back: SQLite compiled a second time for the macros of
/// sqlx, bindings made at build time, OpenSSL, and two libraries that were there for types that `wire.rs` has too.
const HEAVY: &[&str] = &[
    "aws-lc-sys",
    "axum",
    "cedar-policy-core",
    "clap_builder",
    "h2",
    "image",
    "libsqlite3-sys",
    "matrix-sdk",
    "matrix-sdk-crypto",
    "reqwest",
    "ring",
    "ruma-client-api",
    "rusqlite",
    "rustls",
    "schemars",
    "sqlx-core",
    "sqlx-macros",
    "bindgen",
    "openssl-sys",
    "frankenstein",
    "twilight-model",
];

struct Program {
    package: &'static str,
    heavy: &'static [&'static str],
    /// How many crates at most, ours and build dependencies included.
    crates: usize,
}

const PROGRAMS: &[Program] = &[
    Program {
        package: "cloister",
        heavy: &[
            "axum",
            "cedar-policy-core",
            "clap_builder",
            "h2",
            "libsqlite3-sys",
            "reqwest",
            "ring",
            "rustls",
            "schemars",
            "sqlx-core",
        ],
        crates: 350,
    },
    // It brings up the control plane in its own process too.
    Program {
        package: "cloister-lab",
        heavy: &[
            "axum",
            "cedar-policy-core",
            "clap_builder",
            "h2",
            "libsqlite3-sys",
            "reqwest",
            "ring",
            "rusqlite",
            "rustls",
            "schemars",
            "sqlx-core",
        ],
        crates: 365,
    },
    Program {
        package: "cloister-agent",
        heavy: &["libsqlite3-sys", "rusqlite", "schemars"],
        crates: 85,
    },
    Program { package: "cloister-launcher", heavy: &[], crates: 25 },
    // The Matrix SDK asks for aws-lc by name.
    Program {
        package: "cloister-matrix",
        heavy: &[
            "aws-lc-sys",
            "h2",
            "image",
            "libsqlite3-sys",
            "matrix-sdk",
            "matrix-sdk-crypto",
            "reqwest",
            "ring",
            "ruma-client-api",
            "rusqlite",
            "rustls",
            "schemars",
        ],
        crates: 335,
    },
    Program {
        package: "cloister-telegram",
        heavy: &["h2", "reqwest", "ring", "rustls", "schemars"],
        crates: 148,
    },
    Program {
        package: "cloister-discord",
        heavy: &["h2", "reqwest", "ring", "rustls", "schemars"],
        crates: 155,
    },
];

fn cargo(args: &[&str]) -> String {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(args)
        .args(["--locked", "--manifest-path", manifest])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Names and versions of all that `package` is built from, itself included.
fn built_from(package: &str) -> BTreeMap<String, BTreeSet<String>> {
    let tree =
        cargo(&["tree", "-p", package, "-e", "normal,build", "--prefix", "none", "-f", "{p}"]);
    let mut crates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next()) {
            crates.entry(name.to_owned()).or_default().insert(version.to_owned());
        }
    }
    crates
}

#[test]
fn a_program_contains_what_was_decided() {
    for program in PROGRAMS {
        let crates = built_from(program.package);
        let found: BTreeSet<&str> =
            HEAVY.iter().copied().filter(|name| crates.contains_key(*name)).collect();
        let decided: BTreeSet<&str> = program.heavy.iter().copied().collect();
        assert_eq!(found, decided, "{} is built from other heavy crates", program.package);
        let count: usize = crates.values().map(BTreeSet::len).sum();
        assert!(count <= program.crates, "{} is built from {count} crates", program.package);
    }
}

/// A program that nobody decided about would be built by everybody.
#[test]
fn every_program_has_a_row() {
    let metadata = cargo(&["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
    let is_program = |target: &serde_json::Value| {
        target["kind"].as_array().unwrap().iter().any(|kind| kind == "bin")
    };
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        // What it has runs in tests and on a developer's machine alone.
        if name == "cloister-testkit" {
            continue;
        }
        if package["targets"].as_array().unwrap().iter().any(is_program) {
            assert!(PROGRAMS.iter().any(|row| row.package == name), "{name} has no row");
        }
    }
}
