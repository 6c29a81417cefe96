use super::*;
use crate::inbox::InboxError;

fn workspace(number: u32) -> WorkspaceId {
    WorkspaceId::from_number(number)
}

fn knock(number: u32, urgent: bool) -> Knock {
    Knock { surface: "socket", workspace: workspace(number), from: name("ada"), urgent }
}

impl Limiter {
    /// As somebody who may speak there.
    fn message(&self, knock: &Knock) -> Result<(), TooMuch> {
        self.person(knock)?;
        self.together(knock)
    }
}

fn name(name: &str) -> UserName {
    name.parse().unwrap()
}

fn person(number: u32) -> UserId {
    UserId::from_number(number)
}

fn options() -> LimitOptions {
    LimitOptions { person_burst: 3, person_per_s: 0.5, ..LimitOptions::default() }
}

#[test]
fn a_flood_is_told_when_to_come_back_and_others_are_not() {
    let limiter = Limiter::new(options());
    for _ in 0..3 {
        limiter.message(&knock(1, false)).unwrap();
    }
    let refused = limiter.message(&knock(1, false)).unwrap_err();
    assert_eq!(refused.reason, "person_rate");
    let body = InboxError::from(refused).body();
    assert_eq!(body.retry_after_s, Some(2));
    assert_eq!(body.fix.as_deref(), Some("try again in 2 s"));
    limiter.message(&knock(2, false)).unwrap();
}

#[test]
fn commands_get_through_when_messages_do_not() {
    let limiter = Limiter::new(options());
    while limiter.message(&knock(1, false)).is_ok() {}
    limiter.message(&knock(1, true)).unwrap();
    let mut commands = 1;
    while limiter.message(&knock(1, true)).is_ok() {
        commands += 1;
    }
    assert!(commands <= LimitOptions::default().command_burst + 1, "{commands}");
}

#[test]
fn a_surface_that_is_full_costs_the_person_nothing() {
    let limiter = Limiter::new(LimitOptions { surface_burst: 2, surface_per_s: 0.1, ..options() });
    limiter.message(&knock(1, false)).unwrap();
    limiter.message(&knock(1, false)).unwrap();
    for _ in 0..10 {
        assert_eq!(limiter.message(&knock(2, false)).unwrap_err().reason, "surface_rate");
    }
    for surface in ["other", "other", "third"] {
        limiter.message(&Knock { surface, ..knock(2, false) }).unwrap();
    }
}

#[test]
fn a_bucket_fills_again_and_not_beyond_its_burst() {
    let buckets = Buckets::new(Rate::new(2, 1.0));
    let start = Instant::now();
    let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
    assert!(buckets.take(1, start).is_ok());
    assert!(buckets.take(1, start).is_ok());
    let wait = buckets.take(1, start).unwrap_err();
    assert_eq!(wait, Duration::from_secs(1));
    assert!(buckets.take(1, at(0.5)).is_err());
    assert!(buckets.take(1, at(1.0)).is_ok());
    assert!(buckets.take(1, at(100.0)).is_ok());
    assert!(buckets.take(1, at(100.0)).is_ok());
    assert!(buckets.take(1, at(100.0)).is_err());
}

#[test]
fn the_memory_of_buckets_is_bounded() {
    let buckets = Buckets::new(Rate::new(1, 0.001));
    let now = Instant::now();
    let taken = (0..50_000).filter(|key| buckets.take(*key, now).is_ok()).count();
    assert_eq!(taken, 10_000);
    // Whoever has waited long enough makes room.
    assert!(buckets.take(50_001, now + Duration::from_secs(2000)).is_ok());
}

#[test]
fn what_is_open_is_counted_per_person_and_given_back() {
    let limiter =
        Limiter::new(LimitOptions { person_sockets: 2, sockets: 3, ..LimitOptions::default() });
    let first = limiter.socket(workspace(1), person(1)).unwrap();
    let _second = limiter.socket(workspace(1), person(1)).unwrap();
    assert!(limiter.socket(workspace(1), person(1)).is_err());
    let _other = limiter.socket(workspace(2), person(2)).unwrap();
    assert!(limiter.socket(workspace(3), person(3)).is_err());
    drop(first);
    assert!(limiter.socket(workspace(1), person(1)).is_ok());
}

/// A community is one workspace of many people: what one of them uses up is theirs alone, and all together have more
/// than one has.
#[test]
fn one_member_uses_up_nothing_that_is_the_others() {
    let limiter = Limiter::new(LimitOptions {
        command_burst: 2,
        command_per_s: 0.1,
        upload_burst: 2,
        upload_per_s: 0.1,
        uploads: 2,
        connect_burst: 4,
        connect_per_s: 0.1,
        person_sockets: 2,
        ..options()
    });
    let club = workspace(1);
    let says = |from: &str, urgent| {
        limiter.message(&Knock { surface: "socket", workspace: club, from: name(from), urgent })
    };
    let mut open = Vec::new();
    for urgent in [false, true] {
        while says("bob", urgent).is_ok() {}
        says("ada", urgent).unwrap();
    }
    while let Ok(permit) = limiter.upload(club, person(2)) {
        open.push(permit);
    }
    while let Ok(permit) = limiter.socket(club, person(2)) {
        open.push(permit);
    }
    assert!(limiter.upload(club, person(1)).is_ok() && limiter.socket(club, person(1)).is_ok());

    // Many together are bounded too.
    let taken = (0..100).filter(|n| says(&format!("member-{n}"), false).is_ok()).count();
    assert_eq!(taken, 3 * 4 - 4, "four times what one may, less what Ada and Bob said");
    let sockets: Vec<_> = (3..50).filter_map(|n| limiter.socket(club, person(n)).ok()).collect();
    assert_eq!(sockets.len(), 2 * 4 - 2, "less those of Bob");
}

#[test]
fn a_share_of_a_community_is_never_nothing_and_ones_own_is_all_ones_own() {
    let own = Ownership::Private { owner: person(1) };
    for (all, of_community) in [(200, 50), (5, 1), (4, 1), (1, 1), (0, 0)] {
        assert_eq!((share(own, all), share(Ownership::Community, all)), (all, of_community));
    }
}
