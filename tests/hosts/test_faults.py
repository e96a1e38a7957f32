"""What can go wrong on the way to a host: each fault with its code, and none affects another
host."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests import warm
from tests.hosts.conftest import PROGRAM, Fleet
from tests.real import alive, until
from tmuxreap.core.errors import Code
from tmuxreap.hosts import talk as link
from tmuxreap.hosts.engines import Engine
from tmuxreap.hosts.file import Host
from tmuxreap.hosts.talk import Talk
from tmuxreap.hosts.wire import WireRequest
from tmuxreap.system.environment import Settings


def failing(fleet: Fleet, via: list[str], verb: str = "list") -> dict[str, str]:
    fleet.configure({"bad": {"via": via, "program": warm.program()}})
    result = fleet.run(verb, *(["all"] if verb == "stop" else []), "--host", "bad,a", "--json")
    assert result.hosts["a"]["ok"]
    assert result.hosts["bad"]["ok"] is False
    error: dict[str, str] = result.hosts["bad"]["error"]
    assert result.exit == result.hosts["bad"]["exit_code"]
    return error


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("echo 'Host key verification failed.' >&2; exit 255", "host_unreachable"),
        ("kill -9 $$", "host_unreachable"),
        ("exit 1", "host_unreachable"),
        ("nonexistent-program at", "host_without_tmuxreap"),
        ("echo 'No such command' >&2; exit 2", "host_incompatible"),
        ("echo hello; exit 0", "host_incompatible"),
        ('echo \'{"schema": "tmuxreap/9", "at": "hello"}\'; sleep 1', "host_incompatible"),
        ('echo \'{"schema": "tmuxreap/1", "at": "answer"}\'; sleep 1', "host_incompatible"),
    ],
)
@pytest.mark.parametrize("verb", ["list", "stop"])
def test_each_fault_has_its_code(fleet: Fleet, script: str, code: str, verb: str) -> None:
    error = failing(fleet, [fleet.script("engine", script)], verb)
    assert error["code"] == code
    assert error["hint"]


def test_the_engines_own_words_are_reported(fleet: Fleet) -> None:
    error = failing(
        fleet, [fleet.script("engine", "echo 'Permission denied (publickey).' >&2; exit 255")]
    )
    assert "Permission denied (publickey)." in error["message"]


def test_a_missing_engine_makes_a_host_unreachable(fleet: Fleet) -> None:
    assert failing(fleet, ["no-such-engine"])["code"] == "host_unreachable"


def test_a_banner_before_the_answer_is_no_answer(fleet: Fleet) -> None:
    banner = "echo 'Welcome! {\"schema\": 1}'; echo '{}'; echo '[1,'; printf '\\033]0;x\\007\\n'"
    engine = fleet.script("engine", f'{banner}; HOME={fleet.home("b")} exec "$@"')
    fleet.configure({"b": {"via": [engine], "program": warm.program()}})
    result = fleet.run("list", "--host", "b", "--json")
    assert result.hosts["b"]["error"] is None
    assert [one["target"] for one in result.results] == ["web@b", "db@b"]


ANSWER = {
    "schema": "tmuxreap/1",
    "at": "answer",
    "texts": [["\x1b[2Jweb: \x1b]0;owned\x07"]],
    "answer": {
        "exit_code": 0,
        "warnings": ["\x1b[31mred"],
        "results": [
            {
                "name": "\x1b[31mevil",
                "error": {"code": "\x1b]", "message": "\x1b[5m", "hint": "\x9b2J"},
            }
        ],
    },
}
HELLO = {"schema": "tmuxreap/1", "at": "hello", "version": "\x1b[31m9"}


@pytest.mark.parametrize("verb", [["list"], ["show", "all"], ["events"]])
def test_nothing_of_a_host_commands_the_terminal(fleet: Fleet, verb: list[str]) -> None:
    output = fleet.folder / "output"
    output.write_text("\n".join([json.dumps(HELLO), json.dumps(ANSWER), ""]))
    fleet.configure({"evil": {"via": [fleet.script("engine", f"cat {output}; cat > /dev/null")]}})
    result = fleet.run(*verb, "--host", "evil")
    assert not any(sign in result.out + result.err for sign in "\x1b\x9b\x07")
    assert "\x1b" not in fleet.run("hosts").out


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"results": 3},
        {"results": [3]},
        {"results": [{"name": ["x"]}], "exit_code": "x", "warnings": 3},
        {"results": [], "exit_code": 10**30},
        {"results": [{"name": "x", "error": 3, "tags": 3, "live": [], "status": {}}]},
        {
            "results": [
                {"name": "x", "live": "alive", "status": "running", "memory_mb": "x", "pid": True}
            ]
        },
    ],
)
def test_odd_answers_are_not_reported_as_a_bug(fleet: Fleet, answer: object) -> None:
    odd_answers_are_no_bug(fleet, json.dumps(answer))


ROW = '{"results": [{"name": "x", "live": "alive", "status": "running", %s}]}'


@pytest.mark.parametrize(
    "answer",
    [
        ROW % '"memory_mb": NaN, "idle_s": Infinity',
        ROW % f'"memory_mb": 1{"0" * 400}, "idle_s": 1e999',
        ROW % f'"deep": {"[" * 950}{"]" * 950}',
        ROW % '"state": "dreaming", "drift": "sublimated"',
        ROW.replace("alive", "undead") % '"state": ["idle"]',
    ],
)
def test_unusable_numbers_levels_and_words_are_not_reported_as_a_bug(
    fleet: Fleet, answer: str
) -> None:
    odd_answers_are_no_bug(fleet, answer)


def odd_answers_are_no_bug(fleet: Fleet, answer: str) -> None:
    output = fleet.folder / "output"
    line = json.dumps({**ANSWER, "answer": None}).replace('"answer": null', f'"answer": {answer}')
    output.write_text("\n".join([json.dumps(HELLO), line, ""]))
    fleet.configure({"odd": {"via": [fleet.script("engine", f"cat {output}; cat > /dev/null")]}})
    for verb in (["list"], ["stop", "all"], ["show", "x"], ["hosts"]):
        words = verb if verb == ["hosts"] else [*verb, "--host", "odd"]
        assert fleet.run(*words).exit not in (70, -1)
        assert fleet.run(*words, "--json").json["exit_code"] != 70


def test_a_verb_newer_than_the_host_is_incompatible(fleet: Fleet) -> None:
    hello = fleet.folder / "output"
    hello.write_text(json.dumps(HELLO) + "\n")
    engine = fleet.script("engine", f"cat {hello}; read line; echo '{json.dumps(INCOMPATIBLE)}'")
    assert failing(fleet, [engine])["code"] == "host_incompatible"


INCOMPATIBLE = {"schema": "tmuxreap/1", "at": "incompatible", "why": "list knows no sort there"}

# Broken connections


def half_deaf(fleet: Fleet, times: int, later: str) -> None:
    """An engine that says hello, forwards the request and is then cut, that many times."""
    home = fleet.home("b")
    text = f"""
echo x >> {fleet.folder}/tries
if [ $(wc -l < {fleet.folder}/tries) -gt {times} ]; then {later}; fi
mkfifo {fleet.folder}/back.$$
HOME={home} TMUX_TMPDIR={home}/t "$@" > {fleet.folder}/back.$$ &
IFS= read -r hello < {fleet.folder}/back.$$
printf '%s\\n' "$hello"
exit 255"""
    # The remote side reads our stdin: a background command of a shell would have none.
    text = text.replace('"$@" >', '"$@" <&3 >').replace("mkfifo", "exec 3<&0; mkfifo", 1)
    fleet.configure({"b": {"via": [fleet.script("engine", text)], "program": warm.program()}})


def test_after_a_broken_link_the_outcome_is_reported(fleet: Fleet) -> None:
    home = fleet.home("b")
    half_deaf(fleet, 1, f'HOME={home} TMUX_TMPDIR={home}/t exec "$@"')
    result = fleet.run("stop", "web@b", "--json")
    assert [(one["target"], one["outcome"]) for one in result.results] == [("web@b", "stopped")]
    assert result.exit == 0
    events = fleet.run("events", "web", "--registry", str(fleet.registry("b")), "--json").results
    assert [one["kind"] for one in events].count("stopped") == 1


def test_an_outcome_that_the_link_lost_is_unknown(fleet: Fleet) -> None:
    half_deaf(fleet, 1, "exit 255")
    result = fleet.run("stop", "web@b", "--json")
    assert result.exit == 4
    (one,) = result.results
    assert (one["target"], one["outcome"], one["error"]["code"]) == (
        "web@b",
        "unknown",
        "host_unreachable",
    )
    deadline = time.monotonic() + 60
    while fleet.rows("b")["web"]["status"] != "stopped":  # it finished on its own
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_reader_is_not_asked_again(fleet: Fleet) -> None:
    half_deaf(fleet, 1, "exit 255")
    result = fleet.run("list", "--host", "b", "--json")
    assert result.hosts["b"]["error"]["code"] == "host_unreachable"
    assert len((fleet.folder / "tries").read_text().split()) == 1


@pytest.mark.parametrize("verb", ["list", "stop"])
def test_ctrl_c_while_a_host_hangs_names_each_host_and_leaves_nothing_here(
    fleet: Fleet, verb: str
) -> None:
    pid = fleet.folder / "pid"
    hangs = fleet.script("engine", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    fleet.configure({"hung": {"via": [hangs]}})
    process = fleet.begin(verb, "web", "--host", "a,hung", "--json")
    until("its engine", pid.exists)
    time.sleep(1.0)  # the other host answers meanwhile
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    told = json.loads(out)
    assert ("continues" in told["error"]["message"]) is (verb == "stop")
    assert [one["host"] for one in told["hosts"]] == ["a", "hung"]
    assert told["hosts"][1]["error"]["code"] == "interrupted"
    until("its end", lambda: not alive(int(pid.read_text())))


def test_a_wait_for_any_ends_with_the_first_host_that_has_one(fleet: Fleet) -> None:
    pid = fleet.folder / "pid"
    hangs = fleet.script("engine", f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600")
    fleet.configure({"hung": {"via": [hangs]}})
    fleet.configure({"refused": {"via": ["false"]}})
    targets = ("web@a", "x@hung", "db@b", "y@refused")
    told = fleet.run("wait", *targets, "--until", "gone", "--any", "--json")
    assert told.exit == 0, told
    reached = {one["target"]: one["reached"] for one in told.results}
    assert reached.keys() == {*targets}
    assert reached["web@a"] or reached["db@b"]
    assert not reached["x@hung"]
    assert [one["error"] for one in told.results] == [None] * 4
    if pid.exists():
        until("its end", lambda: not alive(int(pid.read_text())))


def test_a_wait_for_any_reports_each_session_when_none_can_arrive(fleet: Fleet) -> None:
    flags = ("--until", "idle", "--any", "--timeout", "1s", "--json")
    told = fleet.run("wait", "web@a", "db@b", *flags)
    assert told.exit == 1
    assert {one["error"]["code"] for one in told.results} == {"gone"}


def test_a_verb_that_only_looks_on_a_host_ends_with_its_listener(fleet: Fleet) -> None:
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        pane = {"pid": sleeper.pid, "cmd": "sleep", "created_epoch": time.time()}
        fleet.register("b", {"lives": {"status": "running", "terminal": "none", "pane": pane}})
        home, pid = fleet.home("b"), fleet.folder / "pid"
        there = f"echo $$ > {pid}; cd {home}; HOME={home} exec {PROGRAM} at"
        fleet.configure({"b": {"via": [fleet.script("engine", there)], "program": "x"}})
        process = fleet.begin("wait", "lives@b", "--until", "gone")
        until("the wait there", pid.exists)
        time.sleep(1.0)
        assert process.poll() is None
        process.kill()
        process.communicate(timeout=60)
        until("its end", lambda: not alive(int(pid.read_text())))
    finally:
        sleeper.kill()
        sleeper.wait()


# Hosts that hang, sleep, are newer, or have a wrong clock


@pytest.mark.parametrize("changing", [False, True])
def test_a_host_that_says_nothing_is_given_up(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch, changing: bool
) -> None:
    """After 30 s in reality. A request that never began has no outcome to ask for."""
    monkeypatch.setattr(link, "ANSWER_S", 1.5)
    pid = fleet.folder / "pid"
    host = Host("hung", via=(fleet.script("engine", f"echo $$ > {pid}; exec sleep 600"),))
    reply = link.ask(host, WireRequest("1", "stop"), Settings.from_environment(), changing=changing)
    assert reply.failure is not None
    assert reply.failure.code is Code.HOST_UNREACHABLE
    assert "no answer for 1.5 s" in reply.failure.message
    until("its end", lambda: not alive(int(pid.read_text())))


def test_a_silent_host_is_not_awaited(fleet: Fleet) -> None:
    """Without a question to the user, each host proceeds after its own plan."""
    output, gone = fleet.folder / "output", fleet.folder / "gone"
    plan = {"name": "web", "outcome": "planned", "error": None}
    answer = {"exit_code": 0, "warnings": [], "results": [plan]}
    output.write_text(
        "\n".join([json.dumps(HELLO), json.dumps({**ANSWER, "texts": [[]], "answer": answer}), ""])
    )
    # It answers once the other host has got two requests: plan and stop.
    quick = fleet.script("quick", f"echo x >> {gone}; cat {output}; cat > /dev/null")
    slow = fleet.script(
        "slow",
        f"while [ $(wc -l < {gone}) -lt 2 ]; do sleep 0.05; done; cat {output}; cat > /dev/null",
    )
    gone.touch()
    fleet.configure({"quick": {"via": [quick]}, "slow": {"via": [slow]}})
    result = fleet.run("stop", "all", "--host", "quick,slow", "--yes", "--json")
    assert [one["host"] for one in result.results] == ["quick", "slow"]
    assert len(gone.read_text().split()) == 2


def test_a_host_that_falls_asleep_after_its_hello_is_given_up(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "ANSWER_S", 1.0)
    monkeypatch.setattr(link, "AGAIN_AFTER_S", (0.01, 0.02))
    tries = fleet.folder / "tries"
    output = f"echo x >> {tries}; echo '{json.dumps(HELLO)}'; exec sleep 600"
    host = Host("asleep", via=(fleet.script("engine", output),))
    settings = Settings.from_environment()
    assert not link.ask(host, WireRequest("1", "list"), settings, changing=False).unknown
    assert len(tries.read_text().split()) == 1
    reply = link.ask(host, WireRequest("2", "stop"), settings, changing=True)
    assert reply.unknown  # only the outcome was queried again, not the verb
    assert len(tries.read_text().split()) == 1 + 3


def test_a_newer_host_is_understood(fleet: Fleet) -> None:
    output = fleet.folder / "output"
    item = {
        "name": "web",
        "outcome": "sublimated",
        "colour": {"deep": ["blue"]},
        "error": {"code": "brand_new", "message": "m", "hint": "h"},
    }
    answer = {"exit_code": 1, "warnings": [], "results": [item], "weather": "fine"}
    output.write_text("\n".join([json.dumps(HELLO), json.dumps({**ANSWER, "answer": answer}), ""]))
    fleet.configure({"new": {"via": [fleet.script("engine", f"cat {output}; cat > /dev/null")]}})
    result = fleet.run("stop", "web@new", "--json")
    assert result.exit == 1
    (one,) = result.results
    assert (one["outcome"], one["colour"], one["error"]["code"]) == (
        "sublimated",
        {"deep": ["blue"]},
        "brand_new",
    )


def test_a_clock_that_is_off_disturbs_no_other_host(fleet: Fleet) -> None:
    output = fleet.folder / "output"
    row = {"name": "web", "status": "running", "live": "alive", "idle_s": -5, "error": None}
    answer = {
        "exit_code": 0,
        "timestamp": "9999-12-31T23:59:59Z",
        "warnings": [],
        "results": [{**row, "heartbeat_age_s": -(10**12), "timestamp": "1901-01-01T00:00:00Z"}],
    }
    output.write_text("\n".join([json.dumps(HELLO), json.dumps({**ANSWER, "answer": answer}), ""]))
    fleet.configure({"odd": {"via": [fleet.script("engine", f"cat {output}; cat > /dev/null")]}})
    for words in (["list"], ["list", "--sort", "idle"], ["events"]):
        result = fleet.run(*words, "--host", "odd,a", "--json")
        assert result.exit == 0
        assert fleet.run(*words, "--host", "odd,a").exit == 0


def test_fifty_hosts_are_asked_together_and_one_that_is_down_stops_none(fleet: Fleet) -> None:
    """A file plays 48 of them: one machine could not run fifty."""
    output, begun = fleet.folder / "output", fleet.folder / "begun"
    begun.mkdir()
    row = {"name": "web", "status": "running", "live": "alive", "tags": [], "error": None}
    answer = {"exit_code": 0, "warnings": [], "results": [row]}
    texts = {**ANSWER, "texts": [["web"]], "answer": answer}
    output.write_text("\n".join([json.dumps(HELLO), json.dumps(texts), ""]))
    # Each waits until at least twenty have started: in sequence this would never end.
    wait = f"touch {begun}/$$; while [ $(ls {begun} | wc -l) -lt 20 ]; do sleep 0.05; done"
    engine = fleet.script("engine", f"{wait}; cat {output}; cat > /dev/null")
    fleet.configure({f"h{n}": {"via": [engine], "tags": ["far"]} for n in range(48)})
    fleet.configure({"dead": {"via": [fleet.script("dead", "exit 255")]}})
    result = fleet.run("list", "--host", "all", "--json")
    assert (result.exit, len(result.hosts)) == (4, 51)
    assert [name for name, one in result.hosts.items() if not one["ok"]] == ["dead"]
    assert len(result.results) == 48 + 3
    tagged = fleet.run("list", "--host", "@far", "--hosts-at-once", "20", "--json")
    assert (tagged.exit, len(tagged.results)) == (0, 48)


def test_a_slowly_exiting_client_is_not_killed_and_leaves_no_zombie(fleet: Fleet) -> None:
    script = "trap '' HUP; echo $$ > pid; mv pid left; while read -r _; do :; done; sleep 0.6"
    talk = Talk(Host("x"), Engine((fleet.script("engine", script),), os.environ, str(fleet.folder)))
    until("its pid", (fleet.folder / "left").exists)
    pid = int((fleet.folder / "left").read_text())
    talk.close()
    assert alive(pid)
    del talk
    gc.collect()  # what is not awaited is warned of, which fails a test
    until("nothing of it", lambda: not Path(f"/proc/{pid}").exists())
