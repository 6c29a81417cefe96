use std::sync::Arc;
use std::time::Duration;

use sqlx::Executor;
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
        let mut connection = connect(&dir).await;
        connection
            .execute("CREATE TABLE said (number INTEGER PRIMARY KEY, half INTEGER)")
            .await
            .unwrap();
        Self { dir, writer: Writer::new(connection, Arc::default(), Changes::default()) }
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

/// What nobody waits for costs no trip to the disk of its own where somebody else writes, and is stored where nobody does.
#[tokio::test]
async fn what_nobody_waits_for_goes_with_the_next_that_is_written() {
    let place = Place::new().await;
    let beside = async |number| {
        let tx = place.writer.begin_turn().await.unwrap();
        tx.commit_with_others_after(sqlx::query(SAY).bind(number)).await.unwrap();
    };
    let (first, second) = (beside(1), beside(4));
    let mut both = Box::pin(async { tokio::join!(first, second) });
    let waited = timeout(Duration::from_millis(5), both.as_mut()).await;
    assert!(waited.is_err(), "it waits for somebody");
    assert!(place.numbers().await.is_empty());
    write(&place.writer, 7).await.unwrap();
    assert_eq!(place.numbers().await, [1, 4, 7, 1007]);
    both.await;
    beside(2).await;
    assert_eq!(place.numbers().await, [1, 2, 4, 7, 1007]);
}

/// One that is taken back takes nothing along that waited for it.
#[tokio::test]
async fn who_gives_up_leaves_what_waited_for_the_next() {
    let place = Place::new().await;
    let tx = place.writer.begin_turn().await.unwrap();
    let beside = tx.commit_with_others_after(sqlx::query(SAY).bind(1));
    let gives_up = async {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, 2).await.unwrap();
        tx.rollback().await.unwrap();
    };
    let (stored, ()) = tokio::join!(beside, gives_up);
    stored.unwrap();
    assert_eq!(place.numbers().await, [1]);
}

/// Whatever the last statement of one that joined others breaks, what they wrote is stored.
#[tokio::test]
async fn whose_last_statement_fails_takes_nothing_along() {
    let place = Place::new().await;
    let tx = place.writer.begin_turn().await.unwrap();
    let beside = tx.commit_with_others_after(sqlx::query(SAY).bind(1));
    let fails = async {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, 2).await.unwrap();
        assert!(say_last(tx, 1).await.is_err());
        let alone = place.writer.begin().await.unwrap();
        assert!(say_last(alone, 1).await.is_err());
    };
    let (stored, ()) = tokio::join!(beside, fails);
    stored.unwrap();
    assert_eq!(place.numbers().await, [1]);
    write(&place.writer, 4).await.unwrap();
    assert_eq!(place.numbers().await, [1, 4, 1004]);
}

/// Several join one after the other: each is undone alone, whoever came before it.
#[tokio::test]
async fn of_several_that_join_only_the_one_that_gives_up_is_undone() {
    let place = Place::new().await;
    let beside = async |number| {
        let tx = place.writer.begin_turn().await.unwrap();
        tx.commit_with_others_after(sqlx::query(SAY).bind(number)).await.unwrap();
    };
    let gives_up = async |number| {
        let mut tx = place.writer.begin().await.unwrap();
        say(&mut tx, number).await.unwrap();
        tx.rollback().await.unwrap();
    };
    tokio::join!(beside(1), beside(2), gives_up(3), beside(4), gives_up(5), gives_up(6), beside(7));
    assert_eq!(place.numbers().await, [1, 2, 4, 7]);
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
