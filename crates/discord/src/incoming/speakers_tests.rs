use super::known_as;
use crate::wire::Account;

/// I2: an operator sees what an account calls itself and what it is, and neither can pass for more.
#[test]
fn an_account_is_shown_by_its_name_and_its_handle() {
    let mut account = Account {
        id: "1".to_owned(),
        username: "ada".to_owned(),
        global_name: Some("Ada\u{7} L.\n".to_owned()),
        ..Account::default()
    };
    assert_eq!(known_as(&account), "Ada L. (@ada)");
    account.global_name = None;
    assert_eq!(known_as(&account), "@ada");
    account.discriminator = Some("0007".to_owned());
    assert_eq!(known_as(&account), "ada (@ada#0007)");
    account.global_name = Some("x".repeat(500));
    assert!(known_as(&account).chars().count() < 120);
}
