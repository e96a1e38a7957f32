"""Many targets at once: in parallel, each with its own ladder; confirmed, watched, interrupted."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.real import DEMO, PATIENCE_S, Real, alive, until
from tmuxreap.commands import adopt

pytestmark = pytest.mark.live

SLOW_S = 1.0
PROGRAM = [sys.executable, "-m", "tmuxreap"]


@pytest.fixture
def real(tmux_socket: str, tmp_path: Path) -> Real:
    return Real(tmux_socket, tmp_path)


def herd(
    real: Real, names: Sequence[str], *options: str, tags: Sequence[str] = ()
) -> dict[str, int]:
    """Start and register demo agents; return their pids."""
    for name in names:
        mark = ["-e", f"TMUXREAP_ID={uuid.uuid4()}"]
        real.tmux("new-session", "-d", "-s", name, "-c", "/", *mark, *DEMO, *options)
    pids = {name: real.pid(name) for name in names}
    for name, pid in pids.items():
        until(f"{name} is ready", (real.store / "sessions" / f"{pid}.json").exists)
    with real.app() as app:
        for name in names:
            adopt.run(app, adopt.AdoptRequest(name, "demo", real.socket, tuple(tags)))
    return pids


def call(real: Real, *words: str, stdin: str = "", env: Mapping[str, str] | None = None) -> Any:
    given = [warm.program(), *words, "--registry", str(real.registry)]
    environ = {**os.environ, **(env or {})}
    return subprocess.run(
        given, capture_output=True, text=True, input=stdin, env=environ, check=False
    )


def told(done: Any) -> dict[str, dict[str, Any]]:
    return {result["name"]: result for result in json.loads(done.stdout)["results"]}


# All at once


def test_all_sessions_are_ended_together(real: Real) -> None:
    names = [f"agent-{number:02}" for number in range(20)]
    pids = herd(real, names, "--exit-delay", str(SLOW_S))
    done = call(real, "stop", "all", "--json")
    results = told(done)
    assert (done.returncode, sorted(results)) == (0, names)
    assert not any(map(alive, pids.values()))
    assert {row["status"] for row in real.rows().values()} == {"stopped"}
    assert {one["stopped_by"] for one in results.values()} == {"exit_keys"}
    # Each waited one second, in parallel: one after the other, the last would wait for all.
    took_s = [one["duration_ms"] / 1000 for one in results.values()]
    assert min(took_s) >= SLOW_S
    assert max(took_s) < sum(took_s) / 4
    assert max(took_s) < min(took_s) * len(names) / 2


def test_one_failure_does_not_stop_the_other_endings(real: Real) -> None:
    pids = herd(real, ["good", "bad", "fine"])
    other = int(
        real.tmux("split-window", "-d", "-P", "-F", "#{pane_pid}", "-t", "=bad:", "sleep", "600")
    )
    done = call(real, "stop", "good", "bad", "nosuch", "fine", "--json")
    results = told(done)
    assert done.returncode == 1  # two kinds of failure
    assert [results[name]["outcome"] for name in ("good", "bad", "fine")] == [
        "stopped",
        "refused",
        "stopped",
    ]
    assert results["nosuch"]["error"]["code"] == "session_not_registered"
    assert [alive(pids[name]) for name in ("good", "bad", "fine")] == [False, True, False]
    assert alive(other)
    alone = call(real, "stop", "nosuch", "good", "--json")
    assert (alone.returncode, told(alone)["good"]["outcome"]) == (3, "already_stopped")


def test_every_way_to_name_sessions_selects_them(real: Real) -> None:
    pids = herd(real, ["red", "blue"], tags=["night"]) | herd(
        real, ["acme-1", "acme-2", "green", "quick", "last"]
    )
    assert sorted(told(call(real, "stop", "tag:night", "--json"))) == ["blue", "red"]
    assert sorted(told(call(real, "stop", "acme-*", "acme-1", "--json"))) == ["acme-1", "acme-2"]
    assert sorted(told(call(real, "stop", f"pid:{pids['green']}", "--json"))) == ["green"]
    assert sorted(told(call(real, "stop", "-", "--json", stdin="quick\n\nred\n"))) == [
        "quick",
        "red",
    ]
    assert [name for name, pid in pids.items() if alive(pid)] == ["last"]
    assert sorted(told(call(real, "kill", "agent:demo", "--json"))) == ["last"]
    nothing = call(real, "stop", "all", "--json")
    assert (nothing.returncode, told(nothing)) == (0, {})
    unknown = call(real, "stop", f"pid:{os.getpid()}", "--json")
    assert (unknown.returncode, told(unknown)[f"pid:{os.getpid()}"]["error"]["code"]) == (
        3,
        "process_not_found",
    )


# Called by an agent


def test_an_agent_must_say_yes_to_a_bulk_stop(real: Real) -> None:
    """Recognized by our mark in its environment."""
    pids = herd(real, ["one", "two"], tags=["night"])
    inside = {"TMUXREAP_ID": str(uuid.uuid4())}
    before = real.registry.read_bytes()
    for target in ("all", "o*", "tag:night", "agent:demo"):
        refused = call(real, "stop", target, "--json", env=inside)
        assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (2, "usage")
        planned = told(refused)
        assert {one["outcome"] for one in planned.values()} == {"planned"}
        assert planned["one"]["plan"]["rungs"]
    assert all(map(alive, pids.values()))
    assert real.registry.read_bytes() == before
    assert call(real, "stop", "one", env=inside).returncode == 0  # named: no question
    assert call(real, "stop", "all", "--yes", env=inside).returncode == 0
    assert not any(map(alive, pids.values()))


def test_an_agent_is_known_by_its_pane_too(real: Real) -> None:
    """No mark: it runs in the pane of a row."""
    pids = herd(real, ["other"])
    words = " ".join([*PROGRAM, "stop", "all", "--json", "--registry", str(real.registry)])
    tool = (
        f"while [ ! -e go ]; do sleep 0.02; done; {words} >out 2>err; echo $? >code.new; mv"
        " code.new code"
    )
    script = f"sh -c '{tool}' & exec {' '.join(DEMO)}"
    real.tmux("new-session", "-d", "-s", "caller", "-c", str(real.folder), "sh", "-c", script)
    until("the caller", (real.store / "sessions" / f"{real.pid('caller')}.json").exists)
    real.adopt("caller")
    (real.folder / "go").touch()
    until("the answer", (real.folder / "code").exists)
    assert (real.folder / "code").read_text().strip() == "2"
    answers = {
        one["name"]: one["outcome"]
        for one in json.loads((real.folder / "out").read_text())["results"]
    }
    assert answers == {"other": "planned", "caller": "refused"}
    assert alive(pids["other"])


# A user at a terminal


class Person:
    """A terminal running the program, with a user who reads and types."""

    def __init__(self, real: Real, *words: str) -> None:
        self.master, slave = pty.openpty()
        given = [*PROGRAM, *words, "--registry", str(real.registry)]
        environ = {**os.environ, "NO_COLOR": "1"}
        self.program = subprocess.Popen(given, stdin=slave, stdout=slave, stderr=slave, env=environ)
        os.close(slave)
        self.read = b""

    def sees(self, text: str) -> None:
        until(f"{text!r} on the terminal", lambda: text in self._read())

    def types(self, text: str) -> None:
        os.write(self.master, text.encode())

    def leaves(self) -> int:
        while self.program.poll() is None:
            self._read()
        self._read()
        return self.program.returncode

    def close(self) -> None:
        self.program.kill()
        self.program.wait()
        os.close(self.master)

    def _read(self) -> str:
        while select.select([self.master], [], [], 0.01)[0]:
            try:
                data = os.read(self.master, 4096)
            except OSError:  # the other side is closed
                break
            self.read += data
        return self.seen

    @property
    def seen(self) -> str:
        return self.read.decode(errors="replace")


@pytest.fixture
def person(real: Real) -> Iterator[Callable[..., Person]]:
    persons: list[Person] = []

    def call(*words: str) -> Person:
        persons.append(Person(real, *words))
        return persons[-1]

    yield call
    for one in persons:
        one.close()


@pytest.mark.parametrize(
    ("target", "said"), [("all", "y"), ("o*", "yes"), ("all", "n"), ("o*", "")]
)
def test_a_person_is_asked_and_sees_the_plan(
    real: Real, person: Callable[..., Person], target: str, said: str
) -> None:
    pid = herd(real, ["one"])["one"]
    asked = person("stop", target)
    asked.sees("stop one? [y/N]")
    assert "one: would stop it (reason: manual_stop)" in asked.seen
    assert f"({pid}): pane" in asked.seen
    assert alive(pid)
    asked.types(f"{said}\n")
    yes = said in ("y", "yes")
    assert asked.leaves() == (0 if yes else 1)
    assert alive(pid) is not yes
    assert real.row("one")["status"] == ("stopped" if yes else "running")
    assert ("could not stop: the answer was no; nothing was done" in asked.seen) is not yes


def test_a_question_whose_input_ends_is_declined(real: Real, person: Callable[..., Person]) -> None:
    pid = herd(real, ["one"])["one"]
    asked = person("stop", "all")
    asked.sees("[y/N]")
    asked.types("\x04")
    assert asked.leaves() == 1
    assert alive(pid)
    said = asked.seen.partition("[y/N] ")[2]
    assert said.lstrip("^D\b").startswith("\r\n")
    assert "nothing was done" in said


@pytest.mark.parametrize("registered", [True, False])
def test_a_person_is_asked_before_a_conversation_is_deleted(
    real: Real, person: Callable[..., Person], registered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = herd(real, ["one"])["one"]
    words: tuple[str, ...] = ()
    if not registered:  # this is the default server
        real.registry.write_text("broken: [")
        monkeypatch.setenv("TMUX", f"{real.socket},1,0")
        words = ("--force-no-yaml",)
    asked = person("stop", "one", "--purge-conversation", *words)
    asked.sees("stop one, and delete its conversation for good? [y/N]")
    asked.types("n\n")
    assert asked.leaves() == 1
    assert alive(pid)


def test_ending_sessions_without_a_row_asks_too(real: Real, person: Callable[..., Person]) -> None:
    pid = herd(real, ["one"])["one"]
    asked = person("stop", "all", "--force-no-yaml")
    asked.sees("stop one? [y/N]")
    asked.types("n\n")
    assert asked.leaves() == 1
    assert alive(pid)
    words = [*PROGRAM, "stop", "o*", "--force-no-yaml", "--json", "--registry", str(real.registry)]
    environ = {**os.environ, "TMUXREAP_ID": "mark"}
    told = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, env=environ, check=False
    )
    assert told.returncode == 2
    assert alive(pid)


def test_a_name_and_yes_ask_nothing(real: Real, person: Callable[..., Person]) -> None:
    herd(real, ["one", "two"])
    for words in (("one",), ("all", "--yes")):
        called = person("stop", *words)
        assert called.leaves() == 0
        assert "[y/N]" not in called.seen
    assert {row["status"] for row in real.rows().values()} == {"stopped"}


# Progress output


def test_progress_is_shown_on_a_terminal(real: Real, person: Callable[..., Person]) -> None:
    pids = herd(real, ["one", "two"], "--exit-delay", "600")
    watching = person("stop", "one", "two", "--keys-timeout", "300")
    watching.sees("0 of 2 ended · one keys ")
    watching.sees("two keys ")
    for pid in pids.values():  # what is awaited comes when it was seen, not before
        os.kill(pid, signal.SIGKILL)
    assert watching.leaves() == 0
    assert "\r\x1b[K" in watching.seen
    assert "sending its exit keys" not in watching.seen


def test_progress_off_a_terminal_is_a_line_when_slow(real: Real) -> None:
    herd(real, ["one"])
    done = call(real, "stop", "one")
    assert all("still there after" in line for line in done.stderr.splitlines())  # after 2 s
    herd(real, ["slow"], "--exit-delay", "30")
    done = call(real, "stop", "slow", "--keys-timeout", "2.2", "--grace", "0.3")
    words = re.findall(r"slow: still there after \d s, (.*)\n", done.stderr)
    assert words == ["ending what is left of it", "sending SIGKILL"]
    assert "\r" not in done.stdout + done.stderr


@pytest.mark.parametrize("flag", ["--quiet", "--json"])
def test_flags_switch_progress_off(real: Real, flag: str) -> None:
    herd(real, ["one"])
    done = call(real, "stop", "one", flag)
    assert (done.returncode, done.stderr) == (0, "")
    assert bool(done.stdout) is (flag == "--json")


# Interrupted


def test_an_interrupted_bulk_stop_says_what_was_done(real: Real) -> None:
    pids = herd(real, ["quick"]) | herd(
        real, ["slow-1", "slow-2"], "--exit-delay", "30", "--ignore", "hup,term"
    )
    given = [
        *PROGRAM,
        "stop",
        "all",
        "--json",
        "--keys-timeout",
        "30",
        "--registry",
        str(real.registry),
    ]
    program = subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until("the first", lambda: real.events("stopped"))
    assert real.tmux("show-options", "-p", "-v", "-t", "=slow-1:", "remain-on-exit") == "on"
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=25)  # uninterrupted it would wait for 30 s
    assert (program.returncode, err) == (130, "")
    envelope = json.loads(out)
    results = {one["name"]: one for one in envelope["results"]}
    assert (envelope["exit_code"], envelope["ok"]) == (130, False)
    assert (results["quick"]["outcome"], results["quick"]["error"]) == ("stopped", None)
    for name in ("slow-1", "slow-2"):
        assert results[name]["error"]["code"] == "interrupted"
        assert (alive(pids[name]), real.row(name)["status"]) == (True, "running")
        assert real.tmux("show-options", "-p", "-v", "-t", f"={name}:", "remain-on-exit") == ""
    after = told(call(real, "kill", "all", "--grace", "0", "--json"))
    assert {name: one["outcome"] for name, one in after.items()} == {
        "slow-1": "killed",
        "slow-2": "killed",
    }


def test_an_interrupted_wait_for_another_stop_reports_its_own_work(real: Real) -> None:
    """Its own work is reported; the other stop continues."""
    pids = herd(real, ["slow"], "--exit-delay", "600") | herd(real, ["quick"])
    given = [*PROGRAM, "stop", "--json", "--keys-timeout", "600", "--registry", str(real.registry)]
    owner = subprocess.Popen([*given, "slow"], stdout=subprocess.PIPE, text=True)
    until("its keys", lambda: "/exit" in real.screen("slow"))
    both = subprocess.Popen(
        [*given, "slow", "quick"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    until("the quick one", lambda: real.events("stopped"))
    both.send_signal(signal.SIGINT)
    out, err = both.communicate(timeout=PATIENCE_S)
    assert (both.returncode, err) == (130, "")
    slow, quick = json.loads(out)["results"]
    assert (slow["error"]["code"], quick["outcome"]) == ("interrupted", "stopped")
    os.kill(pids["slow"], signal.SIGKILL)
    out, _ = owner.communicate(timeout=PATIENCE_S)
    assert json.loads(out)["results"][0]["outcome"] == "stopped"
    assert not any(map(alive, pids.values()))
