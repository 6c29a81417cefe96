//! Prints the JSON Schema of the wire, for `make schema`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(cloister_testkit::wire_schema().as_bytes())
}
