//! Prints the OpenAPI document of the admin API, for `make openapi`.

use std::io::Write;

fn main() -> std::io::Result<()> {
    std::io::stdout().write_all(cloister_web::openapi_text().as_bytes())
}
