#!/usr/bin/env python3
"""A client of the agent socket in one file: Python 3.9 and nothing else.

    client.py URL --session TOKEN [--chat C1] [--file PATH] [--save FOLDER] WORDS ...

says something, prints the answer as it comes, and fetches the files that come with it. `cloister session` prints a
token, and the workspace with --json; the one-time token of a login link works too, with --login in place of --session.
It speaks docs/protocol.md as it stands there and shares no code with Cloister: WebSockets are RFC 6455 by hand.

What a client must do is little: give every message an id of its own, say the same message again on a new connection
until its `end` has come, and forget what it had of an answer when chunk 0 comes again.
"""

import argparse
import base64
import json
import os
import pathlib
import secrets
import socket
import ssl
import struct
import sys
import time
import urllib.parse
import urllib.request

PATIENCE = 60
TRIES = 20


class Lost(Exception):
    """The connection is gone; nothing else is."""


class WebSocket:
    """One connection: text frames out, text frames in, pings answered."""

    def __init__(self, url, token):
        parts = urllib.parse.urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        try:
            self.socket = socket.create_connection((parts.hostname, port), PATIENCE)
        except OSError as error:
            raise Lost(str(error)) from error
        if parts.scheme == "https":
            self.socket = ssl.create_default_context().wrap_socket(self.socket, server_hostname=parts.hostname)
        self.unread = b""
        key = base64.b64encode(os.urandom(16)).decode()
        path = parts.path + ("?" + parts.query if parts.query else "")
        self.write(
            f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self.unread:
            self.read()
        head, self.unread = self.unread.split(b"\r\n\r\n", 1)
        status = head.split(b"\r\n")[0].decode()
        if " 101 " not in status:
            raise SystemExit(f"no socket there: {status}")

    def write(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Lost(str(error)) from error

    def read(self):
        try:
            data = self.socket.recv(65536)
        except OSError as error:
            raise Lost(str(error)) from error
        if not data:
            raise Lost("the other side closed")
        self.unread += data

    def take(self, count):
        while len(self.unread) < count:
            self.read()
        taken, self.unread = self.unread[:count], self.unread[count:]
        return taken

    def send(self, payload, opcode=1):
        size, mask = len(payload), os.urandom(4)
        if size < 126:
            length = bytes([0x80 | size])
        elif size < 1 << 16:
            length = bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            length = bytes([0x80 | 127]) + struct.pack(">Q", size)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))
        self.write(bytes([0x80 | opcode]) + length + mask + masked)

    def receive(self):
        """The next text message, whole."""
        message = b""
        while True:
            first, second = self.take(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack(">H", self.take(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.take(8))
            payload, opcode = self.take(size), first & 0x0F
            if opcode == 8:
                raise Lost("the other side said goodbye")
            if opcode == 9:
                self.send(payload, opcode=10)
            if opcode in (0, 1):
                message += payload
                if first & 0x80:
                    return message.decode()

    def close(self):
        self.socket.close()


class Agent:
    """One chat of a person, over as many connections as it takes."""

    def __init__(self, url, session, workspace, chat):
        self.url, self.session, self.workspace, self.chat = url.rstrip("/"), session, workspace, chat
        self.socket = None
        self.connections = 0

    def http(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {self.session}"}
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def upload(self, path):
        """A file on its way up: what this answers is an attachment of the next message."""
        name = urllib.parse.quote(path.name)
        answer = self.http("POST", f"/cells/{self.workspace}/v1/chats/{self.chat}/files?name={name}", path.read_bytes())
        return json.loads(answer)

    def connect(self):
        # With rows, what is kept is known by its number: who has had it leaves it when it comes again.
        path = f"/cells/{self.workspace}/v1/agent_ws/{self.chat}/?rows=1"
        for attempt in range(TRIES):
            try:
                self.socket = WebSocket(self.url + path, self.session)
                self.connections += 1
                return
            except Lost:
                time.sleep(min(2, 0.1 * 2**attempt))
        raise SystemExit("nobody answers there")

    def frames(self, message):
        """Everything that is said until the message has its end, each thing once; a lost connection is made again."""
        seen = set()
        while True:
            try:
                if self.socket is None:
                    self.connect()
                    self.socket.send(json.dumps(message).encode())
                frame = json.loads(self.socket.receive())
            except Lost:
                self.socket = None
                continue
            row = frame.get("row")
            if row is not None and row in seen:
                continue
            # The pieces of an answer that are told again with its end are of that end's row, and come before it.
            if frame["type"] != "text_chunk" and frame.get("kind") != "restart":
                seen.add(row)
            yield frame
            if frame["type"] == "end" and frame.get("message") == message["id"]:
                return
            if frame["type"] == "error" and frame.get("id") == message["id"]:
                if frame.get("retry_after_s") is None:
                    raise SystemExit(frame["message"])
                time.sleep(frame["retry_after_s"])
                self.socket.send(json.dumps(message).encode())

    def drop(self):
        """For trying what a lost connection does."""
        self.socket.close()
        self.socket = None


def logged_in(url, login):
    """A session for the one-time token of a login link."""
    body = json.dumps({"login_token": login}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url.rstrip("/") + "/api/v1/sessions", data=body, method="POST", headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return json.loads(answer.read())


def say(agent, words, attachments, save, cut_after, show):
    """Says something; what came of it, counted."""
    message = {"type": "message", "id": "py-" + secrets.token_hex(12), "text": words, "attachments": attachments}
    told = {"id": message["id"], "accepted": 0, "sequence": [], "answer": "", "ends": 0, "saved": []}
    expected = 0
    for frame in agent.frames(message):
        kind = frame["type"]
        if kind == "accepted" and frame["id"] == message["id"]:
            told["accepted"] += 1
            told["turn"] = frame["turn"]
        elif kind == "text_chunk" and frame["turn"] == told.get("turn"):
            told["sequence"].append(frame["seq"])
            if frame["seq"] == 0:
                told["answer"], expected = "", 0
            if frame["seq"] != expected:
                raise SystemExit(f"chunk {frame['seq']} came where {expected} was due")
            expected += 1
            told["answer"] += frame["text"]
            show(frame["text"])
        elif kind == "send_file" and save:
            # Its name is the agent's: only the last part of it, and only here.
            place = save / pathlib.PurePosixPath(frame["name"]).name
            place.write_bytes(agent.http("GET", frame["url"]))
            told["saved"].append(str(place))
        elif kind == "end" and frame.get("message") == message["id"]:
            told["ends"] += 1
            told["text"] = frame["text"]
        if cut_after is not None and len(told["sequence"]) >= cut_after:
            cut_after = None
            agent.drop()
    return told


def main():
    arguments = argparse.ArgumentParser(description="says something to an agent and prints what it answers")
    arguments.add_argument("url", help="where Cloister is, http://127.0.0.1:8484")
    who = arguments.add_mutually_exclusive_group(required=True)
    who.add_argument("--session", help="a session token: `cloister session`")
    who.add_argument("--login", help="the token of a login link, which then is used up")
    arguments.add_argument("--workspace", default="w1")
    arguments.add_argument("--chat", default="C1")
    arguments.add_argument("--file", type=pathlib.Path, action="append", default=[], help="sent along")
    arguments.add_argument("--save", type=pathlib.Path, help="where files from the agent are put")
    arguments.add_argument("--cut-after", type=int, help="drop the connection once, after so many pieces")
    arguments.add_argument("--json", action="store_true", help="print what came of it instead, as JSON")
    arguments.add_argument("words", nargs="+")
    given = arguments.parse_args()
    session, workspace = given.session, given.workspace
    if given.login:
        opened = logged_in(given.url, given.login)
        session, workspace = opened["token"], opened["workspace"]
    agent = Agent(given.url, session, workspace, given.chat)
    attachments = [agent.upload(path) for path in given.file]

    def show(text):
        if not given.json:
            print(text, end="", flush=True)

    told = say(agent, " ".join(given.words), attachments, given.save, given.cut_after, show)
    told["connections"] = agent.connections
    print(json.dumps(told) if given.json else "")


if __name__ == "__main__":
    sys.exit(main())
