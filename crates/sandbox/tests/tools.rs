//! What agents work with works inside: interpreters, compilers, version control, archives.

#[cfg(test)]
mod support;

use cloister_control::ports::{Exit, Limits};
use support::Bench;

/// Runs a shell script in place of the agent, in an empty writable directory.
async fn inside(name: &str, script: &str) -> (Exit, String) {
    let mut bench = Bench::new(name, &format!("set -eu\n{script}"));
    bench.spec.limits = Limits {
        memory_bytes: 1 << 30,
        processes: 128,
        file_bytes: 256 << 20,
        open_files: 1024,
        tmp_bytes: 256 << 20,
        log_bytes: 64 << 10,
        ..bench.spec.limits
    };
    let sandbox = bench.launch().await;
    let exit = sandbox.wait().await;
    (exit, sandbox.log_tail())
}

/// Runs a script and expects it to succeed and say a word.
async fn works(name: &str, script: &str, said: &str) {
    let (exit, log) = inside(name, script).await;
    assert_eq!(exit, Exit::Code(0), "{log}");
    assert!(log.contains(said), "{log}");
}

#[tokio::test]
async fn python_runs_threads_processes_and_loopback() {
    let script = r#"
python3 - <<'PY'
import concurrent.futures as f, json, multiprocessing, os, socket, sqlite3, subprocess, tempfile, threading
with f.ThreadPoolExecutor(4) as pool: assert sum(pool.map(lambda x: x * x, range(10))) == 285
with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, -2]) == [1, 2]
assert subprocess.check_output(["echo", "hi"]) == b"hi\n"
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
db = sqlite3.connect("x.db"); db.execute("pragma journal_mode=wal"); db.execute("create table t(x)"); db.commit()
assert os.path.expanduser("~") == "/tmp/home"
open(os.path.expanduser("~/f"), "w").write("x")
print("python works")
PY"#;
    works("python", script, "python works").await;
}

#[tokio::test]
async fn gcc_and_make_build_a_program_that_runs() {
    let script = r#"
printf '#include <stdio.h>\n#include <pthread.h>\nvoid *f(void *a) { puts("hello from a thread"); return a; }\nint main() { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); }\n' > hello.c
printf 'hello: hello.c\n\tgcc -O1 -pthread -o hello hello.c\n' > Makefile
make -s && ./hello"#;
    works("gcc", script, "hello from a thread").await;
}

#[tokio::test]
async fn git_commits_and_clones() {
    let script = r#"
git init -q r && cd r && git config user.email a@b.c && git config user.name n
echo x > f && git add f && git commit -qm first && cd .. && git clone -q r copy
git -C copy log --oneline | grep first && tar czf r.tgz r && mkdir out && tar xzf r.tgz -C out && ls out/r/f"#;
    works("git", script, "out/r/f").await;
}

#[tokio::test]
async fn node_runs_compiled_code_and_workers() {
    let script = r#"
node -e '
const { Worker } = require("worker_threads");
let s = 0; for (let i = 0; i < 3e7; i++) s += i % 7;
const w = new Worker("require(\"worker_threads\").parentPort.postMessage(6 * 7)", { eval: true });
w.on("message", (m) => { require("child_process").execSync("true"); console.log("node works", m, s > 0); });
'"#;
    works("node", script, "node works 42").await;
}

#[tokio::test]
async fn the_system_looks_like_a_cell() {
    let script = r#"
id; echo "home $HOME path $PATH term $TERM lang $LANG"; env | sort; hostname; ls /; ls /etc; cat /proc/self/status | grep -E 'Cap|NoNew|Seccomp'
test -z "$(ls /proc | grep -x 1)" && echo "PID 1 is hidden"
echo x > /dev/null; head -c 4 /dev/urandom | wc -c; echo "to stdout" > /dev/stdout
getent hosts localhost; python3 -c 'import getpass; print("user", getpass.getuser())'"#;
    let (exit, log) = inside("looks", script).await;
    assert_eq!(exit, Exit::Code(0), "{log}");
    for said in [
        "uid=1000(cell) gid=1000(cell)",
        "PID 1 is hidden",
        "CapEff:\t0000000000000000",
        "CapBnd:\t0000000000000000",
        "NoNewPrivs:\t1",
        "Seccomp:\t2",
        "home /tmp/home",
        "to stdout",
        "user cell",
    ] {
        assert!(log.contains(said), "{said:?} is not in:\n{log}");
    }
}
