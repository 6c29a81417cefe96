use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::Poll;

use crate::{HoldKind, Store, StoreError, StoreOptions};
use std::time::Duration;

struct World {
    dir: tempfile::TempDir,
    store: Store,
}

impl World {
    async fn with_readers(readers: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let store = Store::open_with(&path, StoreOptions { readers }).await.unwrap();
        Self { dir, store }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("db")
    }
}

type Asked<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// Begins with something, and then does not look at it again.
async fn begin_and_forget(asked: &mut Asked<'_>) {
    std::future::poll_fn(|context| {
        drop(asked.as_mut().poll(context));
        Poll::Ready(())
    })
    .await;
}

fn read(store: &Store) -> Asked<'_> {
    Box::pin(async { store.platform().pulse().await.map(drop) })
}

fn write(store: &Store) -> Asked<'_> {
    Box::pin(async { store.secrets().drop_expired_secrets().await.map(drop) })
}

/// Whoever asked first waits for something else, and everybody after them would wait for it.
#[tokio::test]
async fn a_read_ends_though_nobody_looks_at_those_before_it() {
    for readers in [1, 3] {
        let world = World::with_readers(readers).await;
        let mut forgotten: Vec<Asked<'_>> = (0..50).map(|_| read(&world.store)).collect();
        for asked in &mut forgotten {
            begin_and_forget(asked).await;
        }
        read(&world.store).await.unwrap();
        for asked in forgotten {
            asked.await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_read_that_is_given_up_leaves_its_reader_to_others() {
    let world = World::with_readers(1).await;
    for _ in 0..50 {
        let mut given_up = read(&world.store);
        begin_and_forget(&mut given_up).await;
        drop(given_up);
    }
    read(&world.store).await.unwrap();
    // The next one waits behind them all.
    assert!(world.store.platform().held_longer_than(Duration::ZERO).is_empty());
}

#[tokio::test]
async fn a_write_ends_though_nobody_looks_at_those_before_it() {
    let world = World::with_readers(1).await;
    let mut forgotten: Vec<Asked<'_>> = (0..3).map(|_| write(&world.store)).collect();
    for asked in &mut forgotten {
        begin_and_forget(asked).await;
    }
    write(&world.store).await.unwrap();
    drop(forgotten);
}

/// Nobody reads along with somebody who holds a transaction: not even with one reader.
#[tokio::test]
async fn reading_waits_for_no_writer() {
    let world = World::with_readers(1).await;
    let tx = world.store.begin().await.unwrap();
    read(&world.store).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test]
async fn whoever_holds_something_is_named() {
    let world = World::with_readers(2).await;
    let tx = world.store.begin().await.unwrap();
    let held = world.store.platform().held_longer_than(Duration::ZERO);
    let [hold] = held.as_slice() else { panic!("{held:?}") };
    assert_eq!((hold.kind, hold.waits), (HoldKind::Writer, false));
    assert!(hold.place.starts_with("readers_tests.rs:"), "{hold}");
    assert!(hold.to_string().contains("holds the writer"), "{hold}");
    let mut second = write(&world.store);
    begin_and_forget(&mut second).await;
    let held = world.store.platform().held_longer_than(Duration::ZERO);
    let waits: Vec<bool> = held.iter().map(|hold| hold.waits).collect();
    assert_eq!(waits, [false, true], "{held:?}");
    assert!(held.iter().any(|hold| hold.place.starts_with("secrets.rs:")), "{held:?}");
    let (first, second) = tokio::join!(tx.commit(), second);
    first.unwrap();
    second.unwrap();
    assert!(world.store.platform().held_longer_than(Duration::ZERO).is_empty());
}

#[tokio::test]
async fn more_than_can_wait_are_told_to_come_again() {
    let world = World::with_readers(1).await;
    let mut forgotten: Vec<Asked<'_>> =
        (0..crate::holds::MOST_WAITING).map(|_| read(&world.store)).collect();
    for asked in &mut forgotten {
        begin_and_forget(asked).await;
    }
    // Nothing has run yet: this test does not let go of the one thread.
    let refused = read(&world.store).await.unwrap_err();
    assert!(matches!(refused, StoreError::Busy { .. }), "{refused}");
    for asked in forgotten {
        asked.await.unwrap();
    }
    read(&world.store).await.unwrap();
}

#[tokio::test]
async fn after_the_close_nothing_is_read() {
    let world = World::with_readers(2).await;
    world.store.close().await.unwrap();
    let refused = read(&world.store).await.unwrap_err();
    assert!(matches!(refused, StoreError::Query { .. }), "{refused}");
    Store::open(&world.path()).await.unwrap();
}
