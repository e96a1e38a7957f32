"""A daemon that runs sessions without a pane, as agents' own ones do: with a list, pid files, a
word about each end, a process in reserve, and commands that list, end and show one.

    stub_daemon.py daemon|list|stop ID|attach ID|worker ID

Its store is that of the demo agent. `mode.json` there: respawn_s (after a worker's death), deaf (a
stop does nothing), revives (a stopped one comes back after so long), slow_s (of a stop)."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STORE = Path(os.environ.get("TMUXREAP_DEMO_HOME") or f"{os.environ['HOME']}/.tmuxreap-demo")
LIST, WANTED, LOCK = STORE / "roster.json", STORE / "wanted.json", STORE / "stub.lock"
TICK_S = 0.03


def read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return found


def write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(json.dumps(data))
    fresh.replace(path)


@contextlib.contextmanager
def locked() -> Iterator[None]:
    with LOCK.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def start_of(pid: int) -> str | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def lives(entry: dict[str, Any]) -> bool:
    return entry.get("start") is not None and start_of(entry["pid"]) == entry["start"]


def daemon() -> None:
    died: dict[str, float] = {}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        with locked():
            mode, wanted = read(STORE / "mode.json"), read(WANTED)
            workers = read(LIST).get("workers", {})
            workers = {number: one for number, one in workers.items() if number in wanted}
            for number, told in wanted.items():
                entry = workers.get(number, {})
                if lives(entry):
                    continue
                died.setdefault(number, time.monotonic() if entry else 0.0)
                if time.monotonic() - died[number] < mode.get("respawn_s", 0.0):
                    continue
                del died[number]
                workers[number] = {**told, **begun(number)}
            write(LIST, {"daemon": os.getpid(), "workers": workers})
        time.sleep(TICK_S)


def begun(number: str) -> dict[str, Any]:
    words = [sys.executable, __file__, "worker", number]
    worker = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)
    start = start_of(worker.pid)
    return {"pid": worker.pid, "start": start, "agent": worker.pid, "agent_start": start}


def worker(number: str) -> None:
    told = read(WANTED).get(number, {})
    said = {
        "sessionId": told.get("own"),
        "procStart": start_of(os.getpid()),
        "status": told.get("status", "idle"),
        "asks": told.get("asks", ""),
    }
    write(STORE / "sessions" / f"{os.getpid()}.json", said)
    while True:
        signal.pause()


def stop(number: str) -> int:
    mode = read(STORE / "mode.json")
    time.sleep(mode.get("slow_s", 0.0))
    with locked():
        wanted, listed = read(WANTED), read(LIST)
        told, entry = wanted.pop(number, None), listed.get("workers", {}).get(number)
        if told is None:
            print(f"No session matching {number!r}", file=sys.stderr)
            return 1
        if mode.get("deaf"):
            return 0
        write(WANTED, wanted)
        write(STORE / "jobs" / number / "state.json", {"state": "stopped"})
        if entry is not None and lives(entry):
            os.kill(entry["pid"], signal.SIGTERM)
        if start_of(listed.get("daemon", 0)) is not None:
            del listed["workers"][number]
            write(LIST, listed)
    if mode.get("revives"):
        words = [sys.executable, __file__, "revive", number, json.dumps(told)]
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"stopped {number}")
    return 0


def revive(number: str, told: str) -> None:
    time.sleep(read(STORE / "mode.json")["revives"])
    begin(number, json.loads(told))


def begin(number: str, told: dict[str, Any]) -> None:
    with locked():
        (STORE / "jobs" / number / "state.json").unlink(missing_ok=True)
        write(WANTED, {**read(WANTED), number: told})


def main(verb: str, *words: str) -> int:
    STORE.mkdir(parents=True, exist_ok=True)
    if verb == "daemon":
        daemon()
    elif verb == "worker":
        worker(*words)
    elif verb == "stop":
        return stop(*words)
    elif verb == "revive":
        revive(*words)
    elif verb == "attach":
        print(f"attached to {words[0]} in {STORE}")
    elif verb == "list":
        print(json.dumps([it for it, one in read(LIST).get("workers", {}).items() if lives(one)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
