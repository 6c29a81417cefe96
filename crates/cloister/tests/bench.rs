//! `cloister bench` measures everything it says it does, and leaves nothing behind.

use std::path::Path;

const ROWS: [&str; 13] = [
    "floor.there",
    "floor.back",
    "turn.there",
    "turn.back",
    "turn.overhead",
    "memory.control_plane",
    "memory.cell",
    "cell.cold",
    "executor.running",
    "executor.hello",
    "history.4",
    "history.8",
    "history.12",
];

#[expect(clippy::disallowed_methods, reason = "the program under test is a program")]
fn bench(data: &Path) -> std::io::Result<std::process::Output> {
    let program = Path::new(env!("CARGO_BIN_EXE_cloister"));
    for part in ["cloister-launcher", "cloister-agent"] {
        assert!(
            program.with_file_name(part).exists(),
            "{part} is not built: cargo build -p cloister-sandbox -p cloister-agent --bins"
        );
    }
    std::process::Command::new(program)
        .arg("--data")
        .arg(data)
        .args(["--json", "bench", "--quick", "--rounds", "3"])
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
    assert_eq!(ids, ROWS);
    for row in rows {
        assert!(row["p50"].as_f64().unwrap() >= 0.0 && row["n"].as_u64().unwrap() > 0, "{row}");
    }
    let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
