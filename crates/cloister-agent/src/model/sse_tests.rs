use proptest::prelude::*;

use super::*;

fn all(stream: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut parser = SseParser::default();
    let mut events = Vec::new();
    let mut at = 0;
    for &cut in cuts.iter().filter(|&&cut| cut <= stream.len()) {
        if cut > at {
            events.extend(parser.push(&stream[at..cut]).unwrap());
            at = cut;
        }
    }
    events.extend(parser.push(&stream[at..]).unwrap());
    events.extend(parser.finish());
    events
}

#[test]
fn events_comments_other_fields_and_many_lines() {
    let stream =
        b": hi\nevent: x\ndata: one\n\ndata:two\r\ndata: lines\r\n\r\nid: 3\n\ndata: [DONE]\n\n";
    assert_eq!(all(stream, &[]), ["one", "two\nlines", "[DONE]"]);
}

#[test]
fn a_last_event_without_its_empty_line_still_counts() {
    assert_eq!(all(b"data: a\n\ndata: b", &[]), ["a", "b"]);
}

#[test]
fn an_endless_line_is_refused() {
    let mut parser = SseParser::default();
    let chunk = vec![b'x'; 1 << 20];
    assert_eq!(parser.push(&chunk), Ok(vec![]));
    assert_eq!(parser.push(&chunk), Ok(vec![]));
    assert_eq!(parser.push(&chunk), Err(EventTooLarge));
}

proptest! {
    #[test]
    fn where_the_network_cuts_makes_no_difference(mut cuts in prop::collection::vec(0usize..80, 0..12)) {
        cuts.sort_unstable();
        let stream = "data: {\"t\":\"héllo 🦀\"}\r\n\r\n: ping\r\ndata: a\rdata: b\r\r\ndata: ende\n\n".as_bytes();
        prop_assert_eq!(all(stream, &cuts), all(stream, &[]));
    }
}

/// The events of a stream that comes in pieces of this size.
fn in_pieces(bytes: &[u8], size: usize) -> Vec<String> {
    let mut parser = SseParser::default();
    let mut events: Vec<String> = bytes
        .chunks(size.max(1))
        .flat_map(|piece| parser.push(piece).unwrap_or_default())
        .collect();
    events.extend(parser.finish());
    events
}

/// However the network cuts a stream, the same events come out of it.
fn cut_anywhere(bytes: &[u8]) -> Result<usize, String> {
    let whole = in_pieces(bytes, bytes.len());
    for size in [1, 3] {
        let cut = in_pieces(bytes, size);
        if cut != whole {
            return Err(format!("pieces of {size} bytes give {cut:?}, the whole {whole:?}"));
        }
    }
    Ok(whole.len().min(20))
}

#[test]
fn fuzz_agent_stream() {
    let seeds = [
        "data: {\"a\":1}\n\ndata: [DONE]\n\n",
        "event: x\r\ndata: one\r\ndata: two\r\n\r\n",
        ": comment\n\ndata:no space\r\rdata\n\n",
    ];
    let words = ["data:", "data: ", "\n", "\r\n", "\r", "\n\n", "[DONE]", ":", "event: x"];
    let fuzz = cloister_testkit::Fuzz::new("agent_stream").seeds(seeds).words(words);
    fuzz.run(cut_anywhere).unwrap();
}
