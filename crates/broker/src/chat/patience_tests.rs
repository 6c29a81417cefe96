use super::*;
use cloister_control::books::KeyRef;

fn model(base_url: &str, model: &str) -> Model {
    Model {
        name: "m".to_owned(),
        base_url: base_url.to_owned(),
        model: model.to_owned(),
        key: KeyRef::None,
        prompt_price: 0,
        completion_price: 0,
        max_output_tokens: 1,
        profile: cloister_protocol::ModelProfile::default(),
        settings: cloister_protocol::ModelSettings::default(),
    }
}

#[test]
fn what_runs_here_or_thinks_first_is_waited_for_longer() {
    let hosted = "https://api.example.com/v1";
    for (url, id, kind) in [
        ("http://127.0.0.1:8080/v1", "qwen2.5-coder-1.5b", ModelKind::Local),
        ("http://[::1]:8080/v1", "any", ModelKind::Local),
        ("http://192.168.1.20:11434/v1", "o3", ModelKind::Local),
        ("http://ollama:11434/v1", "llama3", ModelKind::Local),
        ("http://gpu.lan/v1", "llama3", ModelKind::Local),
        (hosted, "o3-mini", ModelKind::Reasoning),
        (hosted, "openai/o1", ModelKind::Reasoning),
        (hosted, "deepseek/DeepSeek-R1", ModelKind::Reasoning),
        (hosted, "claude-sonnet-4-thinking", ModelKind::Reasoning),
        (hosted, "gpt-4o", ModelKind::Ordinary),
        (hosted, "olmo-2", ModelKind::Ordinary),
        ("not an address", "x", ModelKind::Ordinary),
    ] {
        assert_eq!(ModelKind::of(&model(url, id)), kind, "{url} {id}");
    }
    assert!(ModelKind::Local.waits().first_byte > ModelKind::Reasoning.waits().first_byte);
    assert!(ModelKind::Reasoning.waits().first_byte > ModelKind::Ordinary.waits().first_byte);
}

#[test]
fn a_model_that_was_slow_before_is_given_more_time_and_never_more_than_a_call_has() {
    let options = UpstreamOptions::default();
    let patience = Patience::new(&options);
    let slow = model("https://api.example.com/v1", "gpt-4o");
    let before = patience.with(&slow).first_byte;
    assert_eq!(patience.began(&slow, Duration::from_secs(30)), None, "it changes nothing");
    assert_eq!(patience.began(&slow, Duration::from_secs(100)), Some(100_000));
    assert_eq!(patience.began(&slow, Duration::from_secs(101)), None, "as good as known");
    patience.began(&slow, Duration::from_secs(2));
    assert_eq!(patience.with(&slow).first_byte, Duration::from_secs(303));
    assert!(patience.with(&slow).first_byte > before);
    patience.began(&slow, Duration::from_secs(800));
    assert_eq!(patience.with(&slow).first_byte, options.total);
    let other = Model { name: "other".to_owned(), ..slow.clone() };
    assert_eq!(patience.with(&other).first_byte, before);

    // After a restart what was kept is known.
    let profile = cloister_protocol::ModelProfile { slowest_ms: Some(100_000), ..slow.profile };
    let kept = Model { profile, ..model("https://api.example.com/v1", "gpt-4o") };
    let patience = Patience::new(&options);
    assert_eq!(patience.with(&kept).first_byte, Duration::from_secs(300));
    assert_eq!(patience.began(&kept, Duration::from_secs(90)), None);
}

#[test]
fn what_the_operator_says_is_what_holds() {
    let set = Duration::from_secs(7);
    let options =
        UpstreamOptions { first_byte: Some(set), idle: Some(set), ..UpstreamOptions::default() };
    let patience = Patience::new(&options);
    let local = model("http://localhost:1/v1", "x");
    patience.began(&local, Duration::from_secs(6));
    assert_eq!(patience.with(&local), Waits { first_byte: set, idle: set });
}
