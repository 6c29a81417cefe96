//! Whether people get answers, and what each model in use makes of its calls.

use cloister_protocol::admin::StatusLine;
use cloister_protocol::{Level, WorkKind};
use cloister_store::models::Model;

use super::{Judge as _, line};
use crate::error::Fault;
use crate::metrics::Lately;
use crate::status::Status;

/// So many failures one after the other are no accident.
const SEVERAL: u64 = 3;

impl Status {
    pub(super) fn answer_line(&self) -> StatusLine {
        let lately = self.control.metrics().turns_lately();
        let fix = match lately.kind.as_deref() {
            Some("model_unavailable") => {
                "people get no answer from the model: the lines of the models below say what to do"
            }
            Some("cannot_isolate") => {
                "no sandbox can be made: `cloister doctor` says what is missing"
            }
            _ => "the log has each turn that failed and why (`a turn ended`)",
        };
        judged(line("answers", "Answers", in_words(&lately, "answer")), &lately, fix)
    }

    /// What is in use, and a line for each model of that.
    pub(super) async fn model_lines(&self) -> Result<Vec<StatusLine>, Fault> {
        let mut used: Vec<Model> = Vec::new();
        let mut names = Vec::new();
        for level in [Level::Coordinator, Level::Executor] {
            let chain = self.control.store().models().chain(level).await?;
            let chain_names: Vec<&str> = chain.iter().map(|model| model.name.as_str()).collect();
            names.push(format!("{}: {}", level.as_str(), chain_names.join(", ")));
            used.extend(chain);
        }
        for kind in WorkKind::APART {
            let chain = self.control.store().models().kind_chain(kind).await?;
            let chain_names: Vec<&str> = chain.iter().map(|model| model.name.as_str()).collect();
            if !chain.is_empty() {
                names.push(format!("{kind}: {}", chain_names.join(", ")));
            }
            used.extend(chain);
        }
        used.extend(self.control.store().models().offered().await?);
        let demo = used.iter().any(Model::is_demo);
        let mut lines = vec![line("models", "Models", names.join("; ")).judged(
            demo,
            false,
            "the demo model is scripted: connect one with `cloister model add NAME --base-url URL --model ID`, \
             then `cloister model use NAME`",
        )];
        used.sort_by(|a, b| a.name.cmp(&b.name));
        used.dedup_by(|a, b| a.name == b.name);
        lines.extend(used.iter().map(|model| self.one_model(&model.name)));
        Ok(lines)
    }

    fn one_model(&self, name: &str) -> StatusLine {
        let lately = self.control.metrics().model_lately(name);
        let fix = format!(
            "`cloister model test {name}` says what is wrong; `cloister model use` puts another before it"
        );
        let line =
            line(&format!("model.{name}"), &format!("Model {name}"), in_words(&lately, "call"));
        judged(line, &lately, &fix)
    }
}

fn judged(line: StatusLine, lately: &Lately, fix: &str) -> StatusLine {
    let attention = lately.bad > 0 || lately.bad_in_a_row > 0;
    let act = lately.bad_in_a_row >= SEVERAL || lately.bad > lately.good && lately.bad >= SEVERAL;
    line.judged(attention, act, fix)
}

fn in_words(lately: &Lately, what: &str) -> String {
    let s = if lately.all() == 1 { "" } else { "s" };
    let mut words = match (lately.all(), lately.bad) {
        (0, _) => format!("no {what}s in the last ten minutes"),
        (all, 0) => format!("{all} {what}{s} in the last ten minutes, none failed"),
        (all, bad) => format!("{bad} of {all} {what}{s} failed in the last ten minutes"),
    };
    let kind = lately.kind.as_deref().unwrap_or("unknown").replace('_', " ");
    match lately.bad_in_a_row {
        0 if lately.bad > 0 => words.push_str(&format!(" ({kind}), the last was good")),
        0 => {}
        1 => words.push_str(&format!("; the last failed: {kind}")),
        n => words.push_str(&format!("; the last {n} failed: {kind}")),
    }
    words
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
