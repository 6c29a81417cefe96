use std::convert::Infallible;

use futures_util::StreamExt;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use super::*;

const PACE: Pace = Pace {
    stall: Duration::from_secs(30),
    grace: Duration::from_secs(30),
    least_per_s: 512,
    most: Duration::from_secs(600),
};

/// A body that comes by a channel.
fn body() -> (mpsc::Sender<Bytes>, axum::body::BodyDataStream) {
    let (sender, mut receiver) = mpsc::channel::<Bytes>(1);
    let pieces = futures_util::stream::poll_fn(move |cx| receiver.poll_recv(cx));
    let body = axum::body::Body::from_stream(pieces.map(Ok::<_, Infallible>));
    (sender, axum::body::Body::new(Paced::new(body, PACE)).into_data_stream())
}

/// Sends `bytes` every `every`; how many pieces came before the body was given up, and after how long.
async fn drip(bytes: usize, every: Duration, pieces: usize) -> (usize, Duration) {
    let (sender, mut body) = body();
    let began = Instant::now();
    let sending = async {
        for _ in 0..pieces {
            tokio::time::sleep(every).await;
            if sender.send(vec![0; bytes].into()).await.is_err() {
                break;
            }
        }
        drop(sender);
    };
    let reading = async {
        let mut seen = 0;
        while let Some(Ok(_)) = body.next().await {
            seen += 1;
        }
        drop(body);
        (seen, began.elapsed())
    };
    tokio::join!(sending, reading).1
}

#[tokio::test(start_paused = true)]
async fn what_stands_still_is_given_up() {
    assert_eq!(drip(1, Duration::from_secs(31), 3).await, (0, Duration::from_secs(30)));
}

/// A byte now and then is no progress.
#[tokio::test(start_paused = true)]
async fn what_drips_is_given_up() {
    let (pieces, after) = drip(1, Duration::from_secs(5), 1000).await;
    assert!(pieces < 10 && after <= Duration::from_secs(31), "{pieces} {after:?}");
}

/// A large file over a slow line gets through, for as long as it moves; but not for ever.
#[tokio::test(start_paused = true)]
async fn what_moves_gets_through() {
    assert_eq!(drip(20 << 10, Duration::from_secs(20), 29).await.0, 29);
    let (pieces, after) = drip(20 << 10, Duration::from_secs(20), 100).await;
    assert!(pieces < 100 && after <= PACE.most, "{pieces} {after:?}");
}

/// Time that we take ourselves is nobody else's fault.
#[tokio::test(start_paused = true)]
async fn a_slow_disk_counts_for_nothing() {
    let (sender, mut body) = body();
    for _ in 0..20 {
        sender.send(vec![0; 1].into()).await.unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(body.next().await.unwrap().is_ok());
    }
}

/// Who does not read what they asked for loses the connection.
#[tokio::test(start_paused = true)]
async fn who_does_not_read_is_given_up() {
    let (near, _far) = tokio::io::duplex(64);
    let mut near = Held::new(near, PACE, None);
    near.write_all(&[0; 64]).await.unwrap();
    let began = Instant::now();
    let late = near.write_all(&[0; 64]).await.unwrap_err();
    assert_eq!(late.kind(), io::ErrorKind::TimedOut);
    assert_eq!(began.elapsed(), PACE.stall);
}
