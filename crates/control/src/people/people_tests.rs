use super::*;

#[test]
fn an_account_has_no_invisible_parts() {
    let ada = account("matrix", "@ada:example.org", "Ada \u{202E}rotarepo\u{7}").unwrap();
    assert_eq!(ada.display_name, "Ada rotarepo");
    for (surface, id) in [
        ("", "x"),
        ("matrix", ""),
        ("matrix", "a b"),
        ("matrix", "a\u{200B}"),
        ("mat\nrix", "a"),
        ("matrix", &"a".repeat(300)),
    ] {
        assert!(account(surface, id, "").is_err(), "{surface:?} {id:?}");
    }
}
