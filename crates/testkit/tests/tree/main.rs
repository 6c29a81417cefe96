//! The shape of the source tree: sizes that can be read in one sitting, a schema that is true, causes that are told,
//! names that say what they are of.

#![expect(clippy::unwrap_used, reason = "a test that can't go on says so")]

use std::path::{Path, PathBuf};

mod actors;
mod causes;
mod commands;
mod methods;
mod names;
mod source;
mod surfaces;
mod words;

const MAX_FILE_LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_can_be_read_in_one_sitting() {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        rust_files(&entry.unwrap().path().join("src"), &mut files);
    }
    assert!(files.len() > 50, "the walk found only {} files", files.len());
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("_tests.rs")) {
        let lines = std::fs::read_to_string(file).unwrap().lines().count();
        assert!(lines <= MAX_FILE_LINES, "{} has {lines} lines", file.display());
    }
}

#[test]
fn every_module_says_what_it_is() {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        rust_files(&entry.unwrap().path().join("src"), &mut files);
    }
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("_tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.starts_with("//! "), "{} does not start with what it owns", file.display());
    }
}

#[test]
fn the_committed_schema_is_that_of_the_types() {
    let committed = std::fs::read_to_string(root().join("docs/protocol.schema.json")).unwrap();
    let now = cloister_testkit::wire_schema();
    assert!(committed == now, "docs/protocol.schema.json has drifted: run `make schema`");
    let committed = std::fs::read_to_string(root().join("docs/surface.schema.json")).unwrap();
    let now = cloister_testkit::surface_schema();
    assert!(committed == now, "docs/surface.schema.json has drifted: run `make schema`");
}

/// Whoever holds a connection of the database can wait for something else and so stop everybody (issue 13, point
/// 16): what has one is these files, and none of them hands it on.
#[test]
fn no_query_gets_at_a_connection_of_the_database() {
    let with_connections = ["db.rs", "desk.rs", "readers.rs", "writer.rs", "statement.rs"];
    let connections = ["SqliteConnection", "SqlitePool", "PoolConnection", "Transaction<"];
    let mut files = Vec::new();
    rust_files(&root().join("crates/store/src"), &mut files);
    let mut found = 0;
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("_tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let has_one = connections.iter().any(|connection| text.contains(connection));
        found += usize::from(has_one);
        let place = file.display();
        assert!(
            !has_one || with_connections.contains(&name.as_str()),
            "{place} gets at a connection: read with `fetch_…(self.reader())`, write on `&mut Tx`"
        );
        assert!(!text.contains("pub fn reader("), "{place} lets a reader out of the store");
    }
    assert!(found >= 3, "the walk found only {found} files with a connection");
}

/// A TCP connection that holds small writes back makes every turn 40 ms longer: what takes connections is these
/// files, and all of them see to it.
#[test]
fn no_tcp_connection_is_taken_that_holds_writes_back() {
    let programs = ["broker", "cloister", "cloister-agent", "control", "sandbox", "web"];
    let mut files = Vec::new();
    for program in programs {
        rust_files(&root().join("crates").join(program).join("src"), &mut files);
    }
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !file.to_string_lossy().ends_with("_tests.rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        let listens = text.contains("TcpListener") || text.contains("serve::Listener");
        let accepts = ["listener.accept()", "Listener::accept(", "axum::serve(", "poll_accept("];
        if listens && accepts.iter().any(|accept| text.contains(accept)) {
            assert!(text.contains("set_nodelay(true)"), "{} holds writes back", file.display());
            found.push(file.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found.sort();
    assert_eq!(
        found,
        ["accept.rs", "relay.rs"],
        "take connections with `web::connections::accept`"
    );
}
