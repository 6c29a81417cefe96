use std::sync::Arc;
use std::time::Duration;

use sqlx::Executor;
use sqlx::SqliteConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use tokio::task::JoinSet;

use super::*;
use crate::tx::Tx;

struct Place {
    dir: tempfile::TempDir,
    writer: Writer,
}

impl Place {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut durable = connect(&dir).await;
        durable
            .execute("CREATE TABLE said (number INTEGER PRIMARY KEY, half INTEGER)")
            .await
            .unwrap();
        let connections = Connections { durable, light: connect(&dir).await };
        Self { dir, writer: Writer::new(connections, Arc::default(), Changes::default()) }
    }

    /// What another connection sees: only what is committed.
    async fn numbers(&self) -> Vec<i64> {
        let mut connection = connect(&self.dir).await;
        sqlx::query_scalar("SELECT number FROM said ORDER BY number")
            .fetch_all(&mut connection)
            .await
            .unwrap()
    }
}

async fn connect(dir: &tempfile::TempDir) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(dir.path().join("db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .busy_timeout(Duration::from_millis(500))
        .connect()
        .await
        .unwrap()
}

const SAY: &str = "INSERT INTO said (number) VALUES (?)";

async fn say(tx: &mut Tx, number: i64) -> Result<(), sqlx::Error> {
    sqlx::query(SAY).bind(number).execute(tx).await?;
    Ok(())
}

/// The last of a transaction.
async fn say_last(tx: WriteTx, number: i64) -> Result<(), sqlx::Error> {
    tx.commit_after(sqlx::query(SAY).bind(number)).await
}

/// Writes two rows in a transaction, or one in a statement.
async fn write(writer: &Writer, number: i64) -> Result<(), sqlx::Error> {
    if number % 3 == 0 {
        let mut tx = writer.begin_one().await?;
        say(&mut tx, number).await?;
        return tx.commit().await;
    }
    let mut tx = writer.begin().await?;
    say(&mut tx, number).await?;
    if number % 3 == 1 {
        return say_last(tx, number + 1000).await;
    }
    say(&mut tx, number + 1000).await?;
    tx.commit().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_many_write_at_once_is_all_there() {
    let place = Place::new().await;
    let mut writers = JoinSet::new();
    for number in 0..200 {
        let writer = place.writer.clone();
        writers.spawn(async move { write(&writer, number).await });
    }
    while let Some(written) = writers.join_next().await {
        written.unwrap().unwrap();
    }
    let twice = (0..200).filter(|number| number % 3 != 0);
    let mut expected: Vec<i64> = (0..200).chain(twice.map(|number| number + 1000)).collect();
    expected.sort_unstable();
    assert_eq!(place.numbers().await, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_fails_takes_nothing_of_the_others_with_it() {
    let place = Place::new().await;
    write(&place.writer, 1).await.unwrap();
    let mut writers = JoinSet::new();
    for number in 2..120 {
        let writer = place.writer.clone();
        writers.spawn(async move {
            match number % 4 {
                // A row that is there already, in a transaction and alone.
                0 => {
                    let mut tx = writer.begin().await.unwrap();
                    say(&mut tx, number + 5000).await.unwrap();
                    assert!(say(&mut tx, 1).await.is_err());
                }
                1 if number % 8 == 1 => {
                    let mut tx = writer.begin_one().await.unwrap();
                    assert!(say(&mut tx, 1).await.is_err());
                }
                // In the last statement, which is committed on the same way.
                1 => {
                    let mut tx = writer.begin().await.unwrap();
                    say(&mut tx, number + 5000).await.unwrap();
                    assert!(say_last(tx, 1).await.is_err());
                }
                _ => write(&writer, number).await.unwrap(),
            }
        });
    }
    while let Some(written) = writers.join_next().await {
        written.unwrap();
    }
    let there = place.numbers().await;
    for number in 2..120 {
        assert_eq!(there.contains(&number), number % 4 > 1, "{number}");
        assert!(!there.contains(&(number + 5000)), "{number}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_is_dropped_anywhere_harms_nobody() {
    let place = Place::new().await;
    let mut writers = JoinSet::new();
    for number in 1..300 {
        let writer = place.writer.clone();
        writers.spawn(async move {
            if number % 2 == 0 {
                write(&writer, number).await.unwrap();
            } else {
                // Given up after a moment, wherever it is by then.
                let moment = Duration::from_micros(u64::try_from(number).unwrap() * 17);
                drop(tokio::time::timeout(moment, write(&writer, number)).await);
            }
        });
    }
    while let Some(written) = writers.join_next().await {
        written.unwrap();
    }
    // What was left open is committed or undone by the next.
    write(&place.writer, 600).await.unwrap();
    let there = place.numbers().await;
    for number in (2..300).step_by(2) {
        assert!(there.contains(&number), "{number}");
    }
    for number in (1..300).filter(|number| number % 3 != 0) {
        assert_eq!(there.contains(&number), there.contains(&(number + 1000)), "{number}");
    }
}

#[tokio::test]
async fn after_the_close_nothing_is_written() {
    let place = Place::new().await;
    write(&place.writer, 1).await.unwrap();
    place.writer.close().await.unwrap();
    assert!(write(&place.writer, 3).await.is_err());
    assert_eq!(place.numbers().await, [1, 1001]);
}

/// Nobody writes here for a while after one was dropped: other processes get at the file all the same.
#[tokio::test]
async fn one_that_is_dropped_keeps_no_other_process_from_the_file() {
    let place = Place::new().await;
    let mut tx = place.writer.begin().await.unwrap();
    say(&mut tx, 1).await.unwrap();
    drop(tx);
    let mut other = connect(&place.dir).await;
    sqlx::query("INSERT INTO said (number) VALUES (7)").execute(&mut other).await.unwrap();
    write(&place.writer, 3).await.unwrap();
    assert_eq!(place.numbers().await, [3, 7]);
}

/// Whoever holds it waits for something else, or is never polled again.
#[tokio::test]
async fn one_that_nobody_goes_on_with_is_taken_back() {
    let place = Place::new().await;
    let mut held = place.writer.begin().await.unwrap();
    say(&mut held, 1).await.unwrap();
    write(&place.writer, 3).await.unwrap();
    let late = say(&mut held, 2).await.unwrap_err();
    assert!(late.to_string().contains("taken back"), "{late}");
    assert!(held.commit().await.is_err());
    assert_eq!(place.numbers().await, [3]);
}

/// One that is taken back takes nothing along of those that it joined.
#[tokio::test]
async fn who_gives_up_leaves_what_it_joined() {
    let place = Place::new().await;
    let mut first = place.writer.begin().await.unwrap();
    say(&mut first, 1).await.unwrap();
    let gives_up = async {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, 2).await.unwrap();
        tx.rollback().await.unwrap();
    };
    let (stored, ()) = tokio::join!(first.commit(), gives_up);
    stored.unwrap();
    assert_eq!(place.numbers().await, [1]);
}

/// Whatever the last statement of one that joined others breaks, what they wrote is stored.
#[tokio::test]
async fn whose_last_statement_fails_takes_nothing_along() {
    let place = Place::new().await;
    let mut first = place.writer.begin().await.unwrap();
    say(&mut first, 1).await.unwrap();
    let fails = async {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, 2).await.unwrap();
        assert!(say_last(tx, 1).await.is_err());
        let alone = place.writer.begin().await.unwrap();
        assert!(say_last(alone, 1).await.is_err());
    };
    let (stored, ()) = tokio::join!(first.commit(), fails);
    stored.unwrap();
    assert_eq!(place.numbers().await, [1]);
    write(&place.writer, 4).await.unwrap();
    assert_eq!(place.numbers().await, [1, 4, 1004]);
}

/// Several join one after the other: each is undone alone, whoever came before it.
#[tokio::test]
async fn of_several_that_join_only_the_one_that_gives_up_is_undone() {
    let place = Place::new().await;
    let mut first = place.writer.begin().await.unwrap();
    say(&mut first, 1).await.unwrap();
    let stores = async |number| {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, number).await.unwrap();
        tx.commit().await.unwrap();
    };
    let gives_up = async |number| {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, number).await.unwrap();
        tx.rollback().await.unwrap();
    };
    let (stored, ..) = tokio::join!(
        first.commit(),
        stores(2),
        gives_up(3),
        stores(4),
        gives_up(5),
        gives_up(6),
        stores(7),
    );
    stored.unwrap();
    assert_eq!(place.numbers().await, [1, 2, 4, 7]);
}

fn saying(number: i64) -> Owned {
    Owned::all(sqlx::query(SAY).bind(number)).unwrap()
}

/// A write that is one order: its second statement is known when the first has run.
#[tokio::test]
async fn one_order_is_written_whole_or_not_at_all() {
    let place = Place::new().await;
    let both = async |number, follow: Follow| {
        let outlives = if number % 2 == 0 { Outlives::Kills } else { Outlives::PowerCuts };
        place.writer.write_both(outlives, saying(number), follow).await
    };
    for number in [1, 2] {
        let last = move |_found| Then::Last(saying(number + 1000));
        both(number, Box::new(last)).await.unwrap();
    }
    for number in [3, 4] {
        both(number, Box::new(|_found| Then::Commit)).await.unwrap();
    }
    for number in [5, 6] {
        both(number, Box::new(|_found| Then::Undo)).await.unwrap();
        // What is there already, as the first and as the last.
        both(1, Box::new(|_found| Then::Commit)).await.unwrap_err();
        both(number, Box::new(|_found| Then::Last(saying(1)))).await.unwrap_err();
    }
    place.writer.write(Outlives::Kills, saying(7)).await.unwrap();
    place.writer.write(Outlives::Kills, saying(7)).await.unwrap_err();
    assert_eq!(place.numbers().await, [1, 2, 3, 4, 7, 1001, 1002]);
}

/// Whoever gave it up before its last statement wants it no more.
#[tokio::test]
async fn an_order_that_nobody_waits_for_any_more_is_taken_back() {
    let place = Place::new().await;
    let (runs, is_running) = std::sync::mpsc::sync_channel(1);
    let (gone, is_gone) = oneshot::channel::<()>();
    let follow = move |_found| {
        runs.send(()).unwrap();
        Then::Last(saying(1001))
    };
    let given = place.writer.write_both(Outlives::PowerCuts, saying(1), Box::new(follow));
    let given = async {
        tokio::select! {
            biased;
            Ok(()) = is_gone => {}
            written = given => written.unwrap(),
        }
    };
    // The desk is another's until the order is given up.
    let held = place.writer.begin().await.unwrap();
    let gives_up = async {
        gone.send(()).unwrap();
        tokio::task::yield_now().await;
        held.rollback().await.unwrap();
    };
    tokio::join!(given, gives_up);
    write(&place.writer, 4).await.unwrap();
    assert_eq!(place.numbers().await, [4, 1004]);
    assert!(is_running.try_recv().is_err());
}

/// What does not wait for the disk is committed at once, also where others wait: what they write may need more.
#[tokio::test]
async fn what_only_outlives_kills_is_left_open_for_nobody() {
    let place = Place::new().await;
    let held = place.writer.begin().await.unwrap();
    let light = |number| place.writer.write(Outlives::Kills, saying(number));
    let checks = async {
        held.rollback().await.unwrap();
        write(&place.writer, 3).await.unwrap();
    };
    let (first, second, ()) = tokio::join!(light(1), light(2), checks);
    first.unwrap();
    second.unwrap();
    let desk = place.writer.desk.lock().await;
    assert!(desk.group.is_none());
    drop(desk);
    assert_eq!(place.numbers().await, [1, 2, 3]);
}

/// Another program has the file: nothing is written, also not by the statements after the first, until it is free.
#[tokio::test]
async fn who_is_shut_out_begins_with_the_next_statement() {
    let place = Place::new().await;
    let mut other = connect(&place.dir).await;
    sqlx::query("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let mut tx = place.writer.begin().await.unwrap();
    say(&mut tx, 1).await.unwrap_err();
    sqlx::query("COMMIT").execute(&mut other).await.unwrap();
    say(&mut tx, 2).await.unwrap();
    say_last(tx, 3).await.unwrap();
    assert_eq!(place.numbers().await, [2, 3]);
}
