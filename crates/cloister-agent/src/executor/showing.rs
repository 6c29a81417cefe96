//! What a command prints, shown while it runs.
//!
//! Promises: at most one piece is told each `EVERY`, of bounded size; what nobody has taken yet is replaced by what is
//! newer, so that a slow link slows no command.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use cloister_protocol::link::Uplink;
use cloister_protocol::{TaskId, Update};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::link::Link;
use crate::tools::Tail;

const EVERY: Duration = Duration::from_millis(250);

/// Does some work, and tells what is printed meanwhile.
pub(super) async fn while_it_runs<T>(
    link: &Link,
    (task, call): (TaskId, &str),
    printed: watch::Receiver<Tail>,
    work: impl Future<Output = T>,
) -> T {
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return done,
        () = tell(link, (task, call), printed) => {}
    }
    // The link is gone, or nothing is printed any more: the work goes on, and ends by itself.
    work.await
}

async fn tell(link: &Link, (task, call): (TaskId, &str), mut printed: watch::Receiver<Tail>) {
    while printed.changed().await.is_ok() {
        // What ends sooner needs no telling: what came of it is told right away.
        sleep(EVERY).await;
        let text = printed.borrow_and_update().text();
        let update = Update::Output { task: Some(task), call: call.to_owned(), text };
        if link.send(Uplink::Update(update)).await.is_err() {
            return;
        }
    }
}
