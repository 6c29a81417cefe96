use super::*;

fn typed(temperature: &str, window: &str) -> TypedSettings {
    TypedSettings {
        temperature: temperature.to_owned(),
        effort: "low".to_owned(),
        window: window.to_owned(),
        first_byte: "900".to_owned(),
        idle: String::new(),
        max_output: "4096".to_owned(),
        prompt_usd: "$0.9".to_owned(),
        completion_usd: String::new(),
    }
}

#[test]
fn what_is_left_empty_is_unset_and_the_rest_is_read() {
    let change = typed("", "32768").read(Language::En).unwrap();
    assert_eq!(change.unset, [ModelSetting::Temperature, ModelSetting::Idle]);
    assert_eq!(change.first_byte_seconds, Some(900));
    assert_eq!((change.window_tokens, change.max_output_tokens), (Some(32_768), Some(4_096)));
    assert_eq!((change.prompt_usd, change.effort), (Some(0.9), Some(Effort::Low)));
    let problem = typed("warm", "").read(Language::En).unwrap_err();
    assert!(problem.message.contains("\"warm\""), "{}", problem.message);
}
