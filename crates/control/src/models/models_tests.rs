use super::*;

#[test]
fn a_base_url_is_taken_as_people_paste_it() {
    for (given, kept) in [
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        (" https://api.openai.com/v1/ ", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
    ] {
        assert_eq!(base_url(given).unwrap(), kept);
    }
    for given in ["", "openai.com", "https://", "http://:80", "ftp://x", "https://x/v1?key=1"] {
        assert!(base_url(given).is_err(), "{given:?}");
    }
    let error = base_url("https://sk-secret@host/v1").unwrap_err();
    assert!(!error.to_string().contains("sk-secret"), "{error}");
}

fn tried(profile: ModelProfile) -> Model {
    Model { max_output_tokens: 8_192, profile, ..Model::demo() }
}

#[test]
fn an_answer_leaves_room_for_the_question() {
    let window = |tokens| ModelProfile { window_tokens: Some(tokens), ..ModelProfile::default() };
    assert_eq!(fitting_output(&tried(window(4_096))), 2_048);
    assert_eq!(fitting_output(&tried(window(200_000))), 8_192);
    let short = ModelProfile { output_tokens: Some(1_000), ..window(200_000) };
    assert_eq!(fitting_output(&tried(short)), 1_000);
    let mut said = tried(window(200_000));
    said.settings.window_tokens = Some(2_000);
    assert_eq!(fitting_output(&said), 1_000);
}

#[test]
fn an_agent_is_told_what_was_found_out() {
    assert_eq!(facts_of(&tried(ModelProfile::default())).tools, None);
    let facts = facts_of(&tried(ModelProfile {
        tools: Some(ToolForm::Text),
        vision: Some(false),
        window_tokens: Some(32_768),
        parameters: Some(1_500_000_000),
        ..ModelProfile::default()
    }));
    assert_eq!((facts.window_tokens, facts.output_tokens), (Some(32_768), Some(8_192)));
    assert_eq!((facts.small, facts.tools, facts.vision), (true, Some(true), Some(false)));
    let none = ModelProfile { tools: Some(ToolForm::None), ..ModelProfile::default() };
    assert_eq!(facts_of(&tried(none)).tools, Some(false));
}

#[test]
fn presets_can_be_connected_as_they_are() {
    for place in PRESETS {
        assert_eq!(base_url(place.base_url).unwrap(), place.base_url);
        assert_eq!(preset(&place.name.to_uppercase()).unwrap().name, place.name);
    }
    assert!(preset("nowhere").is_none());
}

#[test]
fn a_price_is_shown_as_it_was_given() {
    for thousandths in 0..100_000_u32 {
        let usd = f64::from(thousandths) / 1e3;
        let shown = per_million(usd_to_nano(usd / 1e6));
        assert_eq!(shown.to_string(), usd.to_string());
    }
    assert_eq!(serde_json::to_string(&per_million(900)).unwrap(), "0.9");
}

#[test]
fn a_preset_is_found_however_it_is_spelt() {
    for (spelt, name) in [
        ("z.ai", "zai"),
        ("Z-AI", "zai"),
        ("lm-studio", "lmstudio"),
        ("LM Studio", "lmstudio"),
        ("llamacpp", "llama.cpp"),
        ("llama.cpp", "llama.cpp"),
        ("llama-cpp", "llama.cpp"),
        ("open-router", "openrouter"),
        ("OpenAI", "openai"),
    ] {
        assert_eq!(preset(spelt).map(|preset| preset.name), Some(name), "{spelt}");
    }
    assert!(preset("nowhere").is_none() && preset("").is_none());
}
