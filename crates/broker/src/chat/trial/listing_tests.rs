use serde_json::json;

use super::*;

#[test]
fn an_id_says_how_large_a_model_is() {
    for (id, size) in [
        ("qwen2.5-coder-1.5b.gguf", Some(1_500_000_000)),
        ("smollm2:135m", Some(135_000_000)),
        ("meta-llama/Llama-3.3-70B-Instruct", Some(70_000_000_000)),
        ("mistralai/mixtral-8x7b", Some(56_000_000_000)),
        ("qwen3-30b-a3b", Some(30_000_000_000)),
        ("gpt-4o", None),
        ("z-ai/glm-4.6", None),
        ("web-m", None),
    ] {
        assert_eq!(parameters_in(id), size, "{id}");
    }
}

#[test]
fn a_list_says_how_much_fits_in_the_words_of_each_provider() {
    for (one, window, output) in [
        (
            json!({"context_length": 200_000, "top_provider": {"context_length": 131_072,
            "max_completion_tokens": 8_192}}),
            Some(131_072),
            Some(8_192),
        ),
        (
            json!({"context_window": 8_192, "max_completion_tokens": 4_096}),
            Some(8_192),
            Some(4_096),
        ),
        (json!({"max_model_len": 32_768}), Some(32_768), None),
        (json!({"meta": {"n_ctx_train": 2_048, "n_params": 135_000_000}}), Some(2_048), None),
        (json!({"context_length": null}), None, None),
    ] {
        let listed = in_entry(&one);
        assert_eq!((listed.window, listed.output), (window, output), "{one}");
    }
}

#[test]
fn a_server_with_one_model_means_it_whatever_it_is_called() {
    let one = json!({"data": [{"id": "/models/a.gguf"}]});
    let two = json!({"data": [{"id": "a"}, {"id": "b"}]});
    assert!(entry(&one, "a").is_some());
    assert_eq!(entry(&two, "b").unwrap()["id"], "b");
    assert!(entry(&two, "c").is_none());
}
