use super::*;

#[test]
fn limits_are_read_from_the_words_of_providers() {
    for (said, window, output) in [
        (
            "max_tokens is too large: 100000000. This model supports at most 16384 completion \
             tokens, whereas you provided 100000000.",
            None,
            Some(16_384),
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 100000000. This model's maximum \
             context length is 4096 tokens and your request has 12 input tokens",
            Some(4_096),
            None,
        ),
        (
            "This endpoint's maximum context length is 131,072 tokens. However, you requested more",
            Some(131_072),
            None,
        ),
        (
            "max_tokens: 100000000 > 64000, which is the maximum allowed number of output tokens",
            None,
            Some(64_000),
        ),
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`",
            None,
            Some(8_192),
        ),
        ("the request exceeds the available context size (2048 tokens)", Some(2_048), None),
        ("no such model", None, None),
        ("the context length is unknown; try 7 times", None, None),
    ] {
        assert_eq!((window_in(said), output_in(said)), (window, output), "{said}");
    }
}
