use super::*;

const W1: WorkspaceId = WorkspaceId::from_number(1);
const W2: WorkspaceId = WorkspaceId::from_number(2);

fn at(address: &str) -> Placed {
    Placed::At(address.parse().unwrap())
}

fn pins(entries: &[(&str, Placed)]) -> Result<Pins, PinnedHostError> {
    Pins::new(&entries.iter().map(|(name, placed)| ((*name).to_owned(), placed.clone())).collect())
}

fn to(scheme: Scheme, host: &str, port: u16) -> Destination {
    Destination { scheme, host: host.parse().unwrap(), port, path: "/".to_owned() }
}

/// Which of many ports of a host an entry opens.
fn ports(pins: &Pins, host: &str) -> Vec<(Scheme, u16)> {
    let schemes = [Scheme::Http, Scheme::Https];
    let all = schemes.into_iter().flat_map(|scheme| (1..=u16::MAX).map(move |port| (scheme, port)));
    all.filter(|(scheme, port)| pins.address(&to(*scheme, host, *port), W1).is_some()).collect()
}

/// E42: an entry opens the ports it names, of all 65535 and both schemes, and no others.
#[test]
fn e42_an_entry_opens_what_it_names_and_nothing_else() {
    let pins = pins(&[
        ("wiki.example.com", at("10.0.0.7")),
        ("db.example.com:8443", at("10.0.0.8")),
        ("http://old.example.com:8080", at("10.0.0.9")),
        ("https://new.example.com", at("10.0.0.9")),
    ])
    .unwrap();
    assert_eq!(ports(&pins, "wiki.example.com"), [(Scheme::Http, 80), (Scheme::Https, 443)]);
    assert_eq!(ports(&pins, "db.example.com"), [(Scheme::Http, 8443), (Scheme::Https, 8443)]);
    assert_eq!(ports(&pins, "old.example.com"), [(Scheme::Http, 8080)]);
    assert_eq!(ports(&pins, "new.example.com"), [(Scheme::Https, 443)]);
    assert_eq!(ports(&pins, "sub.wiki.example.com"), []);
    let found = pins.address(&to(Scheme::Https, "db.example.com", 8443), W1);
    assert_eq!(found, Some("10.0.0.8".parse().unwrap()));
}

#[test]
fn an_entry_can_be_for_some_workspaces() {
    let few = Placed::For(PlacedFor {
        address: "10.0.0.7".parse().unwrap(),
        workspaces: [W2].into_iter().collect(),
    });
    let pins = pins(&[("wiki.example.com", few)]).unwrap();
    let wiki = to(Scheme::Https, "wiki.example.com", 443);
    assert_eq!(pins.address(&wiki, W1), None);
    assert!(pins.address(&wiki, W2).is_some());
}

#[test]
fn what_can_not_be_meant_is_refused() {
    for name in
        ["", "host:0", "host:", "host:70000", "ftp://host", "ho st", "*.example.com", "host:1:2"]
    {
        assert!(pins(&[(name, at("10.0.0.7"))]).is_err(), "{name}");
    }
    assert!(pins(&[("a.example.com", at("169.254.169.254"))]).is_err());
    let twice = [("a.example.com", at("10.0.0.7")), ("http://a.example.com:80", at("10.0.0.8"))];
    assert!(matches!(pins(&twice), Err(PinnedHostError::Twice { .. })));
}

/// The forms as they stand in the configuration.
#[test]
fn the_configuration_reads_both_forms() {
    let read = |text| serde_json::from_str::<BTreeMap<String, Placed>>(text);
    let text =
        r#"{"a.test": "10.0.0.7", "b.test:81": {"address": "10.0.0.8", "workspaces": ["w2"]}}"#;
    let pins = Pins::new(&read(text).unwrap()).unwrap();
    assert!(pins.address(&to(Scheme::Http, "b.test", 81), W2).is_some());
    assert!(pins.address(&to(Scheme::Http, "b.test", 81), W1).is_none());
    assert!(read(r#"{"a.test": {"address": "10.0.0.7"}}"#).is_err());
}
