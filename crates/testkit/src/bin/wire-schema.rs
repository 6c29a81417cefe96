//! Prints the JSON Schema of the wire, or with `surfaces` that of the surface protocol, for `make schema`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    let schema = match std::env::args().nth(1).as_deref() {
        Some("surfaces") => cloister_testkit::surface_schema(),
        _ => cloister_testkit::wire_schema(),
    };
    std::io::stdout().write_all(schema.as_bytes())
}
