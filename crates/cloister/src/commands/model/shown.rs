//! A model, its profile and the presets, as a person reads them.

use cloister_protocol::admin::{ModelView, PresetView};
use cloister_protocol::{ModelProfile, ReasoningForm, ToolForm, UsageForm};

use crate::output::table;

/// Ids of one server that are shown.
const MOST_IDS: usize = 8;

pub(super) fn shown(model: &ModelView) -> String {
    let used = Some(super::used_by(model)).filter(|used| !used.is_empty());
    let used = used.unwrap_or_else(|| "nobody".to_owned());
    let price = if model.prompt_usd == 0.0 && model.completion_usd == 0.0 {
        "nothing".to_owned()
    } else {
        format!("${} in, ${} out, per million tokens", model.prompt_usd, model.completion_usd)
    };
    let key = if model.key.is_empty() { "none" } else { &model.key };
    let mut lines = vec![
        line("model", &format!("{} at {}", model.model, model.base_url)),
        line("key", key),
        line("costs", &price),
        line("used by", &used),
        line("longest answer", &format!("{} tokens", model.max_output_tokens)),
    ];
    let settings = &model.settings;
    if let Some(degrees) = settings.temperature {
        lines.push(line("temperature", &degrees.to_string()));
    }
    if let Some(effort) = settings.effort {
        lines.push(line("effort", effort.as_str()));
    }
    if let Some(tokens) = settings.window_tokens {
        lines.push(line("window, as set", &format!("{tokens} tokens")));
    }
    if let Some(seconds) = settings.first_byte_seconds {
        lines.push(line("waited for", &format!("{seconds} s for its first word")));
    }
    if let Some(seconds) = settings.idle_seconds {
        lines.push(line("may be silent", &format!("{seconds} s in the middle of an answer")));
    }
    if let Some(kept) = kept(model) {
        lines.push(line("kept", &kept));
    }
    if model.profile.is_empty() {
        lines.push(format!("It was never tried. Try it: cloister model test {}", model.name));
    } else {
        lines.push(found_out(&model.profile));
    }
    lines.join("\n")
}

/// How much of what it was shown its provider had kept of an earlier prompt, where it says so.
fn kept(model: &ModelView) -> Option<String> {
    let (all, kept) = (model.prompt_tokens, model.cached_tokens);
    let percent = kept.saturating_mul(100).checked_div(all).filter(|_| kept > 0)?;
    Some(format!("{percent} % of {all} prompt tokens in 30 days were not read anew"))
}

/// What was found out, a line for each thing.
pub(super) fn found_out(profile: &ModelProfile) -> String {
    let unknown = "not known";
    let yes_no = |flag: Option<bool>| flag.map_or(unknown, |yes| if yes { "yes" } else { "no" });
    let mut tools = match profile.tools {
        Some(ToolForm::Native) => "called as they are meant to be",
        Some(ToolForm::Text) => "called in its text, which is read",
        Some(ToolForm::Described) => {
            "described in its prompt and called in its text, which is read"
        }
        Some(ToolForm::None) => "not called",
        None => unknown,
    }
    .to_owned();
    if profile.parallel_calls == Some(true) {
        tools.push_str(", several at once");
    }
    let usage = match profile.usage {
        Some(UsageForm::Streamed) => "said by the provider",
        Some(UsageForm::Silent) => "not said by the provider: estimated",
        Some(UsageForm::Refused) => "must not be asked for: estimated",
        None => unknown,
    };
    let reasoning = match profile.reasoning {
        Some(ReasoningForm::Reasoning) => "in the field reasoning",
        Some(ReasoningForm::ReasoningContent) => "in the field reasoning_content",
        Some(ReasoningForm::ThinkTags) => "between <think> tags in its text",
        None => "none seen",
    };
    let tokens = |number: Option<u32>| number.map_or(unknown.to_owned(), |n| format!("{n} tokens"));
    let mut lines = vec![
        line("tools", &tools),
        line("sees pictures", yes_no(profile.vision)),
        line("thoughts", reasoning),
        line("window", &tokens(profile.window_tokens)),
        line("usage", usage),
        line("limit goes in", profile.limit_field.map_or(unknown, |field| field.as_str())),
        line("speed", &speed(profile)),
    ];
    if let Some(output) = profile.output_tokens {
        lines.insert(4, line("provider allows", &format!("answers of {output} tokens")));
    }
    if let Some(parameters) = profile.parameters {
        let millions = parameters / 1_000_000;
        lines.push(line("parameters", &format!("{millions} million")));
    }
    lines.join("\n")
}

fn speed(profile: &ModelProfile) -> String {
    let first = profile.first_word_ms.map(|ms| format!("first word after {ms} ms"));
    let rate = profile.tokens_per_second.map(|rate| format!("{rate} tokens/s"));
    let known: Vec<String> = first.into_iter().chain(rate).collect();
    let slowest =
        profile.slowest_ms.map(|ms| format!("; at most {} s at work", ms.div_ceil(1_000)));
    let known = if known.is_empty() { "not known".to_owned() } else { known.join(", then ") };
    known + &slowest.unwrap_or_default()
}

fn line(name: &str, value: &str) -> String {
    format!("{name:<16}{value}")
}

pub(super) fn presets(places: &[PresetView]) -> String {
    let rows: Vec<Vec<String>> = places
        .iter()
        .map(|place| {
            let key = if place.local { "no key".to_owned() } else { place.key_url.clone() };
            let known = cloister_control::preset(&place.name).is_some();
            let name = if known { place.name.clone() } else { "-".to_owned() };
            vec![name, place.title.clone(), place.base_url.clone(), key]
        })
        .collect();
    let mut text = table(&["PRESET", "WHAT", "BASE URL", "KEYS"], &rows);
    let found = places.iter().filter(|place| !place.models.is_empty());
    for place in found {
        let ids: Vec<&str> = place.models.iter().map(String::as_str).take(MOST_IDS).collect();
        let more = place.models.len().saturating_sub(MOST_IDS);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let first = ids.first().copied().unwrap_or_default();
        let place_of = match cloister_control::preset(&place.name) {
            Some(preset) => format!("--preset {}", preset.name),
            None => format!("--base-url {}", place.base_url),
        };
        text.push_str(&format!(
            "\n{} runs: {}{more}. Connect one: cloister model add NAME {place_of} --model {first}",
            place.title,
            ids.join(", "),
        ));
    }
    text
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
