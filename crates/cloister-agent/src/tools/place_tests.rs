use super::*;

#[test]
fn paths_are_relative_to_the_chat_or_absolute_inside_it_or_tmp() {
    let place = ChatFolder::new("/somewhere/chat".into());
    let resolved = |path: &str| place.resolve(path).map(|path| path.display().to_string());
    assert_eq!(resolved("a/b.txt").unwrap(), "/somewhere/chat/a/b.txt");
    assert_eq!(resolved("/chat/a").unwrap(), "/somewhere/chat/a");
    assert_eq!(resolved("./x/../a").unwrap(), "/somewhere/chat/a");
    assert_eq!(resolved("/tmp/a").unwrap(), "/tmp/a");
    for wrong in ["/etc/passwd", "../other", "/chat/../../etc", "", "a\0b", "/tmp/../etc"] {
        assert!(resolved(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn a_refused_write_is_explained() {
    for errno in [Errno::FBIG, Errno::NOSPC, Errno::DQUOT] {
        let outcome = trouble("write", "a", &errno.into());
        assert!(
            outcome.output.contains("over its quota")
                && outcome.output.contains("deletes still work")
        );
    }
    assert!(!trouble("write", "a", &Errno::ACCESS.into()).output.contains("quota"));
    let sent = trouble("write", "incoming/a", &Errno::ROFS.into()).output;
    assert!(sent.contains("change the copy") && !sent.contains("quota"), "{sent}");
}
