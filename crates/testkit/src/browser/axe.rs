//! What axe-core has to say against a page: `scripts/axe-core` installs it.

use std::path::Path;

use serde_json::Value;

use super::{BrowserError, Page};

const SCRIPT: &str = "target/axe-core/node_modules/axe-core/axe.min.js";
/// Runs it, and brings each complaint as one line.
const RUN: &str = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(rule => \
     rule.nodes.map(node => `${rule.id} (${rule.impact}): ${rule.help}: ${node.html.slice(0, 200)}`)))";

impl Page {
    /// The violations of all its rules, each with the element it is about.
    pub async fn axe(&self) -> Result<Vec<String>, BrowserError> {
        if self.eval("typeof axe === 'undefined'").await? == Value::Bool(true) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SCRIPT);
            let script = std::fs::read_to_string(path).map_err(BrowserError::NoAxe)?;
            self.eval(&format!("{script}\n; 0")).await?;
        }
        let found = self.eval(RUN).await?;
        let lines = found.as_array().cloned().unwrap_or_default();
        Ok(lines.iter().filter_map(|line| line.as_str().map(str::to_owned)).collect())
    }
}
