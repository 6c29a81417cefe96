use super::super::message::Frame;
use super::*;

fn said(content: &str) -> Said {
    Said { content: content.to_owned(), ..Said::default() }
}

#[test]
fn ids_count_from_discords_beginning() {
    // The id of the example in Discord's documentation, and when it was given.
    assert_eq!(snowflake(1_462_015_105_796), 175_928_847_298_985_984);
    assert!(snowflake(1_462_015_105_796) <= 175_928_847_299_117_063);
    assert_eq!(snowflake(0), 0);
}

/// X1: a message that got there is known again after Discord forgot its nonce, also if only its beginning was shown.
#[test]
fn what_got_there_is_known_again() {
    let meant =
        Message::words("A sentence that is **bold** and then goes on for a while.".to_owned());
    assert!(is_it(
        &said("A sentence that is **bold** and then goes on for a while.\n"),
        &meant,
        None
    ));
    assert!(is_it(&said("A sentence that is **bold**"), &meant, None));
    assert!(!is_it(&said("A sentence"), &meant, None), "too little to be sure");
    assert!(!is_it(&said("A sentence that is **bold** and ends."), &meant, None));
    assert!(!is_it(&said(""), &meant, None));

    let frame = Frame { text: "note".to_owned(), ..Frame::default() };
    let notice = Message { frame: Some(frame), ..Message::default() };
    let embed = Embed { description: "note".to_owned() };
    assert!(is_it(&Said { embeds: vec![embed], ..said("") }, &notice, None));
    assert!(!is_it(&said("note"), &notice, None));

    let attached = Attachment { filename: "a.txt".to_owned() };
    let file = Said { attachments: vec![attached], ..said("") };
    assert!(is_it(&file, &Message::default(), Some("a.txt")));
    assert!(!is_it(&file, &Message::default(), Some("b.txt")));
}

#[test]
fn who_may_not_read_finds_nothing() {
    let forbidden = Fault::Forbidden { code: 50001, message: String::new() };
    assert_eq!(may_not_look(forbidden), Ok(Vec::new()));
    assert_eq!(may_not_look(Fault::Unauthorized), Err(Fault::Unauthorized));
}
