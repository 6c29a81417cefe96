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

/// A hosted model that needs 150 s is not failed for ever, and a dead one is not waited for without end.
#[test]
fn a_model_that_did_not_begin_in_time_is_given_more_until_it_begins() {
    let patience = Patience::new(&UpstreamOptions::default());
    let hosted = model("https://api.example.com/v1", "gpt-4o");
    let first = || patience.with(&hosted).first_byte.as_secs();
    let mut waited = vec![first()];
    for _ in 0..4 {
        patience.was_late(&hosted);
        waited.push(first());
    }
    assert_eq!(waited, [120, 240, 480, 480, 480]);
    patience.began(&hosted, Duration::from_secs(150));
    assert_eq!(first(), 450);
    patience.was_late(&hosted);
    assert_eq!(first(), 900, "no more than a call has");
}

#[test]
fn what_is_said_of_one_model_holds_for_it_before_all_else() {
    let options =
        UpstreamOptions { first_byte: Some(Duration::from_secs(7)), ..UpstreamOptions::default() };
    let mut slow = model("https://api.example.com/v1", "gpt-4o");
    slow.settings.first_byte_seconds = Some(1_800);
    slow.settings.idle_seconds = Some(300);
    let waits = Patience::new(&options).with(&slow);
    assert_eq!((waits.first_byte.as_secs(), waits.idle.as_secs()), (1_800, 300));
    assert_eq!(waits.wordless().as_secs(), 600);
}
