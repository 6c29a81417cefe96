use super::*;

fn held_for(holds: &Holds) -> Option<Duration> {
    let held = holds.longer_than(Duration::ZERO);
    held.into_iter().find(|hold| !hold.waits).map(|hold| hold.since)
}

/// Another program has the database: who has a turn gives up after a while, and the next one is no better off. It is one
/// hold, from the first of them on, until somebody can write again.
#[tokio::test(start_paused = true)]
async fn who_is_shut_out_hands_on_since_when() {
    let holds = Arc::new(Holds::default());
    let wait = |kind| holds.wait(kind, Location::caller()).unwrap();
    let [first, second, third] = [(); 3].map(|()| wait(HoldKind::Writer));
    let seconds = Duration::from_secs;
    first.has_turn();
    tokio::time::advance(seconds(10)).await;
    first.is_shut_out();
    drop(first);
    second.has_turn();
    tokio::time::advance(seconds(2)).await;
    assert_eq!(held_for(&holds), Some(seconds(12)));
    let reader = wait(HoldKind::Reader);
    reader.has_turn();
    let held = holds.longer_than(Duration::ZERO);
    assert!(held.iter().any(|hold| hold.kind == HoldKind::Reader && hold.since.is_zero()));
    drop(reader);
    second.is_shut_out();
    drop(second);
    third.has_turn();
    assert_eq!(held_for(&holds), Some(seconds(12)));
    // This one can write.
    drop(third);
    let next = wait(HoldKind::Writer);
    next.has_turn();
    assert_eq!(held_for(&holds), Some(Duration::ZERO));
}

/// What SQLite says of a file that was written over.
async fn damage() -> sqlx::Error {
    use sqlx::ConnectOptions as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("no.db");
    std::fs::write(&path, "written over ".repeat(1000)).unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let read = async {
        let mut file = options.connect().await?;
        sqlx::query("SELECT count(*) FROM sqlite_master").execute(&mut file).await
    };
    read.await.unwrap_err()
}

/// O1: damage that anybody ran into stays known; that a write did not get to the disk is so until one does.
#[tokio::test]
async fn what_is_wrong_with_the_file_is_known_to_all() {
    let holds = Arc::new(Holds::default());
    let ticket = |kind| {
        let ticket = holds.wait(kind, Location::caller()).unwrap();
        ticket.has_turn();
        ticket
    };
    let full = || sqlx::Error::Io(std::io::ErrorKind::StorageFull.into());
    ticket(HoldKind::Reader).failed(&sqlx::Error::RowNotFound);
    ticket(HoldKind::Reader).failed(&full());
    assert_eq!(holds.trouble(), None, "a reader says nothing of what is written");
    ticket(HoldKind::Writer).failed(&full());
    assert_eq!(holds.trouble(), Some(Trouble::Full));
    ticket(HoldKind::Writer).has_written();
    assert_eq!(holds.trouble(), None);
    ticket(HoldKind::Reader).failed(&damage().await);
    ticket(HoldKind::Writer).has_written();
    assert_eq!(holds.trouble(), Some(Trouble::Damaged));
}
