//! `cloister-lab bench` measures everything it says it does, and leaves nothing behind.

use std::path::Path;

const ROWS: [&str; 65] = [
    "memory.start",
    "floor.there",
    "floor.back",
    "turn.there",
    "turn.back",
    "turn.overhead",
    "memory.control_plane",
    "memory.cell",
    "cell.cold",
    "history.4",
    "history.8",
    "history.12",
    "client.floor",
    "client.turn",
    "client.adds",
    "client.cpu",
    "client.switches",
    "executor.running",
    "executor.hello",
    "executor.bare",
    "executor.layer",
    "executor.beside",
    "landing.rename",
    "landing.copy",
    "landing.land",
    "landing.undo",
    "landing.beside",
    "throughput.floor.instant",
    "throughput.users.instant",
    "throughput.chats.instant",
    "throughput.floor.instant.time",
    "throughput.users.instant.time",
    "throughput.floor.typical",
    "throughput.users.typical",
    "throughput.chats.typical",
    "throughput.floor.typical.time",
    "throughput.users.typical.time",
    "proxy.direct",
    "proxy.door",
    "proxy.adds",
    "broker.direct",
    "broker.door",
    "broker.adds",
    "gates.decision",
    "gates.decision.first",
    "gates.step.free",
    "gates.step.gated",
    "gates.adds",
    "page.size",
    "page.server",
    "page.fetch",
    "fairness.alone",
    "fairness.beside",
    "fairness.rise",
    "fairness.taken",
    "fairness.refused",
    "density.live",
    "density.failed",
    "density.launches",
    "density.first",
    "density.again",
    "density.cell",
    "density.control_plane",
    "density.machine",
    "density.idle",
];
/// Only where a browser is installed.
const IN_A_BROWSER: &str = "page.interactive";

#[expect(clippy::disallowed_methods, reason = "the program under test is a program")]
fn bench(data: &Path) -> std::io::Result<std::process::Output> {
    let program = Path::new(env!("CARGO_BIN_EXE_cloister-lab"));
    for part in ["cloister", "cloister-launcher", "cloister-agent"] {
        assert!(
            program.with_file_name(part).exists(),
            "{part} is not built: cargo build --workspace --bins"
        );
    }
    std::process::Command::new(program)
        .args(["--json", "bench", "--quick", "--rounds", "3", "--data"])
        .arg(data)
        .output()
}

#[test]
fn a_small_run_measures_every_row_and_cleans_up() {
    let place = tempfile::tempdir().unwrap();
    let output = bench(&place.path().join("data")).unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&said).unwrap();
    let rows = report["rows"].as_array().unwrap();
    let ids: Vec<_> = rows.iter().map(|row| row["id"].as_str().unwrap()).collect();
    let always: Vec<_> = ids.into_iter().filter(|id| *id != IN_A_BROWSER).collect();
    assert_eq!(always, ROWS);
    for row in rows {
        assert!(row["p50"].as_f64().is_some() && row["n"].as_u64().unwrap() > 0, "{row}");
    }
    let failed = rows.iter().find(|row| row["id"] == "density.failed").unwrap();
    assert_eq!(failed["p50"], 0.0, "{failed}");
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
