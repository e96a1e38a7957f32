"""What one state of one agent does not show: rows of other tools, crashes, two agents, what a
daemon holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from tests.real_agents.bench import AGAIN, MESSAGE, NAME, Bench, parent_of
from tests.real_agents.jobs import Job
from tests.real_agents.mock_model import ANSWER, LIMIT, TOOL, Reply
from tests.real_agents.setups import KEY, SETUPS, SUGGESTION
from tests.real_agents.states import DRAFT
from tmuxreap.agents.screens import State

ALL = tuple(SETUPS)


def by_another_tool(bench: Bench) -> None:
    """A row with a name, a status and a pid, of an agent that somebody started by hand: stopped,
    and resumed."""
    _by_hand(bench)
    item = bench.reap("stop", NAME)
    assert item["resumable"], item["conversation"]
    assert bench.row()["agent"] == bench.agent, bench.row()
    bench.reap("resume", NAME)
    bench.reap("kill", NAME)


def killed_of_another_tool(bench: Bench) -> None:
    """Who is killed has no last words."""
    _by_hand(bench)
    item = bench.reap("kill", NAME)
    assert item["resumable"], (item["conversation"], item["warnings"])


def crashed(bench: Bench) -> None:
    """SIGKILL from elsewhere: what is left is in its store."""
    _talked(bench)
    for process in bench.reap("show", NAME)["processes"]:
        os.kill(process["pid"], signal.SIGKILL)
    time.sleep(1.0)
    bench.tmux("kill-session", "-t", f"={NAME}:")
    bench.answer("reconcile")
    row = bench.row()
    assert (row["status"], row["resumable"]) == ("terminated", True), row


def rival_elsewhere(bench: Bench) -> None:
    """Another in the same folder, with another HOME: its conversations lie elsewhere."""
    _talked(bench)
    other = bench.folder / "other-home"
    subprocess.run(["cp", "-a", str(bench.place.home), str(other)], check=True)
    home = ["-e", f"HOME={other}"]
    bench.tmux(
        "new-session", "-d", "-s", "rival", "-c", str(bench.place.project), *home, bench.line
    )
    time.sleep(4.0)
    item = bench.reap("kill", NAME)
    assert item["resumable"], (item["conversation"], item["warnings"])


def in_it_already(bench: Bench) -> None:
    """A person has taken the conversation up by hand, without a row."""
    _talked(bench)
    command = bench.reap("stop", NAME)["resume_command"]
    line = command.replace(bench.setup.program, str(bench.program), 1)
    bench.tmux("new-session", "-d", "-s", "by-hand", "-c", str(bench.place.project), line)
    time.sleep(4.0)
    failure = bench.answer("resume", NAME)["results"][0]["error"]
    assert failure and failure["code"] == "conversation_in_use", failure


def seems_in_use(bench: Bench) -> None:
    """One that is gone, and not reaped yet, counts as one that has the conversation open: the agent
    asks whether to take it up. No key is an answer, and no other conversation takes its place."""
    _talked(bench)
    item, gone = bench.reap("stop", NAME), subprocess.Popen(["true"])
    store = Path(item["conversation"]["path"]).parent
    for verb in ("stop", "kill"):
        (store / f"inuse.{gone.pid}.lock").write_text(f"{gone.pid}\n")
        (store / f"inuse.{gone.pid}.hold").touch()
        bench.answer("resume", NAME)
        bench.until("its question", lambda: bench.seen().setup)
        refused = bench.answer("interrupt", NAME)["results"][0]["error"]
        assert refused and refused["code"] == "not_interruptible", refused
        assert bench.seen().setup, bench.screen()
        again = bench.reap(verb, NAME)
        assert again["resumable"], again["conversation"]
        assert again["conversation"]["id"] == item["conversation"]["id"], again["conversation"]
    gone.wait()


def tool_below(bench: Bench) -> None:
    """A command of it runs: with the end of the turn it ends, or the answer names it."""
    bench.model.command = f"touch {bench.proof}; sleep 77"
    _talked(bench)
    bench.say(f"{TOOL} please")
    bench.until("the tool", bench.proof.exists)
    item = bench.reap("stop", NAME)
    time.sleep(1.0)
    told = " ".join(item["warnings"])  # with what ends it: under `spared` it is one of many
    left = {
        pid: words
        for pid, words in bench.left().items()
        if "sleep 77" in words and str(pid) not in told
    }
    top = {pid for pid in left if parent_of(pid) not in left and f"({parent_of(pid)})" not in told}
    assert not top, (left, item["warnings"])


def asked_when_killed(bench: Bench) -> None:
    """Its dialog may be open again: that is said to who takes it up."""
    _talked(bench)
    bench.say(f"{TOOL} please")
    bench.becomes(State.DIALOG, "the dialog")
    time.sleep(1.0)
    bench.reap("kill", NAME)
    warnings = bench.answer("resume", NAME)["warnings"]
    assert any(one.startswith("dialog_open") for one in warnings), warnings
    bench.reap("kill", NAME)


def asks_first(bench: Bench) -> None:
    """What it asks before its first prompt is left without an answer in its files."""
    asking_first(bench)
    item = bench.reap("stop", NAME)
    assert item["stopped_by"] == "exit_keys", item["rungs"]
    assert not answers(bench)


def asking_first(bench: Bench) -> None:
    name, change, _ = UNANSWERED[bench.agent]
    file = bench.place.home / name
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    bench.start()
    bench.becomes(State.DIALOG, "its question")
    bench.settle(3.0)


def answers(bench: Bench) -> list[Path]:
    """The agent's own files that hold one."""
    answer = UNANSWERED[bench.agent][2]
    files = bench.place.home.rglob("*.json")
    return [path for path in files if answer in path.read_text(errors="replace")]


def begun_with_a_prompt(bench: Bench) -> None:
    """It stands in its command, between flags: who takes the conversation up has the flags, and
    does not say it again."""
    bench.start(*bench.prompted)
    bench.until("the answer", lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE)
    bench.settle(3.0)
    assert bench.model.prompted(MESSAGE) == 1, "it was never said"
    for verb in ("stop", "kill"):
        item = bench.reap(verb, NAME)
        assert item["resumable"], item["conversation"]
        bench.reap("resume", NAME)
        bench.resize()
        bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
        bench.settle(3.0)
        assert bench.model.prompted(MESSAGE) == 1, f"it was said again after a {verb}"
        command = Path(f"/proc/{bench.row()['pane']['pid']}/cmdline").read_bytes().split(b"\0")
        assert {word.encode() for word in bench.options} <= set(command), command
    bench.say(AGAIN)
    bench.until("the next word", lambda: bench.model.prompted(AGAIN))
    assert bench.model.prompted(MESSAGE) == 1, "it was said again"
    assert MESSAGE in bench.model.asked[-1], "another conversation"


def stashed(bench: Bench) -> None:
    """A draft that a person has laid aside is kept, or named as lost."""
    _talked(bench)
    bench.type(DRAFT)
    bench.keys("C-s")
    bench.until("the stash", lambda: bench.seen().stashed)
    item = bench.reap("stop", NAME)
    assert (bench.drafts(), item["warnings"]) == ([DRAFT], []), (bench.drafts(), item["warnings"])
    bench.start()
    talk(bench)
    bench.type(DRAFT)
    bench.keys("C-s")
    bench.until("the stash", lambda: bench.seen().stashed)
    bench.type("another")
    item = bench.reap("stop", NAME)
    assert any(one.startswith("draft_lost") for one in item["warnings"]), item["warnings"]
    assert bench.drafts()[-1] == "another", bench.drafts()


def suggested(bench: Bench) -> None:
    """What it shows in its empty input by itself is no draft."""
    assert bench.setup.suggests is not None
    (asks, answer), reply = bench.setup.suggests, bench.model.reply
    bench.model.reply = lambda body: (  # type: ignore[method-assign]
        Reply(answer) if asks in json.dumps(body) else reply(body)
    )
    bench.environ["CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"] = "true"  # a key alone brings none
    for verb in ("kill", "stop"):
        _talked(bench)
        bench.say(AGAIN)  # it suggests from the second turn on
        bench.until(
            "the suggestion", lambda: f" {SUGGESTION}" in bench.screen().replace("\xa0", " ")
        )
        bench.settle()
        item = bench.reap(verb, NAME)
        assert (item["draft"], item["warnings"], bench.drafts()) == (None, [], []), item


def in_a_worktree(bench: Bench) -> None:
    """It asks at its exit whether the worktree may go: nobody answers, and nothing goes."""
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    commit = ("git", *author, "commit", "-q", "--allow-empty", "-m", "first")
    subprocess.run(commit, cwd=bench.place.project, env=bench.environ, check=True)
    bench.start(bench.setup.program, *bench.options, "--worktree", "side")
    talk(bench)
    work = bench.place.project / ".claude" / "worktrees" / "side" / "work"
    work.write_text("of a day")
    item = bench.reap("stop", NAME)
    assert work.read_text() == "of a day"
    assert (item["outcome"], item["resumable"]) == ("stopped", True), item
    bench.reap("resume", NAME)
    bench.until("the empty prompt, after the resume", lambda: bench.seen().state is State.IDLE)
    assert ANSWER in bench.screen(), bench.screen()
    assert work.exists()


def menus(bench: Bench) -> None:
    """A menu that a person has opened takes the keys: it waits, and is left with nothing chosen."""
    settings = bench.place.home / ".claude" / "settings.json"
    for opened in MENUS:
        _talked(bench)
        if opened.startswith("/"):
            bench.say(opened)
        else:
            bench.keys(*opened.split())
        bench.until("the menu", lambda: bench.seen().state is State.DIALOG)
        bench.settle()
        assert bench.one_state() == "waiting", opened
        asked, before = len(bench.model.asked), _text(settings)
        item = bench.reap("stop", NAME)
        assert (item["stopped_by"], item["resumable"]) == ("exit_keys", True), (opened, item)
        assert not bench.turns(asked), f"{opened}: its model was asked"
        assert _text(settings) == before, f"{opened}: a setting was changed"


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def limited(bench: Bench) -> None:
    """Its provider refuses it: told with its time, neither stalled nor idle, and left by its
    keys."""
    bench.environ.update(bench.setup.subscribed)
    _talked(bench)
    bench.say(f"{LIMIT} please")
    answer = bench.answer("wait", NAME, "--until", "limited", "--timeout", "60s")
    assert answer["ok"], (answer, bench.screen())
    bench.until("its time", lambda: _until(bench) or not bench.setup.tells_until, every_s=0.5)
    bench.settle()
    assert bool(_until(bench)) is bench.setup.tells_until, bench.screen()
    quick = ("--idle", "--idle-after", "1s", "--stalled", "--stalled-after", "1s", "--yes")
    assert not bench.answer("reap", *quick)["results"], "it was reaped"
    item = bench.reap("stop", NAME)
    assert (item["stopped_by"], item["draft"]) == ("exit_keys", None), item


def _until(bench: Bench) -> str | None:
    """Some draw that it tries again before they draw when."""
    told = bench.answer("list")["results"][0]
    assert told["state"] == "limited", told
    until: str | None = told["until"]
    return until


def _no_key(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "customApiKeyResponses": {"approved": [], "rejected": []}}


def _untrusted(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "security": {**data["security"], "folderTrust": {"enabled": True}}}


# Where that is set up, and what an answer looks like in a file.
UNANSWERED: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "claude": (".claude.json", _no_key, KEY[-20:]),
    "qwen": (".qwen/settings.json", _untrusted, "_TRUST"),
    "gemini": (".gemini/settings.json", _untrusted, "_TRUST"),
}

MENUS = ("/config", "/model", "/resume", "/permissions", "/theme", "Escape Escape")

CASES: dict[str, tuple[Callable[[Bench], None], tuple[str, ...]]] = {
    "by another tool": (by_another_tool, ALL),
    "killed of another tool": (killed_of_another_tool, ALL),
    "crashed": (crashed, ALL),
    "begun with a prompt": (begun_with_a_prompt, ("claude", "codex", "gemini")),
    "rival elsewhere": (rival_elsewhere, ("codex", "opencode")),
    "in it already": (in_it_already, ("claude", "codex", "qwen", "copilot")),
    "seems in use": (seems_in_use, ("copilot",)),
    "tool below": (tool_below, ALL),
    "stashed": (stashed, ("claude",)),
    "suggested": (suggested, tuple(name for name, setup in SETUPS.items() if setup.suggests)),
    "menus": (menus, ("claude",)),
    "in a worktree": (in_a_worktree, ("claude",)),
    "limited": (limited, tuple(name for name, setup in SETUPS.items() if setup.tells_limit)),
    "asks first": (asks_first, tuple(UNANSWERED)),
    "asked when killed": (asked_when_killed, ("claude", "codex")),
}
ALLOWED = ("tool below",)


def _by_hand(bench: Bench) -> None:
    by_hand(bench)
    bench.settle(3.0)  # what it starts first may swallow an Enter
    talk(bench)


def by_hand(bench: Bench) -> None:
    """A row with a name, a status and a pid."""
    bench.tmux(
        "new-session",
        "-d",
        "-x",
        "120",
        "-y",
        "40",
        "-s",
        NAME,
        "-c",
        str(bench.place.project),
        bench.line,
    )
    pid = int(bench.tmux("display-message", "-p", "-t", f"={NAME}:", "#{pane_pid}"))
    pane = {"pid": pid, "cmd": "node", "cwd": str(bench.place.project)}
    row = {"name": NAME, "status": "running", "tmux_server": bench.socket, "pane": pane}
    bench.registry.write_text(yaml.safe_dump({"tmux_sessions": [row]}))


def _talked(bench: Bench) -> None:
    bench.start()
    talk(bench)


def talk(bench: Bench, message: str = MESSAGE) -> None:
    bench.until("the empty prompt", lambda: bench.seen().state is State.IDLE)
    bench.settle()
    bench.say(message)
    bench.until("the answer", lambda: ANSWER in bench.screen() and bench.seen().state is State.IDLE)
    bench.settle()


def jobs() -> Iterator[Job]:
    for name, (play, agents) in CASES.items():
        for agent in agents:
            yield Job(agent, name, partial(_held, play=play), name in ALLOWED)


def _held(bench: Bench, *, play: Callable[[Bench], None]) -> str:
    play(bench)
    return "holds"
