"""A client of the agent socket that shares nothing with ours: sockets as the system gives them, RFC 6455 by hand.

Reads what to do as JSON from standard input: {"rounds", "warm_up", "pid", "at": [{"host", "port", "path"}, ...]}.
In each round it says something at every place, one after the other, and waits for the end of the turn. Writes
{"times": [[seconds, ...], ...], "cpu": seconds a round of `pid` and all processes below it,
"switches": how often their threads gave up a processor in a round, "threads": the same by thread}.
"""

import base64, json, os, socket, struct, sys, time

PATIENCE = 30


class Client:
    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.unread = b""
        while b"\r\n\r\n" not in self.unread:
            self.more()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise SystemExit(f"no WebSocket: {head.decode(errors='replace')}")

    def more(self):
        bytes = self.socket.recv(65536)
        if not bytes:
            raise SystemExit("the connection was closed")
        self.unread += bytes

    def take(self, count):
        while len(self.unread) < count:
            self.more()
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def send(self, opcode, payload):
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[place % 4] for place, byte in enumerate(payload))
        size = len(payload)
        length = bytes([0x80 | size]) if size < 126 else bytes([0x80 | 126]) + struct.pack(">H", size)
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def receive(self):
        first, second = self.take(2)
        size = second & 0x7F
        if size == 126:
            (size,) = struct.unpack(">H", self.take(2))
        elif size == 127:
            (size,) = struct.unpack(">Q", self.take(8))
        return first & 0x0F, self.take(size)

    def turn(self, name, text):
        message = json.dumps({"type": "message", "id": name, "text": text}).encode()
        began = time.perf_counter()
        self.send(1, message)
        while True:
            opcode, payload = self.receive()
            if opcode == 9:
                self.send(10, payload)
            elif opcode == 8:
                raise SystemExit("the other side closed")
            elif opcode == 1:
                frame = json.loads(payload)
                if frame["type"] == "end" and frame.get("message") == name:
                    if frame.get("error"):
                        raise SystemExit(f"a turn failed: {frame['text']}")
                    return time.perf_counter() - began
                if frame["type"] == "error":
                    raise SystemExit(f"a message was refused: {frame['message']}")


def below(pid):
    """A process and all that descend from it."""
    parents = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as stat:
                parents[int(entry)] = int(stat.read().rsplit(")", 1)[1].split()[1])
        except OSError:
            pass
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def used(pids):
    """Processor time, to the nanosecond: the clock of a process has this number on Linux."""
    return sum(time.clock_gettime((~pid << 3) | 2) for pid in pids)


def switched(pids):
    """How often each of their threads went to sleep or was sent there."""
    found = {}
    for pid in pids:
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{thread}/status") as status:
                    lines = dict(line.rstrip("\n").split(":\t", 1) for line in status if ":\t" in line)
            except OSError:
                continue
            counts = int(lines["voluntary_ctxt_switches"]), int(lines["nonvoluntary_ctxt_switches"])
            found[thread] = lines["Name"], sum(counts)
    return found


def main():
    asked = json.load(sys.stdin)
    clients = [Client(**place) for place in asked["at"]]
    times = [[] for _ in clients]
    for number in range(asked["warm_up"] + asked["rounds"]):
        if number == asked["warm_up"]:
            pids = below(asked["pid"])
            before, slept = used(pids), switched(pids)
        for client, found in zip(clients, times):
            took = client.turn(f"client-{number}", f"Please say something short ({number}).")
            if number >= asked["warm_up"]:
                found.append(took)
        # A door holds back who calls its model more often than a hundred times a second.
        time.sleep(0.005)
    cpu, switches = used(pids) - before, {}
    for thread, (name, count) in switched(pids).items():
        more = count - slept.get(thread, (name, 0))[1]
        switches[name] = switches.get(name, 0) + more / asked["rounds"]
    found = {"times": times, "cpu": cpu / asked["rounds"], "switches": sum(switches.values()), "threads": switches}
    json.dump(found, sys.stdout)


main()
