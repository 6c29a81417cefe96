use super::*;

#[test]
fn sizes_are_readable() {
    for (bytes, text) in
        [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 kB"), (20 << 20, "20 MB"), (3 << 40, "3072 GB")]
    {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn a_host_that_is_allowed_by_now_has_no_button() {
    let frame = AgentFrame::Update(Update::Blocked {
        task: None,
        host: "example.com".into(),
        reason: "it is not on your list".into(),
        allow: Some("/allow example.com".into()),
    });
    let shown = told(&frame, 0, &Now::default()).unwrap().into_string();
    assert!(shown.contains("data-allow=\"/allow example.com\""), "{shown}");
    let now = Now { allowed: vec!["example.com".into()], ..Now::default() };
    let shown = told(&frame, 0, &now).unwrap().into_string();
    assert!(!shown.contains("<button"), "{shown}");
}

#[test]
fn what_agents_name_is_escaped() {
    let evil = "<img src=x onerror=alert(1)>\" onclick=\"x";
    let frames = [
        AgentFrame::Update(Update::Notice { text: evil.into() }),
        AgentFrame::Update(Update::Blocked {
            task: None,
            host: evil.into(),
            reason: evil.into(),
            allow: Some(evil.into()),
        }),
        AgentFrame::SendFile(SendFile {
            turn: None,
            task: None,
            path: evil.into(),
            name: evil.into(),
            mime: evil.into(),
            size: 1,
            url: Some("/cells/w1/v1/artifacts/x".into()),
        }),
        AgentFrame::Ask(Ask {
            approval: "A1".parse().unwrap(),
            task: None,
            title: evil.into(),
            text: evil.into(),
            digest: evil.into(),
            class: evil.into(),
            reason: evil.into(),
            sources: vec![evil.into()],
            offered: vec![],
            people: 1,
        }),
    ];
    for frame in frames {
        let shown = told(&frame, 0, &Now::default()).unwrap().into_string();
        assert!(!shown.contains("<img"), "{shown}");
        let tags = shown.split('<').filter_map(|piece| piece.split_once('>'));
        for (tag, _) in tags {
            assert!(!tag.contains("onclick=\""), "{tag} in {shown}");
        }
    }
}
