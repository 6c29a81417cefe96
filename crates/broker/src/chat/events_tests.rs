use super::*;

#[test]
fn whole_events_pass_at_once_and_pieces_wait_for_their_rest() {
    let mut events = WholeEvents::default();
    assert_eq!(
        events.push(b"data: 1\n\ndata: 2\n\ndat").unwrap().unwrap(),
        "data: 1\n\ndata: 2\n\n"
    );
    assert_eq!(events.push(b"a: 3\n").unwrap(), None);
    assert_eq!(events.push(b"\n").unwrap().unwrap(), "data: 3\n\n");
    assert_eq!(events.push(b"data: 4\r\n\r").unwrap(), None);
    assert_eq!(events.push(b"\ndata: 5").unwrap().unwrap(), "data: 4\r\n\r\n");
    assert_eq!(events.finish().unwrap(), "data: 5\n\n");
    assert_eq!(events.finish(), None);
}

#[test]
fn any_cut_of_a_stream_gives_the_same_events() {
    let whole = b"data: {\"a\":1}\n\n: comment\n\ndata: x\r\n\r\ndata: [DONE]\n\n";
    for first in 0..whole.len() {
        let mut events = WholeEvents::default();
        let mut out = Vec::new();
        for piece in [&whole[..first], &whole[first..]] {
            out.extend(events.push(piece).unwrap().into_iter().flatten());
        }
        assert_eq!(out, whole);
    }
}

#[test]
fn an_endless_event_is_refused() {
    let mut events = WholeEvents::default();
    let piece = vec![b'x'; 1 << 20];
    let pushed: Vec<_> = (0..8).map(|_| events.push(&piece)).collect();
    assert!(pushed.iter().any(Result::is_err));
}

#[test]
fn usage_end_and_errors_are_seen() {
    let mut progress = Progress::default();
    assert_eq!(progress.look(b": waiting\n\n"), EventsSeen::Nothing);
    let text = b"data: {\"choices\":[{\"delta\":{\"content\":\"hello there\"},\"finish_reason\":null}]}\n\n";
    assert_eq!(progress.look(text), EventsSeen::Data);
    assert!(!progress.finished);
    assert!(progress.completion_tokens_estimate() >= 4);
    progress.look(b"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n");
    assert!(progress.finished && !progress.done);
    progress.look(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}\n\n",
    );
    assert_eq!(progress.usage, Some(Usage { prompt_tokens: 5, completion_tokens: 2 }));
    progress.look(b"data: [DONE]\n\n");
    assert!(progress.done);
    let error = progress.look(b"data: {\"error\":{\"message\":\"overloaded\"}}\n\n");
    assert_eq!(error, EventsSeen::Error("{\"message\":\"overloaded\"}".to_owned()));
    assert_eq!(progress.look(b"data: {\"choi\n\n"), EventsSeen::Malformed);
}

const STREAMS: &[&str] = &[
    "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\r\n\r\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
    ": comment\n\nevent: x\ndata: {\"error\":{\"message\":\"no\"}}\n\n",
];
const STREAM_WORDS: &[&str] = &[
    "data:",
    "data: ",
    "\n\n",
    "\r\n\r\n",
    "\n\r\n",
    "\r",
    "[DONE]",
    ": ",
    "event: ",
    "\"delta\":",
    "\"usage\":null",
    "\"finish_reason\":\"stop\"",
    "18446744073709551615",
    "\"error\":\"\"",
    "\\u0000",
];

/// The events of a stream that comes in pieces of this size.
fn in_pieces(bytes: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut cutter = WholeEvents::default();
    let mut out = Vec::new();
    for piece in bytes.chunks(size.max(1)) {
        if let Some(events) = cutter.push(piece).ok()? {
            if !(events.ends_with(b"\n\n") || events.ends_with(b"\n\r\n")) {
                return None;
            }
            out.extend_from_slice(&events);
        }
    }
    out.extend_from_slice(&cutter.finish().unwrap_or_default());
    Some(out)
}

/// However the network cuts a stream, the same events come out of it.
fn stream(bytes: &[u8]) -> Result<(bool, bool, u64), String> {
    let whole = in_pieces(bytes, bytes.len());
    // Blank lines between events may come sooner or later; events may not.
    let events = |bytes: Option<Vec<u8>>| {
        bytes.map(|bytes| data_lines(&bytes).map(<[u8]>::to_vec).collect::<Vec<_>>())
    };
    let expected = events(whole.clone());
    for size in [1, 7] {
        if events(in_pieces(bytes, size)) != expected {
            return Err(format!("pieces of {size} bytes give other events"));
        }
    }
    let mut progress = Progress::default();
    progress.look(&whole.unwrap_or_default());
    Ok((progress.finished, progress.usage.is_some(), progress.pieces().min(9)))
}

#[test]
fn fuzz_model_stream() {
    cloister_testkit::Fuzz::new("model_stream")
        .seeds(STREAMS)
        .words(STREAM_WORDS)
        .run(stream)
        .unwrap();
}
