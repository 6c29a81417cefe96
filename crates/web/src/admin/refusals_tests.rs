use super::*;

#[test]
fn a_flood_is_recorded_by_its_beginning_and_its_size() {
    let refusals = Refusals::default();
    let (who, start) = (Some(UserId::from_number(7)), Instant::now());
    let recorded = (0..1000).filter(|_| refusals.note_at(who, start).is_some()).count();
    assert_eq!(recorded, 30);
    assert_eq!(refusals.note_at(None, start), Some(0), "another caller is not drowned by it");
    let later = start + WINDOW + Duration::from_secs(1);
    assert_eq!(refusals.note_at(who, later), Some(970));
    assert_eq!(refusals.note_at(who, later), Some(0));
}
