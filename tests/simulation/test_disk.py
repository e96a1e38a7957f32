"""The power fails at each write of each verb: whatever the file system has kept, the registry can
be read, and what was answered is true."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.fake_processes import FakeClock
from tests.fakes import CONVERSATION, Story
from tests.reaping import hung, reaped
from tests.simulation.disk import Disk, State, followed
from tmuxreap.commands import adopt, forget, interrupt, protect, restart, resume, send, start
from tmuxreap.commands.reap.verdicts import Kind
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.interfaces.hook.answer import hook
from tmuxreap.sessions.context import Context

Work = Callable[[Story, Context], object]
TURN = ["UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"]
NEIGHBOR = {"name": "flow", "status": "stopped", "note": "ä: 'x'"}


class PowerCut(BaseException):
    """Nothing after this reaches the disk."""


def _resume(story: Story, context: Context) -> object:
    return resume.run(context, resume.ResumeRequest(("acme",), confirm_s=0.1))


def _start(story: Story, context: Context) -> object:
    return start.run(context, start.StartRequest("new", "demo", cwd="/", confirm_s=0.1))


def _adopt_process(story: Story, context: Context) -> object:
    process = story.processes.add("python3", "-m", "tmuxreap.demo_agent", new_session=True)
    return adopt.run(context, adopt.AdoptRequest("other", "demo", pid=process.pid))


def _report(story: Story, context: Context) -> object:
    """Report a turn, as the agent's hook does: it opens the ledger on its own each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMUXREAP_ID", "mark-of-acme")
        patch.setenv("TMUXREAP_REGISTRY", str(story.path))
        return [hook(["demo", json.dumps({"hook_event_name": event})]) for event in TURN]


VERBS: dict[str, Work] = {
    "stop": lambda story, context: story.stop("acme", reason="done"),
    "kill": lambda story, context: story.kill("acme", reason="done"),
    "start": _start,
    "resume": _resume,
    "adopt": lambda story, context: adopt.run(context, adopt.AdoptRequest("other", "demo")),
    "adopt --pid": _adopt_process,
    "reap": lambda story, context: reaped(story, Kind.STALLED),
    "interrupt": lambda story, context: interrupt.run(
        context, interrupt.InterruptRequest(("acme",))
    ),
    "hook": _report,
    "forget": lambda story, context: forget.run(context, forget.ForgetRequest(("acme",))),
    "send": lambda story, context: send.run(context, send.SendRequest("acme", "go", confirm_s=0.1)),
    "restart": lambda story, context: restart.run(context, restart.RestartRequest(("acme",))),
    "protect": lambda story, context: protect.run(context, protect.ProtectRequest(("acme",))),
    "reconcile": lambda story, context: reconcile.run(context),
}


def prepared(folder: Path, verb: str) -> Story:
    folder.mkdir()
    story = Story(folder)
    story.add_row(NEIGHBOR)
    if verb == "reap":
        agent = hung(story)
    else:
        agent = story.agent(state="busy" if verb == "interrupt" else "idle")
    if verb in ("resume", "forget"):
        story.stop("acme")
    if verb == "reconcile":
        story.processes.die(agent.process)
    if verb == "adopt":
        story.tmux.open(story.SOCKET, "other", "python3", "-m", "tmuxreap.demo_agent")
    if verb == "hook":
        with story.ledger() as ledger:
            ledger.remember_mark("acme", "mark-of-acme", story.clock.now())
        reconcile.run(story.app())
    return story


def played(folder: Path, verb: str, last: int | None) -> tuple[Story, Disk, int]:
    """Let the power fail after so many events of the disk, or never."""
    story = prepared(folder, verb)
    disk, events = Disk(folder), 0

    def happened() -> None:
        nonlocal events
        events += 1
        if events == last:
            raise PowerCut

    disk.happened = happened
    with followed(disk):
        try:
            VERBS[verb](story, story.app())
        except PowerCut:
            disk.happened = lambda: None
    return story, disk, events


def after_reboot(folder: Path, state: State, now: float) -> Story:
    """Return a machine with these files, on which nothing runs."""
    folder.mkdir()
    story = Story(folder)
    story.BOOT = "next-boot"  # type: ignore[misc]
    story.clock = FakeClock(now + 60.0)
    story.processes.clock = story.tmux.clock = story.clock
    story.path.unlink()
    for name, data in state.items():
        if data or not name.startswith("agent-sessions.db"):
            (folder / name).write_bytes(data)
    return story


@pytest.mark.parametrize("verb", VERBS)
def test_whatever_the_disk_kept_is_whole(verb: str, tmp_path: Path) -> None:
    story, _, events = played(tmp_path / "whole", verb, None)
    story.close()
    assert events > 2
    tried = 0
    for last in [*range(1, events + 1), None]:
        story, disk, _ = played(tmp_path / f"{last}", verb, last)
        with closing(story):
            for number, state in enumerate(disk.states()):
                tried += 1
                folder = tmp_path / f"{last}-{number}"
                with closing(after_reboot(folder, state, story.clock.now())) as later:
                    is_whole(later, story, verb, last)
    assert tried > 10


def is_whole(later: Story, story: Story, verb: str, last: int | None) -> None:
    """Reconcile after the power cut, and check that all is true that was answered before."""
    agent = story.agents["acme"]
    struck = bool(agent.heard) or not story.processes.alive(agent.process)
    first = reconcile.run(later.app())
    assert first.failure is None, (later.folder.name, first)
    assert reconcile.run(later.app()).as_json()["actions"] == []
    assert later.row("flow") == NEIGHBOR
    assert later.path.read_text().startswith("# ours\n")
    assert not list(later.folder.glob(".agent-sessions.yaml.*.tmp"))
    if verb == "forget" and last is None:
        assert "acme" not in later.path.read_text()
        return
    if verb == "forget" and '"acme"' not in later.path.read_text():
        return
    row = later.row()
    assert row["status"] != "running", later.folder.name
    assert row["demo_conversation_id_own"] == CONVERSATION
    if verb in ("stop", "kill") and struck:
        assert row["stop_reason"] == "done", (later.folder.name, row)
    if verb == "reap" and struck:
        assert row["stop_reason"] == "stalled", (later.folder.name, row)
    if verb == "hook":
        with later.ledger() as ledger:
            told = [beat.data["event"] for beat in reversed(ledger.heartbeats("acme"))]
        assert told == TURN[: len(told)]
    made = {"start": "new", "adopt": "other", "adopt --pid": "other"}.get(verb)
    if made is not None and last is None:
        assert later.row(made)["termination_mode"] == "lost"
