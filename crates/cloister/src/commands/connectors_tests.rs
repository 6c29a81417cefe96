use super::*;

fn view(account: &str, name: &str) -> ConnectorView {
    ConnectorView {
        surface: "telegram".to_owned(),
        account: account.to_owned(),
        address: "https://api.telegram.org/".to_owned(),
        state: ConnectorState::Connected,
        problem: None,
        last_heard_at: Some(0),
        conversations: 2,
        waiting: 0,
        facts: vec![("name".to_owned(), name.to_owned())],
        reconciled: None,
    }
}

#[test]
fn an_account_becomes_one_part_of_a_path() {
    let path = MATRIX.path("@cloister/../models?x=#1 %:example.org");
    assert_eq!(
        path,
        "/admin/v1/surfaces/matrix/connectors/@cloister%2F..%2Fmodels%3Fx%3D%231%20%25:example.org"
    );
    assert_eq!(TELEGRAM.path("12"), "/admin/v1/surfaces/telegram/connectors/12");
}

#[test]
fn only_what_leaves_this_machine_in_the_clear_is_warned_of() {
    for safe in [
        "https://example.org",
        "http://127.0.0.1:8008",
        "http://localhost",
        "http://[::1]:1/",
        "wss://gateway.example.org",
        "ws://127.0.0.1:1",
        "",
    ] {
        assert!(!is_open_to_listeners(safe), "{safe}");
    }
    for open in [
        "http://example.org",
        "http://10.0.0.1:8008",
        "http://localhost.example.org",
        "ws://gateway.example.org",
    ] {
        assert!(is_open_to_listeners(open), "{open}");
    }
}

#[test]
fn an_account_is_found_by_its_id_or_its_name() {
    let bot = view("123456", "@OurBot");
    for typed in ["123456", "@OurBot", "ourbot", "OurBot"] {
        assert!(is_meant(&bot, typed), "{typed}");
    }
    for other in ["12345", "@other", "", "@"] {
        assert!(!is_meant(&bot, other), "{other}");
    }
}

#[test]
fn a_token_is_one_word_and_is_not_shown_when_it_is_wrong() {
    let fits = |text: &str| text.starts_with("123:");
    assert!(checked_token(Key::new("123:abc"), fits).is_ok());
    for wrong in ["123: abc", "Bot 123:abc", "123:a\tbc", "456:abc", "123:äbc"] {
        let said = checked_token(Key::new(wrong), fits).unwrap_err();
        assert!(!said.contains("abc") && !said.is_empty(), "{said}");
    }
}

#[test]
fn each_surface_is_told_of_in_its_own_words() {
    let none = report::list(DISCORD, &[], true);
    assert!(none.contains("No Discord account") && none.contains("cloister discord --help"));
    let bot = view("123456", "@OurBot");
    let table = report::list(TELEGRAM, std::slice::from_ref(&bot), true);
    assert!(table.contains("SERVER") && table.contains("CONVERSATIONS"), "{table}");
    let status = report::status(TELEGRAM, std::slice::from_ref(&bot), true);
    assert_eq!(
        status,
        "123456 on https://api.telegram.org: connected\n  \
         name               @OurBot\n  \
         conversations      2\n  \
         waiting to be sent 0\n  \
         last heard         1970-01-01T00:00:00Z\n"
    );
    let out = ConnectorView { state: ConnectorState::LoggedOut, ..bot };
    let status = report::status(TELEGRAM, &[out], true);
    assert!(status.contains("cloister telegram add --token-file FILE"), "{status}");
    let gone = report::removed(TELEGRAM, "123456");
    assert!(gone.contains("with its token") && gone.contains("stay on Telegram"), "{gone}");
    assert!(report::removed(MATRIX, "@b:c").contains("rooms stay on the homeserver"));
}
