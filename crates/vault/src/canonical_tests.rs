use proptest::prelude::*;

use super::*;

fn encode(fields: &[Vec<u8>]) -> Digest32 {
    fields.iter().fold(Canonical::new("test"), |list, field| list.bytes(field)).hash()
}

proptest! {
    #[test]
    fn different_lists_never_encode_alike(
        one in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..6),
        other in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..12), 0..6),
    ) {
        prop_assert_eq!(encode(&one) == encode(&other), one == other);
    }

    #[test]
    fn a_boundary_that_moves_changes_the_hash(text in "[a-z]{2,20}", at in 1usize..19) {
        let at = at.min(text.len() - 1);
        let (left, right) = text.split_at(at);
        let cut = Canonical::new("test").text(left).text(right).hash();
        prop_assert_ne!(cut, Canonical::new("test").text(&text).text("").hash());
    }
}

#[test]
fn a_digest_goes_through_text_and_json() {
    let digest = Canonical::new("test").number(7).hash();
    assert_eq!(digest.to_string().parse::<Digest32>().unwrap(), digest);
    let json = serde_json::to_string(&digest).unwrap();
    assert_eq!(serde_json::from_str::<Digest32>(&json).unwrap(), digest);
    assert!("zz".parse::<Digest32>().is_err());
}
