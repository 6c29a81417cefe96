use super::Language::{De, En, Ru};
use super::*;

#[test]
fn a_language_is_known_by_its_tag_and_its_names() {
    for (said, meant) in
        [("de", De), ("DE", De), ("de-AT", De), ("ru_RU", Ru), ("English", En), ("deutsch", De)]
    {
        assert_eq!(said.parse(), Ok(meant), "{said}");
    }
    assert_eq!("русский".parse(), Ok(Ru));
    assert_eq!("РУССКИЙ".parse(), Ok(Ru));
    for unknown in ["", "fr", "deu", "klingon", "d"] {
        assert!(unknown.parse::<Language>().is_err(), "{unknown}");
    }
}

#[test]
fn of_a_browsers_list_the_most_wanted_is_taken() {
    for (list, meant) in [
        ("de", Some(De)),
        ("fr-CH, de;q=0.8, en;q=0.7", Some(De)),
        ("en;q=0.1, ru;q=0.9", Some(Ru)),
        ("de, en", Some(De)),
        ("fr, *;q=0.5", None),
        ("de;q=0", None),
        ("de;q=what", Some(De)),
        ("", None),
    ] {
        assert_eq!(Language::of_list(list), meant, "{list}");
    }
}
