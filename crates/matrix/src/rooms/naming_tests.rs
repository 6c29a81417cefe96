use proptest::prelude::*;

use super::*;

const C2: ChatId = ChatId::from_number(2);

#[test]
fn a_room_is_called_after_its_chat() {
    assert_eq!(room_name(C2, "", false), "C2");
    assert_eq!(room_name(C2, "Taxes", false), "C2 · Taxes");
    assert_eq!(room_name(C2, "Taxes", true), "C2 · Taxes (archived)");
}

#[test]
fn whatever_a_person_calls_it_is_its_title() {
    assert_eq!(title_in("Taxes", C2), ("Taxes".to_owned(), false));
    assert_eq!(title_in("C2", C2), (String::new(), false));
    assert_eq!(title_in("C2PO", C2), ("C2PO".to_owned(), false));
    assert_eq!(title_in("C3 · Taxes", C2), ("C3 · Taxes".to_owned(), false));
    assert_eq!(title_in(" a\n\u{7}b ", C2), ("a b".to_owned(), false));
}

proptest! {
    /// Naming a room and reading its name lead back to the title: no rename echoes.
    #[test]
    fn a_title_survives_its_room(title in "[a-zäö0-9·()]{0,8}( [a-z0-9]{1,8}){0,3}", archived: bool) {
        let title = title.trim().to_owned();
        let name = room_name(C2, &title, archived);
        prop_assert_eq!(title_in(&name, C2), (title, archived));
    }
}
