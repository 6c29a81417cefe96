use super::*;

#[test]
fn the_longer_pattern_wins_and_the_unknown_is_dear() {
    assert_eq!(prices_of("openai/gpt-4o-mini-2024-07-18").prompt, 150);
    assert_eq!(prices_of("openai/gpt-4o").prompt, 2_500);
    assert_eq!(prices_of("anthropic/claude-sonnet-4").completion, 15_000);
    assert_eq!(prices_of("Meta-Llama/LLAMA-3.3-70b").completion, 900);
    assert_eq!(prices_of("somebody/something-new"), CAUTIOUS);
}

#[test]
fn no_pattern_is_hidden_by_one_before_it() {
    for (place, (pattern, _)) in TABLE.iter().enumerate() {
        let hidden = TABLE.iter().take(place).find(|(earlier, _)| pattern.contains(earlier));
        assert_eq!(hidden, None, "{pattern} is never reached");
    }
}

#[test]
fn reasoning_models_take_their_limit_in_another_field() {
    assert_eq!(output_limit_field("openai/gpt-5-mini"), LimitField::MaxCompletionTokens);
    assert_eq!(output_limit_field("o3-mini"), LimitField::MaxCompletionTokens);
    assert_eq!(output_limit_field("openai/gpt-4o"), LimitField::MaxTokens);
}
