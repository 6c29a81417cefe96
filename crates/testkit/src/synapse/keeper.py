"""Keeps one homeserver for all tests of a run: keeper.py DIR.

Starts Synapse on a free port with an empty database, writes DIR/server.json once it answers, and ends
both when no test has held a shared lock on DIR/users.lock for a while. Ends with everything it started
if anything goes wrong: who comes next starts another.

The server forgets everything anyway, so its files are in memory where there is room, and it does none of
the work that no client of these tests sees: statistics, directories, searches, push and federation are
two fifths of its processor time.
"""

import base64
import ctypes
import fcntl
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

IDLE_SECONDS = 60
START_SECONDS = 120
MEMORY = "/dev/shm"
ROOM_IN_MEMORY = 1 << 30

CONFIG = """
server_name: "localhost"
public_baseurl: "http://127.0.0.1:{port}/"
pid_file: {dir}/hs.pid
listeners:
  - {{port: {port}, bind_addresses: ["127.0.0.1"], type: http, tls: false, x_forwarded: false,
      resources: [{{names: [client], compress: false}}]}}
database: {{name: sqlite3, args: {{database: {dir}/hs.db}}}}
media_store_path: {dir}/media
signing_key_path: {dir}/signing.key
log_config: {dir}/log.yaml
registration_shared_secret: "{secret}"
macaroon_secret_key: "{secret}"
form_secret: "{secret}"
report_stats: false
trusted_key_servers: []
suppress_key_server_warning: true
federation_domain_whitelist: []
enable_registration: false
presence: {{enabled: false}}
url_preview_enabled: false
stats: {{enabled: false}}
user_directory: {{enabled: false}}
update_user_directory: false
enable_search: false
push: {{enabled: false}}
send_federation: false
max_upload_size: 100M
bcrypt_rounds: 4
rc_message: &none {{per_second: 100000, burst_count: 100000}}
rc_registration: *none
rc_login: {{address: *none, account: *none, failed_attempts: *none}}
rc_joins: {{local: *none, remote: *none}}
rc_joins_per_room: *none
rc_invites: {{per_room: *none, per_user: *none, per_issuer: *none}}
rc_media_create: *none
rc_room_creation: *none
rc_key_requests: *none
rc_3pid_validation: *none
"""

LOG = """
version: 1
formatters: {{p: {{format: '%(asctime)s %(levelname)s %(name)s %(message)s'}}}}
handlers: {{f: {{class: logging.FileHandler, filename: {dir}/hs.log, formatter: p}}}}
root: {{level: WARNING, handlers: [f]}}
disable_existing_loggers: false
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def die_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def write(path, text):
    with open(path + ".new", "w") as file:
        file.write(text)
    os.replace(path + ".new", path)


def place_of_data(dir):
    """The same for the same DIR: what a killed keeper left behind is cleared away by the next."""
    try:
        room = os.statvfs(MEMORY)
        if os.access(MEMORY, os.W_OK) and room.f_bavail * room.f_frsize >= ROOM_IN_MEMORY:
            name = hashlib.sha256(dir.encode()).hexdigest()[:16]
            return os.path.join(MEMORY, f"cloister-synapse-{os.getuid()}-{name}")
    except OSError:
        pass
    return os.path.join(dir, "data")


def clear(dir, data):
    """Nothing of a server is left, and nothing where its files are looked for: DIR/data."""
    shown = os.path.join(dir, "data")
    if os.path.islink(shown):
        os.remove(shown)
    shutil.rmtree(shown, ignore_errors=True)
    shutil.rmtree(data, ignore_errors=True)


def start(dir, data):
    clear(dir, data)
    os.makedirs(data, mode=0o700)
    shown = os.path.join(dir, "data")
    if data != shown:
        # Tests look for words in what the server keeps.
        os.symlink(data, shown)
    port, secret = free_port(), secrets.token_hex(16)
    seed = base64.b64encode(secrets.token_bytes(32)).decode().rstrip("=")
    write(os.path.join(data, "signing.key"), f"ed25519 a_test {seed}\n")
    write(os.path.join(data, "log.yaml"), LOG.format(dir=data))
    write(os.path.join(data, "hs.yaml"), CONFIG.format(dir=data, port=port, secret=secret))
    server = subprocess.Popen(
        [sys.executable, "-m", "synapse.app.homeserver", "-c", os.path.join(data, "hs.yaml")],
        preexec_fn=die_with_parent,
    )
    return server, port, secret


def until_it_answers(server, port):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            sys.exit(f"Synapse ended with {server.returncode}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_matrix/client/versions", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"Synapse did not answer within {START_SECONDS} s")


def until_nobody_needs_it(server, users):
    idle_since = time.monotonic()
    while server.poll() is None:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            idle_since = time.monotonic()
        else:
            if time.monotonic() - idle_since >= IDLE_SECONDS:
                # The lock is kept: nobody can come to a server that is about to go.
                return
            fcntl.flock(users, fcntl.LOCK_UN)
        time.sleep(1)


def main():
    dir = os.path.abspath(sys.argv[1])
    told = os.path.join(dir, "server.json")
    users = os.open(os.path.join(dir, "users.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    began = time.monotonic()
    data = place_of_data(dir)
    server, port, secret = start(dir, data)
    try:
        until_it_answers(server, port)
        took = round(time.monotonic() - began, 1)
        facts = {"port": port, "secret": secret, "pid": server.pid, "keeper": os.getpid(), "took": took}
        write(told, json.dumps(facts))
        until_nobody_needs_it(server, users)
    finally:
        if os.path.exists(told):
            os.remove(told)
        server.kill()
        server.wait()
        clear(dir, data)


main()
