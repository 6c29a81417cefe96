//! Turns as an ordinary client has them: over TCP, by a client that shares no code with ours, with a model that sends
//! its words one by one; beside the same turns through a bare proxy, and the processor time that they take.

use std::process::Stdio;
use std::time::Duration;

use cloister_protocol::ChatId;
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use super::Plan;
use super::model::{Manner, Model};
use super::plain::{Bare, TurnsAt};
use super::report::{Aim, Row, Unit};
use super::talker::broken;
use crate::plane::Plane;
use cloister::{CliError, Output};

const CLIENT: &str = include_str!("client.py");
/// Turns before the first that counts: also until the kernel acknowledges late, as it does on an old connection.
const WARM_UP: usize = 30;

#[derive(Deserialize)]
struct ClientFound {
    times: [Vec<f64>; 2],
    cpu: f64,
    switches: f64,
}

/// None without a Python to run the client.
pub(super) async fn measure(
    output: Output,
    plan: &Plan,
    plane: &Plane,
    model: &Model,
) -> Result<Vec<Row>, CliError> {
    let user = plane.client().user(None).await?;
    super::use_model(plane, model, Manner::Pieces).await?;
    let own = TurnsAt::of_user(plane, &user, ChatId::from_number(1)).await?;
    let bare = Bare::start(model, Manner::Pieces).await?;
    let Some(mut client) = start()? else {
        output.note("there is no python3: turns of an ordinary client are left out");
        return Ok(Vec::new());
    };
    let asked = json!({
        "rounds": plan.warm,
        "warm_up": WARM_UP,
        "pid": plane.pid(),
        "at": [own.asked(), bare.place().asked()],
    });
    let failed = "the independent client could not be run";
    if let Some(mut input) = client.stdin.take() {
        input.write_all(asked.to_string().as_bytes()).await.map_err(CliError::io(failed))?;
    }
    let ended = client.wait_with_output().await.map_err(CliError::io(failed))?;
    if !ended.status.success() {
        return Err(broken(format!("{failed}: {}", String::from_utf8_lossy(&ended.stderr))));
    }
    let found = serde_json::from_slice(&ended.stdout);
    Ok(rows(&found.map_err(|error| broken(format!("{failed}: {error}")))?))
}

fn rows(found: &ClientFound) -> Vec<Row> {
    let [turns, bare] = &found.times;
    let times = |seconds: &[f64]| seconds.iter().map(|s| Duration::from_secs_f64(*s)).collect();
    let floor = Row::times("client.floor", "a turn of another client, bare proxy", times(bare));
    let turn = Row::times("client.turn", "the same through us", times(turns)).over(&floor);
    let added: Vec<f64> =
        turns.iter().zip(bare).map(|(turn, bare)| (turn - bare).max(0.0)).collect();
    let adds = Row::times("client.adds", "what that adds to a turn", times(&added))
        .aim(Aim::AtMost(3.0))
        .aim(Aim::TailAtMost(15.0));
    let what = "processor time of a turn, control plane and cell";
    let cpu = Row::single("client.cpu", what, Unit::Milliseconds, found.cpu * 1e3);
    let what = "how often their threads sleep or are put to sleep in a turn";
    let switches = Row::single("client.switches", what, Unit::Count, found.switches);
    vec![floor, turn, adds, cpu.aim(Aim::AtMost(2.0)), switches]
}

#[expect(clippy::disallowed_methods, reason = "a client that is not ours is another program")]
fn start() -> Result<Option<Child>, CliError> {
    let started = Command::new("python3")
        .args(["-I", "-c", CLIENT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn();
    match started {
        Ok(client) => Ok(Some(client)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CliError::io("the independent client could not be started")(error)),
    }
}
