use cloister_protocol::{LimitField, ModelSettings};

use super::*;

fn model(profile: ModelProfile) -> ModelView {
    ModelView {
        name: "small".to_owned(),
        base_url: "http://127.0.0.1:8080/v1".to_owned(),
        model: "smollm2-135m".to_owned(),
        key: String::new(),
        prompt_usd: 0.0,
        completion_usd: 0.0,
        max_output_tokens: 8192,
        kinds: Vec::new(),
        offered: false,
        levels: vec!["coordinator".to_owned()],
        profile,
        settings: ModelSettings { temperature: Some(0.2), ..ModelSettings::default() },
        prompt_tokens: 0,
        cached_tokens: 0,
    }
}

/// M2: how often the beginning of a prompt was worth keeping as it was.
#[test]
fn what_a_provider_had_kept_is_shown_as_a_share() {
    let silent = model(ModelProfile::default());
    assert!(!shown(&silent).contains("kept"), "nothing is known of it");
    let told = ModelView { prompt_tokens: 2_000, cached_tokens: 1_230, ..silent };
    let shown = shown(&told);
    assert!(shown.contains("kept            61 % of 2000 prompt tokens in 30 days"), "{shown}");
}

#[test]
fn a_model_says_what_it_can_do_and_costs() {
    let profile = ModelProfile {
        tools: Some(ToolForm::Text),
        vision: Some(false),
        usage: Some(UsageForm::Streamed),
        limit_field: Some(LimitField::MaxTokens),
        window_tokens: Some(16_384),
        first_word_ms: Some(120),
        tokens_per_second: Some(31.5),
        parameters: Some(135_000_000),
        ..ModelProfile::default()
    };
    let expected = "\
model           smollm2-135m at http://127.0.0.1:8080/v1
key             none
costs           nothing
used by         coordinator
longest answer  8192 tokens
temperature     0.2
tools           called in its text, which is read
sees pictures   no
thoughts        none seen
window          16384 tokens
usage           said by the provider
limit goes in   max_tokens
speed           first word after 120 ms, then 31.5 tokens/s
parameters      135 million";
    assert_eq!(shown(&model(profile)), expected);
    let untried = shown(&model(ModelProfile::default()));
    assert!(
        untried.ends_with("It was never tried. Try it: cloister model test small"),
        "{untried}"
    );
}

#[test]
fn what_runs_here_is_offered_with_the_command_that_connects_it() {
    let place = |models: &[&str]| PresetView {
        name: "ollama".to_owned(),
        title: "Ollama on this machine".to_owned(),
        base_url: "http://127.0.0.1:11434/v1".to_owned(),
        key_url: String::new(),
        local: true,
        models: models.iter().map(|id| (*id).to_owned()).collect(),
    };
    assert!(!presets(&[place(&[])]).contains("runs"));
    let text = presets(&[place(&["qwen3:4b"])]);
    let offer = "Connect one: cloister model add NAME --preset ollama --model qwen3:4b";
    assert!(text.contains("no key") && text.ends_with(offer), "{text}");
}
