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
