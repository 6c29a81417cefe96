use cloister_protocol::surface::{CommandSign, Customs};

use crate::test_world;

#[tokio::test]
async fn what_a_connector_said_last_holds() {
    let (_dir, store) = test_world::store().await;
    let store = store.conversations();
    assert_eq!(store.customs("folder").await.unwrap(), Customs::USUAL);
    let bang = Customs { command_sign: CommandSign::Bang, ..Customs::USUAL };
    for customs in [bang, bang, Customs { sees_readers: true, ..Customs::USUAL }, Customs::USUAL] {
        store.set_customs("folder", customs).await.unwrap();
        assert_eq!(store.customs("folder").await.unwrap(), customs);
        assert_eq!(store.customs("another").await.unwrap(), Customs::USUAL);
    }
}

/// A connector that says less, and one that says more, are both understood.
#[test]
fn what_is_left_out_is_as_it_is_on_most() {
    let read = |json| serde_json::from_str::<Customs>(json).unwrap();
    assert_eq!(read("{}"), Customs::USUAL);
    assert_eq!(Customs::default(), Customs::USUAL);
    let more = read(r#"{"command_sign": "!", "room_per_chat": true, "speaks_latin": true}"#);
    let bang = Customs { command_sign: CommandSign::Bang, room_per_chat: true, ..Customs::USUAL };
    assert_eq!(more, bang);
}
