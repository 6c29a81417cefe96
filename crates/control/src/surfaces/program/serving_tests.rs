use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::*;
use crate::ports::{WayOut, Whereabouts};
use crate::surfaces::ConnectorOptions;
use crate::test_world::World;

/// A machine without a network.
struct NoWay;

impl WayOut for NoWay {
    fn dial<'a>(
        &'a self,
        _host: &'a str,
        _port: u16,
        _where_it_may_be: Whereabouts,
    ) -> BoxFuture<'a, io::Result<Box<dyn OutsideStream>>> {
        Box::pin(async { Err(io::Error::other("there is no network")) })
    }
}

fn chatter(world: &World) -> Arc<ConnectorProgram> {
    let options = ConnectorOptions {
        surface: "chatter",
        number: 1,
        own: false,
        program: "/nowhere".into(),
        hosts: Some(&["chatter.example", "*.chatter.example"]),
        missing: String::new(),
        options: Value::Null,
        log: String::new(),
    };
    ConnectorProgram::new(world.control.clone(), options, Arc::new(NoWay))
}

/// What a program of the product is answered that declares these hosts, and how listening to it ended.
async fn answered(world: &World, hosts: &[&str]) -> (Value, Option<LineEnded>) {
    let program = chatter(world);
    let dir = tempfile::tempdir().unwrap();
    let door = dir.path().join("door.sock");
    let (listener, until) = (UnixListener::bind(&door).unwrap(), CancellationToken::new());
    let client = async {
        let mut stream = BufReader::new(UnixStream::connect(&door).await.unwrap());
        let hello = json!({"type": "hello", "version": 1, "surface": "chatter", "hosts": hosts});
        stream.write_all(format!("{hello}\n").as_bytes()).await.unwrap();
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let serving = program.serve(&listener, &until);
    tokio::pin!(serving, client);
    tokio::select! {
        answer = &mut client => {
            let welcome = answer["type"] == "welcome";
            let ended = if welcome { None } else { Some(serving.await) };
            (answer, ended)
        }
        // What it wrote before it ended is there to be read.
        ended = &mut serving => (client.await, Some(ended)),
    }
}

/// E53: a program of the product that wants to reach more than its platform is not let in, and that is kept.
#[tokio::test]
async fn a_program_of_ours_does_not_say_where_it_may_go() {
    let world = World::new().await;
    let (answer, ended) = answered(&world, &["chatter.example", "*.chatter.example"]).await;
    assert!(ended.is_none(), "{answer}");
    let (answer, ended) = answered(&world, &["chatter.example", "evil.example"]).await;
    let sentence = "the connector declares hosts that are not its platform's: evil.example";
    assert_eq!(answer["message"], sentence, "{answer}");
    match ended {
        Some(LineEnded::Refused(why)) => assert_eq!(why, sentence),
        Some(LineEnded::Closed(why)) => panic!("{why}"),
        None => panic!("it was let in"),
    }
    let entries = world.store().audit().audit_tail(10).await.unwrap();
    let kept: Vec<_> =
        entries.iter().filter(|entry| entry.action == "connector.hosts_refused").collect();
    assert_eq!(kept.len(), 1, "{entries:?}");
    assert_eq!((kept[0].actor.as_str(), kept[0].detail.as_str()), ("chatter", "evil.example"));
}

/// E53, E57: a connector opened as many connections as it liked, and said sixteen megabytes on each before the first word of
/// it was understood: all of it in the memory of the control plane.
#[tokio::test]
async fn what_is_said_before_a_connection_is_known_is_bounded() {
    let world = World::new().await;
    let program = chatter(&world);
    let dir = tempfile::tempdir().unwrap();
    let door = dir.path().join("door.sock");
    let (listener, until) = (UnixListener::bind(&door).unwrap(), CancellationToken::new());
    let client = async {
        let mut stream = UnixStream::connect(&door).await.unwrap();
        let piece = [b'x'; 64 << 10];
        let mut said = 0;
        while stream.write_all(&piece).await.is_ok() {
            said += piece.len();
            assert!(said < 8 << 20, "all of it is taken");
        }
    };
    let serving = program.serve(&listener, &until);
    tokio::pin!(serving, client);
    tokio::select! {
        () = &mut client => {}
        _ended = &mut serving => client.await,
    }
}
