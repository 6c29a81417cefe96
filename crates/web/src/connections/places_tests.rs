use super::*;

const ADA: UserId = UserId::from_number(1);
const BOB: UserId = UserId::from_number(2);

fn address(last: u8) -> Option<IpAddr> {
    Some(IpAddr::from([192, 0, 2, last]))
}

fn places(strangers: usize, per_address: usize) -> Places {
    Places::new(Shares { strangers, known: 3, per_address, per_person: 2 })
}

fn left(places: &[ConnectionPlace]) -> Vec<bool> {
    places.iter().map(|place| place.seat().leave().is_cancelled()).collect()
}

#[tokio::test(start_paused = true)]
async fn one_address_has_so_many_once_they_had_time_to_speak() {
    let places = places(100, 2);
    let mut all: Vec<ConnectionPlace> = (0..4).map(|_| places.enter(address(1))).collect();
    assert_eq!(left(&all), [false; 4], "a burst has its moment");
    tokio::time::advance(TIME_TO_SPEAK * 2).await;
    all.push(places.enter(address(2)));
    assert_eq!(left(&all), [false; 5], "another address takes nothing from them");
    all.push(places.enter(address(1)));
    assert_eq!(left(&all), [true, true, true, false, false, false]);
}

#[tokio::test(start_paused = true)]
async fn a_household_with_ipv6_counts_as_one() {
    let places = places(100, 1);
    let of = |tail: u16| Some(IpAddr::from([0x2001, 0xdb8, 0, 1, 0, 0, 0, tail]));
    let first = places.enter(of(1));
    tokio::time::advance(TIME_TO_SPEAK * 2).await;
    let second = places.enter(of(2));
    assert!(first.seat().leave().is_cancelled() && !second.seat().leave().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn the_share_of_strangers_holds_at_once() {
    let places = places(3, 100);
    let all: Vec<ConnectionPlace> = (0..6).map(|n| places.enter(address(n))).collect();
    assert_eq!(left(&all), [true, true, true, false, false, false]);
    // Who asks something is younger than who says nothing.
    all[3].seat().is_strangers(address(3));
    let _next = places.enter(address(9));
    assert_eq!(left(&all), [true, true, true, false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn who_is_known_is_never_sent_away_and_has_limits_of_their_own() {
    let places = places(2, 100);
    let (a, b, c) = (places.enter(address(1)), places.enter(address(1)), places.enter(None));
    assert!(a.seat().leave().is_cancelled() && !a.seat().is_of(ADA), "too late");
    assert!(b.seat().is_of(ADA) && b.seat().is_of(ADA) && c.seat().is_of(ADA));
    let strangers: Vec<ConnectionPlace> = (0..50).map(|n| places.enter(address(n))).collect();
    assert_eq!(left(&strangers[..48]), [true; 48]);
    assert_eq!(left(&[b, c]), [false; 2], "dropped here");
    // All that is dropped counts no longer.
    let all = places.all();
    assert_eq!((all.known, all.people.len(), all.strangers.len()), (0, 0, 2));
    drop(all);
    let four: Vec<ConnectionPlace> = (0..2).map(|_| places.enter(None)).collect();
    assert!(four.iter().all(|place| place.seat().is_of(ADA)));
    let more = places.enter(None);
    assert!(!more.seat().is_of(ADA), "one person has two");
    assert!(more.seat().is_of(BOB));
    let last = places.enter(None);
    assert!(!last.seat().is_of(BOB), "all have three");
    // A proxy's connection is the next request's.
    more.seat().is_strangers(address(7));
    assert!(last.seat().is_of(BOB) && !more.seat().is_of(BOB));
    drop((four, more, last, strangers));
    let all = places.all();
    assert!(all.taken.is_empty() && all.addresses.is_empty() && all.strangers.is_empty());
}
