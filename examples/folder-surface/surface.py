#!/usr/bin/env python3
"""A surface whose platform is a folder: what a person drops into people/NAME/in is said to their agent, and what the
agent says appears in people/NAME/out. It speaks the surface protocol (docs/surfaces.md).

It may be killed at any moment. What people say stays in in/ until the control plane has stored it; what is shown is
written beside and renamed, under a name that was chosen for its key once and for ever.
"""

import asyncio
import base64
import hashlib
import json
import os
import re
import shutil
import stat
import sys
import time
from urllib.parse import quote

DOOR = "/run/cloister/door.sock"  # where the control plane is
STATE = "/state"  # the one directory that is ours
HELLO = {"type": "hello", "version": 1, "surface": "folder", "program": "folder-surface 1", "hosts": []}
LONGEST_LINE = 16 << 20
LONGEST_TEXT = 1 << 20  # what is longer is not even offered
PIECE = 256 << 10  # how much of a file is handed over at once
ANSWER_WITHIN = 60  # seconds that a call may take
LOOK_EVERY = 0.15  # seconds between two looks into the folders
LONGEST_PAUSE = 30  # seconds before what did not work is tried again
PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MANNERS = {
    "longest": 60_000,
    "measure": "bytes",
    "typing_lasts": 60_000,
    "largest_file": 1 << 30,
    "remembers_keys": True,  # the same key is the same file
}
STREAMING = {"own": {"edits": {"every": 1000}}, "shared": "off"}
ANSWERS = {  # to a question: what each means, and what is written for it
    "allow": ("allow it this once", "/approve {}"),
    "allow_for_task": ("allow it for this task", "/approve {} task"),
    "allow_always": ("allow it always", "/approve {} always"),
    "deny": ("refuse it", "/deny {}"),
    "deny_and_stop": ("refuse it and stop the task", "/deny {} stop"),
}
ORDERS = {"start", "stop", "add", "remove", "facts", "reconcile", "reset", "deliver", "typing", "measured"}
MESSAGES = {"post", "edit", "draft"}  # orders whose answer says what became of a message


class Refused(Exception):
    """What is answered instead of what was asked."""

    def __init__(self, code, message, fix=None, retry_after_s=None, **_unknown):
        super().__init__(message)
        self.body = {"code": code, "message": message, "fix": fix, "retry_after_s": retry_after_s}
        # Trouble of the control plane's own says nothing about what was asked: nothing is given up for it.
        self.passes = retry_after_s is not None or code == "shutting_down"
        self.pause = min(max(retry_after_s or 1, 0.2), LONGEST_PAUSE)


class Line:
    """The conversation with the control plane: one JSON object per line, in both directions."""

    def __init__(self, reader, writer):
        self.reader, self.writer, self.writing = reader, writer, asyncio.Lock()
        self.asked, self.last = {}, 0

    async def send(self, **frame):
        async with self.writing:
            self.writer.write(json.dumps(frame).encode() + b"\n")
            await self.writer.drain()

    async def hear(self):
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            sys.exit("the control plane hung up")
        return json.loads(line)

    async def ask(self, call, **fields):
        self.last += 1
        number = self.last
        answer = self.asked[number] = asyncio.get_running_loop().create_future()
        try:
            await self.send(type="call", id=number, call={"call": call, **fields})
            return await asyncio.wait_for(answer, ANSWER_WITHIN)
        except asyncio.TimeoutError:
            # It may have been done all the same; whatever is asked here may be asked again.
            raise Refused("busy", f"{call} was not answered in time", retry_after_s=1) from None
        finally:
            del self.asked[number]

    def answered(self, frame):
        answer = self.asked.get(frame["id"])
        if answer is None or answer.done():
            return
        if "error" in frame:
            answer.set_exception(Refused(**frame["error"]))
        else:
            answer.set_result(frame.get("ok"))

    async def warn(self, message, why):
        await self.send(type="log", level="warn", message=message, fields=f"why={why!r}")


class Person:
    """One person's directory. Others write there too, so no link in it is followed."""

    def __init__(self, name):
        self.name, self.home = name, os.path.join(STATE, "people", name)
        self.kept = os.path.join(STATE, "posted", name)  # the names of messages that were shown
        self.names, self.uploaded = None, {}
        self.posting, self.work, self.rests_until = asyncio.Lock(), None, 0.0

    def place(self, *parts):
        return os.path.join(self.home, *parts)

    def make_places(self):
        for place in (self.home, self.place("in"), self.place("out"), self.place("done")):
            os.makedirs(place, exist_ok=True)
            if os.path.islink(place):
                raise OSError(f"{place} is a link")

    def waiting(self):
        """What was dropped and is not stored, in its order. Hidden files are still being written."""
        if os.path.islink(self.place("in")) or not os.path.isdir(self.place("in")):
            return []
        with os.scandir(self.place("in")) as entries:
            files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        return sorted(name for name in files if not name.startswith("."))

    def open(self, name):
        file = open(os.open(self.place("in", name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        raise FileNotFoundError(name)

    def done(self, name):
        self.uploaded.pop(name, None)
        os.replace(self.place("in", name), self.place("done", name))

    def name_of(self, key):
        """The name of the message with this key, kept before it is used."""
        if self.names is None:
            os.makedirs(self.kept, exist_ok=True)
            self.names = {name.split("-", 1)[1]: name for name in os.listdir(self.kept)}
        key = quote(os.fsencode(key), safe="")
        if len(key) > 150:
            key = hashlib.sha256(key.encode()).hexdigest()
        if key not in self.names:
            name = f"{len(self.names) + 1:06}-{key}"
            open(os.path.join(self.kept, name), "xb").close()
            self.names[key] = name
        return self.names[key]

    def say(self, key, text):
        """Shows a text under a key, and says which message it is; what is there under that key stays."""
        message = self.name_of(key) + ".md"
        if not os.path.lexists(self.place("out", message)):
            self.put(message, text)
        return message

    def put(self, message, text):
        """Nobody ever sees a part of it."""
        beside = self.place("out", f".{message}")
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.place("out", message))


def message_id(person, name):
    """The same name of the same person is the same message."""
    plain = f"{person}:{name}"
    fits = re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", plain)
    return plain if fits else hashlib.sha256(os.fsencode(plain)).hexdigest()


def legible(data):
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    return "".join(c for c in text if c in "\n\t" or c >= " " and c != "\x7f")


def rendered(posting):
    """A message as Markdown. Buttons are left out: here everything is written."""
    ((kind, what),) = posting.items()
    if kind in ("answer", "notice"):
        return what["markdown"] + (" …\n" if what.get("unfinished") else "\n")
    ask, settled = what["ask"], what.get("settled")
    exactly = f"{ask['title']}\n\n{ask['text']}".splitlines()
    # Indented, none of it is Markdown: what is asked can't dress up as our own words.
    lines = [f"**{ask['approval']}** is a question for you:", "", *(f"    {line}" for line in exactly), ""]
    if settled:
        answer, by = settled
        lines.append(f"Settled by {by}: {ANSWERS[answer][0]}.")
    else:
        ways = [ANSWERS[answer] for answer in ask["offered"] if answer in ANSWERS]
        lines += [f"- to {meaning}, write `{command.format(ask['approval'])}`" for meaning, command in ways]
        if ask.get("people", 1) > 1:
            lines += ["", f"{ask['people']} different people must allow it."]
    return "\n".join(lines) + "\n"


class Folder:
    """The surface: what it hears, and what it is ordered to do (one method per order)."""

    def __init__(self, line, settings):
        self.line, self.ask, self.settings = line, line.ask, settings
        self.connector, self.watching, self.people = None, None, {}

    def person(self, name):
        if name not in self.people:
            self.people[name] = Person(name)
        return self.people[name]

    def everybody(self):
        with os.scandir(os.path.join(STATE, "people")) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return [self.person(name) for name in names if PERSON.fullmatch(name)]

    async def watch(self):
        """Looks into everybody's folder until it is cancelled; each person's files are worked on by themselves."""
        while True:
            try:
                for person in self.everybody():
                    if person.work is None and time.monotonic() >= person.rests_until and person.waiting():
                        person.work = asyncio.create_task(self.work_through(person))
            except OSError as error:
                await self.line.warn("the folders can't be looked at", error)
                await asyncio.sleep(LONGEST_PAUSE)
            await asyncio.sleep(LOOK_EVERY)

    async def work_through(self, person):
        """One file after the other, each until it is stored or refused for good."""
        try:
            person.make_places()
            for name in person.waiting():
                while not await self.is_taken(person, name):
                    pass
        except Exception as error:
            person.rests_until = time.monotonic() + LONGEST_PAUSE
            await self.line.warn(f"the folder of {person.name} can't be worked on", error)
        finally:
            person.work = None

    async def is_taken(self, person, name):
        try:
            with person.open(name) as file:
                await self.take(person, name, file)
        except FileNotFoundError:
            return True  # who dropped it has taken it back
        except Refused as refused:
            if refused.passes:
                await asyncio.sleep(refused.pause)
                return False
            shown, fix = legible(os.fsencode(name)), refused.body["fix"] or "Try it otherwise"
            person.say(f"own-not-taken-{name}", f"I did not take `{shown}`: {refused}. {fix}.\n")
        # Not before: it is stored, or its sender knows that it is not.
        person.done(name)
        return True

    async def take(self, person, name, file):
        """Hands one file over; when this returns, it is stored or nothing to us."""
        is_message = name.startswith("msg-") and name.endswith(".txt")
        text = legible(file.read(LONGEST_TEXT)) if is_message else ""
        connector, sender, heard = self.connector["id"], person.name, {"direct": person.name}
        located = await self.ask("locate", connector=connector, sender=sender, heard=heard)
        if "to" not in located:
            ((_, not_taken),) = located.items()
            return await self.turn_away(person, name, text, not_taken["tell"])
        speaker, identity = located["to"], message_id(person.name, name)
        if speaker["conversation"].get("broken"):
            await self.ask("set_broken", conversation=speaker["conversation"]["id"], why=None)
        if await self.ask("stored_message", speaker=speaker, id=identity) is not None:
            return  # we were killed before it was moved, or it was dropped once more
        if is_message and not text.strip():
            return
        size = os.fstat(file.fileno()).st_size
        most = LONGEST_TEXT if is_message else self.settings["largest_upload"]
        if size > most:
            raise Refused("too_large", f"it has {size} bytes and the most that I take is {most}", "Send less")
        if not is_message and name not in person.uploaded:
            person.uploaded[name] = await self.upload(speaker, name, file)
        attachments = [] if is_message else [person.uploaded[name]]
        message = {"id": identity, "speaker": speaker, "text": text, "attachments": attachments, "origin": None}
        try:
            await self.ask("receive", message=message)
        except Refused as refused:
            if not refused.passes:
                for attachment in attachments:
                    await self.ask("discard_file", workspace=speaker["workspace"], attachment=attachment)
            raise

    async def turn_away(self, person, name, text, tell):
        """Who is not known, or may not speak, is told what to do; who asks for a code gets one."""
        if text.strip().lower() in ("pair", "/pair"):
            tell = await self.ask("pairing_words", account=person.name, name=person.name)
        if tell is not None:
            person.say(f"own-turned-away-{name}", tell + "\n")

    async def upload(self, speaker, name, file):
        number = await self.ask("begin_file", speaker=speaker, name=legible(os.fsencode(name)))
        try:
            while piece := file.read(PIECE):
                await self.ask("write_file", file=number, data=base64.b64encode(piece).decode())
            return await self.ask("end_file", file=number)
        except Refused:
            await self.ask("drop_file", file=number)
            raise

    async def start(self, _order):
        os.makedirs(os.path.join(STATE, "people"), exist_ok=True)
        for name in (self.settings["options"] or {}).get("people", []):
            self.person(name).make_places()
        for connector in await self.ask("connectors"):
            await self.connect(connector)

    async def connect(self, connector):
        await self.stop(None)
        self.connector = connector
        await self.ask("attach", connector=connector["id"], manners=MANNERS, streaming=STREAMING)
        health = {"state": "connected", "problem": None, "last_heard_at": int(time.time() * 1000), "reconciled": None}
        await self.ask("report", connector=connector["id"], health=health)
        self.watching = asyncio.create_task(self.watch())

    async def stop(self, _order):
        for task in [self.watching, *(person.work for person in self.people.values())]:
            if task is not None:
                task.cancel()
        self.connector, self.watching = None, None

    async def add(self, order):
        account, there = order["new"]["account"] or "office", self.connector
        if there and there["account"] != account:
            raise Refused("conflict", f"there is one folder, and {there['account']} serves it")
        new = {"account": account, "address": f"file://{STATE}/people", "settings": {}, "by": order["by"]}
        connector = await self.ask("put_connector", **new)
        await self.connect(connector)
        return {"connector": connector, "recovery_key": None}

    async def remove(self, order):
        connector = self.named(order["account"])
        await self.stop(None)
        await self.ask("remove_connector", connector=connector["id"], by=order["by"])

    def named(self, account):
        if self.connector is None or self.connector["account"] != account:
            raise Refused("not_found", f"there is no account {account}", "`cloister connector list folder` shows it")
        return self.connector

    async def facts(self, _order):
        return [["people", str(len(self.everybody()))]]

    async def reconcile(self, order):
        self.named(order["account"])
        nothing = {"restored": [], "repaired": [], "skipped": [], "conflicts": [], "took_ms": 0}
        return {"looked_at": len(self.everybody()), **nothing}

    async def reset(self, order):
        self.named(order["account"])
        raise Refused("bad_request", "a folder has nothing to reset", "delete the files that you want to be rid of")

    async def deliver(self, _order):
        return "not_found"  # nobody calls us

    async def typing(self, _order):
        return None  # a folder shows none

    async def measured(self, order):
        return [len(text.encode()) for text in order["texts"]]

    def recipient(self, order):
        person = self.person(order["to"]["conversation"]["external_id"])
        if os.path.islink(person.home) or not os.path.isdir(person.home):
            raise FileNotFoundError(f"{person.name} has no folder any more")
        person.make_places()
        return person

    async def post(self, order):
        person, posting = self.recipient(order), order["posting"]
        async with person.posting:
            if "file" in posting:
                return await self.post_file(person, order["key"], posting["file"])
            return person.say(order["key"], rendered(posting))

    async def post_file(self, person, key, file):
        """A directory with the file in it, which is there when the file is whole."""
        message = person.name_of(key)
        place, beside = person.place("out", message), person.place("out", f".{message}")
        if os.path.lexists(place):
            return message
        shutil.rmtree(beside, ignore_errors=True)
        os.mkdir(beside)
        name = legible(file["name"].encode()).replace("/", "_").lstrip(".")[:60] or "file"
        with open(os.path.join(beside, name), "xb") as copy:
            number, ask = file["file"], self.ask
            while piece := base64.b64decode(await ask("read_file", **{"file": number, "from": copy.tell()})):
                copy.write(piece)
            copy.flush()
            os.fsync(copy.fileno())
        os.rename(beside, place)
        return message

    async def edit(self, order):
        person = self.recipient(order)
        async with person.posting:
            person.put(os.path.basename(order["message"]), rendered(order["posting"]))

    async def draft(self, _order):
        raise NotImplementedError("a folder shows no drafts")

    async def obey(self, number, order):
        """Does what is ordered, and answers in every case."""
        name = order["order"]
        try:
            if name not in ORDERS | MESSAGES:
                raise Refused("bad_request", f"{name} is not known here")
            act = getattr(self, name)
            done = {"ok": await (self.send(act, order) if name in MESSAGES else act(order))}
        except Refused as refused:
            done = {"error": refused.body}
        except Exception as error:
            done = {"error": Refused("internal", f"{name} failed: {error!r}").body}
        await self.line.send(type="answer", id=number, **done)

    async def send(self, act, order):
        try:
            return {"Ok": await act(order)}
        except FileNotFoundError as error:
            return {"Err": {"gone": str(error)}}
        except NotImplementedError as error:
            return {"Err": {"refused": str(error)}}
        except (OSError, Refused) as error:
            return {"Err": {"unreachable": str(error)}}


async def main():
    line = Line(*await asyncio.open_unix_connection(DOOR, limit=LONGEST_LINE))
    await line.send(**HELLO)
    welcome = await line.hear()
    if welcome["type"] != "welcome":
        sys.exit(welcome.get("message", "the control plane does not welcome us"))
    folder, working = Folder(line, welcome["settings"]), set()
    while True:
        frame = await line.hear()
        if frame["type"] == "answer":
            line.answered(frame)
        elif frame["type"] == "order":
            task = asyncio.create_task(folder.obey(frame["id"], frame["order"]))
            working.add(task)  # or it might be forgotten half way
            task.add_done_callback(working.discard)
        elif frame["type"] == "stop":
            return
        # Everything else is news, which this surface has no use for, or of a newer control plane.


if __name__ == "__main__":
    asyncio.run(main())
