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
    assert_eq!(progress.look(b": waiting\n\n"), Seen::Nothing);
    let text = b"data: {\"choices\":[{\"delta\":{\"content\":\"hello there\"},\"finish_reason\":null}]}\n\n";
    assert_eq!(progress.look(text), Seen::Data);
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
    assert_eq!(error, Seen::Error("{\"message\":\"overloaded\"}".to_owned()));
    assert_eq!(progress.look(b"data: {\"choi\n\n"), Seen::Malformed);
}
