"""Sessions that a real agent's own daemon runs: begun by a shell, a tool, a fork, or moved there
from a pane. After each verb the agent's own list decides whether it is so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench
from tests.real_agents.jobs import Job
from tmuxreap.agents.screens import State

WATCHED_S = 120.0
SLOWLY = "please BE_SLOW"


def own(bench: Bench, *words: str) -> str:
    """Return what the agent's own command says."""
    done = subprocess.run(
        [str(bench.program), *words],
        env=bench.environ,
        cwd=bench.place.project,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def living(bench: Bench) -> dict[str, dict[str, Any]]:
    """Return the living background sessions by the agent's own list."""
    told = json.loads(own(bench, "agents", "--json"))
    return {one["id"]: one for one in told if one.get("kind") == "background" and one.get("pid")}


def begun(bench: Bench, prompt: str = MESSAGE) -> str:
    """Begin one from a shell; return its ID, once it is idle or at work."""
    before = set(living(bench)) if (bench.place.home / ".claude" / "daemon").exists() else set()
    own(bench, "--bg", *bench.options, prompt)
    bench.until("its session in the background", lambda: set(living(bench)) - before)
    (number,) = set(living(bench)) - before
    time.sleep(4.0)
    return number


def talked(bench: Bench) -> None:
    bench.start()
    bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle(2.0)
    bench.say(MESSAGE)
    bench.settle(3.0)


def adopted(bench: Bench, prompt: str = MESSAGE) -> str:
    if not bench.registry.exists():
        bench.registry.write_text("tmux_sessions: []\n")
    number = begun(bench, prompt)
    bench.reap("adopt", NAME, "--background", f"{bench.agent}:{number}")
    return number


def ended(bench: Bench, verb: str, number: str, name: str = NAME) -> str:
    """End it, and ask both lists."""
    item = bench.reap(verb, name)
    assert item["stopped_by"] in ("daemon", "exit_keys"), item
    assert number not in living(bench), f"{number} is in its own list"
    listed = bench.answer("list")
    assert all(number not in one["command"] for one in listed["unregistered"]), listed
    assert not [it for it in listed["results"] if it["name"] == name and it["live"] == "alive"]
    return f"{item['stopped_by']}, {item['duration_ms'] / 1000:.1f} s"


def stopped(bench: Bench) -> str:
    number = adopted(bench)
    word = ended(bench, "stop", number)
    assert bench.row()["resumable"] is True, bench.row()
    return word


def killed(bench: Bench) -> str:
    return ended(bench, "kill", adopted(bench))


def stopped_at_work(bench: Bench) -> str:
    number = adopted(bench, SLOWLY)
    return ended(bench, "stop", number)


def resumed(bench: Bench) -> str:
    """In tmux, in the same conversation."""
    number = adopted(bench)
    ended(bench, "stop", number)
    text = bench.registry.read_text()
    bench.registry.write_text(
        text.replace("agent: claude", f"agent: claude\n    tmux_server: {bench.socket}")
    )
    bench.reap("resume", NAME)
    bench.resize()
    bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
    asked = len(bench.model.asked)
    bench.say(AGAIN)
    bench.until("what was said", lambda: any(MESSAGE in it for it in bench.model.asked[asked:]))
    return bench.reap("stop", NAME)["stopped_by"]


def brought_back(bench: Bench) -> str:
    """Its daemon brings back what was killed: the row is of the new process."""
    number = adopted(bench)
    pid = living(bench)[number]["pid"]
    os.kill(pid, signal.SIGKILL)
    assert bench.answer("list")["results"][0]["live"] in ("alive", "unknown")
    bench.until(
        "its new process", lambda: living(bench).get(number, {}).get("pid") not in (None, pid)
    )
    return ended(bench, "stop", number)


def without_daemon(bench: Bench) -> str:
    number = adopted(bench)
    roster = json.loads((bench.place.home / ".claude/daemon/roster.json").read_text())
    os.kill(roster["supervisorPid"], signal.SIGKILL)
    time.sleep(1.0)
    assert bench.answer("list")["results"][0]["live"] == "alive"
    item = bench.reap("stop", NAME)
    assert number not in living(bench)
    return str(item["stopped_by"])


def attached(bench: Bench) -> str:
    """Shown in a pane: there its exit keys only leave the view."""
    number = adopted(bench)
    line = f"{bench.program} attach {number}"
    where = ["-x", "120", "-y", "40", "-c", str(bench.place.project)]
    bench.tmux("new-session", "-d", "-s", "viewer", *where, line)
    time.sleep(4.0)
    return ended(bench, "stop", number)


def adopts(bench: Bench) -> bool:
    return bool(bench.answer("adopt", NAME, "--server", bench.socket)["ok"])


def viewed(bench: Bench) -> str:
    """A pane with a row of its own shows it: the end of that says that the session goes on."""
    bench.registry.write_text("tmux_sessions: []\n")
    number = begun(bench)
    size = ["-x", "120", "-y", "40", "-c", str(bench.place.project)]
    bench.tmux("new-session", "-d", "-s", NAME, *size, f"{bench.program} attach {number}")
    bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
    bench.until("the adoption", lambda: adopts(bench), every_s=1.0)
    item = bench.reap("stop", NAME)
    (warning,) = item["warnings"]
    assert warning.startswith(
        f"goes_on: the conversation continues in the background session {number}"
    )
    assert number in living(bench)
    bench.reap("adopt", "again", "--background", f"claude:{number}")
    return ended(bench, "stop", number, "again")


def other_home(bench: Bench) -> str:
    """One of another HOME is not ours, and stays."""
    number = adopted(bench)
    home, registry = bench.environ["HOME"], bench.registry
    bench.environ["HOME"] = str(bench.folder / "other")
    os.mkdir(bench.environ["HOME"])
    listed = bench.answer("list")["unregistered"]
    assert listed == [], listed
    bench.environ["HOME"] = home
    assert registry == bench.registry
    return ended(bench, "stop", number)


def moved(bench: Bench) -> str:
    """One press of Left, back, a message, Left: the newest copy is the row's."""
    talked(bench)
    bench.keys("Left")
    bench.settle(3.0)
    bench.keys("Escape")
    bench.settle(2.0)
    bench.say(AGAIN)
    bench.until("it is heard", lambda: any(AGAIN in it for it in bench.model.asked))
    bench.settle(3.0)
    bench.keys("Left")
    bench.settle(2.0)
    (number,) = living(bench)
    (one,) = bench.answer("list")["results"]
    assert (one["drift"], one["seat"]) == ("moved", f"claude:{number}"), one
    word = ended(bench, "stop", number)
    assert bench.row()["resumable"] is True, bench.row()
    bench.reap("resume", NAME)
    bench.resize()
    bench.until("its prompt", lambda: bench.seen().state is State.IDLE)
    asked = len(bench.model.asked)
    bench.say("and now")
    bench.until("its second message", lambda: any(AGAIN in it for it in bench.model.asked[asked:]))
    return word


def to_background(bench: Bench) -> str:
    talked(bench)
    bench.say("/background")
    bench.until("the end of its pane", lambda: NAME not in bench.tmux("list-sessions"))
    bench.until("its session in the background", lambda: living(bench))
    (number,) = living(bench)
    (one,) = bench.answer("list")["results"]
    assert (one["live"], one["drift"], one["seat"]) == ("alive", "moved", f"claude:{number}"), one
    bench.answer("reconcile")
    assert bench.row()["terminal"] == "background", bench.row()
    return ended(bench, "stop", number)


def forked(bench: Bench) -> str:
    talked(bench)
    bench.say("/fork")
    bench.until("its copy", lambda: living(bench))
    time.sleep(2.0)
    return child(bench)


def launched(bench: Bench) -> str:
    """By a tool of its own."""
    talked(bench)
    bench.model.command = f"{bench.program} --bg '{MESSAGE}'"
    bench.say("RUN_A_TOOL")
    bench.until("its child", lambda: living(bench))
    time.sleep(4.0)
    return child(bench)


def child(bench: Bench) -> str:
    """Below its parent, named at its end, and ended alone."""
    (number,) = living(bench)
    name = f"{NAME}/{number}"
    tree = [it["name"] for it in bench.answer("list", "--tree")["results"]]
    assert tree == [NAME, name], tree
    item = bench.reap("stop", NAME)
    assert any(it.startswith("children_running") for it in item["warnings"]), item["warnings"]
    assert number in living(bench)
    return ended(bench, "stop", number, name)


def all_of_the_folder(bench: Bench) -> str:
    bench.registry.write_text("tmux_sessions: []\n")
    numbers = {begun(bench), begun(bench, SLOWLY)}
    answer = bench.answer("adopt", "--all", "--yes")
    assert not [it for it in answer["results"] if it.get("error")], answer
    answer = bench.answer("stop", "all", "--yes")
    assert answer["counts"]["ended"] == len(numbers), answer
    assert living(bench) == {}
    return f"{len(numbers)} of {len(numbers)}"


def two_minutes_later(bench: Bench) -> str:
    number = adopted(bench)
    ended(bench, "stop", number)
    other = begun(bench, SLOWLY)  # keeps the daemon
    deadline = time.monotonic() + WATCHED_S
    while time.monotonic() < deadline:
        assert number not in living(bench), "it came back"
        time.sleep(5.0)
    own(bench, "stop", other)
    return "gone"


CELLS: dict[str, Callable[[Bench], str]] = {
    "background, stop": stopped,
    "background, kill": killed,
    "background, at work": stopped_at_work,
    "background, resume": resumed,
    "background, brought back": brought_back,
    "background, no daemon": without_daemon,
    "background, attached": attached,
    "background, viewed": viewed,
    "background, other HOME": other_home,
    "background, moved": moved,
    "background, left": to_background,
    "background, forked": forked,
    "background, launched": launched,
    "background, all": all_of_the_folder,
    "background, two minutes later": two_minutes_later,
}


def jobs() -> Iterator[Job]:
    for row, play in CELLS.items():
        yield Job("claude", row, play, allowed=row == "background, launched")
