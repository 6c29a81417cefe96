use std::time::{Duration, Instant};

use cloister_testkit::ModelServer;

use crate::harness::{self, Client, DOLLAR, World, ask, quick};

const CALLS: usize = 60;

/// The broker's own share of a call: reserving, passing on, nothing else that grows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_piece_of_an_answer_is_not_held_up() {
    let server = ModelServer::start().await.unwrap();
    let mut options = quick();
    options.door.requests_per_second = 100_000.0;
    options.door.request_burst = 100_000.0;
    let world = World::with(options, 100 * DOLLAR).await;
    world.use_models(&[&server]).await;
    let door = world.open();
    let floor = Dialer::Tcp(server.address());
    let through = Dialer::Door(door.client.clone());
    let (mut floor_times, mut through_times) = (Vec::new(), Vec::new());
    for number in 0..CALLS {
        for (dialer, times) in [(&floor, &mut floor_times), (&through, &mut through_times)] {
            times.push(dialer.time_to_first_piece(&ask(&format!("call {number}"))).await);
        }
    }
    let (floor, through) = (median(&mut floor_times), median(&mut through_times));
    println!("first piece: p50 {floor:?} direct, {through:?} through the broker");
    // Loose, so that a busy machine does not fail it; `cloister-lab bench` has the exact figure.
    assert!(through < floor + Duration::from_millis(25), "{floor:?} {through:?}");
}

enum Dialer {
    Tcp(std::net::SocketAddr),
    Door(Client),
}

impl Dialer {
    async fn time_to_first_piece(&self, request: &serde_json::Value) -> Duration {
        let started = Instant::now();
        let mut answer = match self {
            Self::Door(client) => client.chat(request).await,
            Self::Tcp(address) => {
                let stream = tokio::net::TcpStream::connect(address).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let body = request.to_string();
                harness::request_over(stream, "POST", "/v1/chat/completions", body).await
            }
        };
        answer.piece().await.unwrap();
        let took = started.elapsed();
        answer.body().await;
        took
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
