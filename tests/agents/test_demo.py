"""The demo agent's own rules, without a terminal."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tmuxreap.agents.demo import (
    PASTE_BEGINS,
    PASTE_ENDS,
    DemoAgent,
    DemoState,
    Store,
    new_id,
    screen,
)
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.screens import State, read_screen
from tmuxreap.core.text import visible
from tmuxreap.demo_agent import split_keys

DEMO = load_profiles(None).agents["demo"]
SOME_ID = "0b9e7a52-6d0c-4f63-9b53-1d5f0c6f2a11"


@pytest.fixture
def agent(tmp_path: Path) -> DemoAgent:
    return DemoAgent(Store(tmp_path), SOME_ID)


def test_conversations_of_the_demo_agent_have_random_uuids() -> None:
    drawn = {new_id() for _ in range(200)}
    assert len(drawn) == 200
    assert all(str(uuid.UUID(one)) == one and uuid.UUID(one).version == 4 for one in drawn)
    assert {uuid.UUID(one).variant for one in drawn} == {uuid.RFC_4122}


def press(agent: DemoAgent, moments: dict[float, str]) -> DemoAgent:
    for now, keys in moments.items():
        for key in [keys] if keys.startswith("\x1b") else keys:
            agent.press(key, now)
        agent.tick(now)
    return agent


@pytest.mark.parametrize(("gap_s", "leaves"), [(0.049, False), (0.051, True)])
def test_an_enter_within_a_burst_is_part_of_the_paste(
    agent: DemoAgent, gap_s: float, leaves: bool
) -> None:
    press(agent, {1.0: "/exit", 1.0 + gap_s: "\r"})
    assert (agent.leaves_at is not None) is leaves
    assert agent.draft == ("" if leaves else "/exit\n")


@pytest.mark.parametrize(("gap_s", "leaves"), [(0.99, True), (1.01, False)])
def test_the_second_interrupt_comes_within_a_second(
    agent: DemoAgent, gap_s: float, leaves: bool
) -> None:
    press(agent, {1.0: "\x03", 1.0 + gap_s: "\x03"})
    assert (agent.leaves_at is not None) is leaves


@pytest.mark.parametrize(
    ("key", "clears"), [("\x15", True), ("\x03", True), ("\x1b", False), ("\x04", False)]
)
def test_only_certain_keys_clear_a_draft(agent: DemoAgent, key: str, clears: bool) -> None:
    assert press(agent, {1.0: "text", 2.0: key}).draft == ("" if clears else "text")
    assert agent.leaves_at is None


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_an_interrupt_ends_the_turn_and_gives_the_queue_back(agent: DemoAgent, key: str) -> None:
    agent.state, agent.busy_until = DemoState.BUSY, 100.0
    press(agent, {1.0: "later", 2.0: "\r", 3.0: "draft"})
    assert agent.queue == ["later"]
    press(agent, {4.0: key})
    assert (agent.state, agent.draft, agent.queue) == (DemoState.IDLE, "later\ndraft", [])


@pytest.mark.parametrize("state", DemoState)
@pytest.mark.parametrize("draft", ["", "half", "three\nlines\nof it"])
def test_escape_and_two_interrupts_exit_from_every_state(
    agent: DemoAgent, state: DemoState, draft: str
) -> None:
    agent.state, agent.draft = state, draft
    press(agent, {1.0: "\x1b", 1.8: "\x03", 2.1: "\x03", 5.1: "\x03", 5.4: "\x03"})
    assert agent.leaves_at is not None
    assert agent.transcript == []


def test_a_paste_is_taken_whole_and_a_long_one_is_a_placeholder(agent: DemoAgent) -> None:
    for text in ("two\nlines", "x\n" * 20):
        for key in (PASTE_BEGINS, *text, PASTE_ENDS):
            agent.press(key, 1.0)
    assert agent.draft == "two\nlines[Pasted text +20 lines]"
    press(agent, {2.0: "\r"})
    assert agent.transcript[0] == "user: two\nlines" + "x\n" * 20


@pytest.mark.parametrize("columns", [20, 80, 203])
@pytest.mark.parametrize("draft", ["", "half", "two\nlines", "a word " * 60, "a\n" + "b" * 500])
def test_a_draft_is_read_whole_from_the_screen(agent: DemoAgent, draft: str, columns: int) -> None:
    agent.draft = draft
    shown = "\n".join(screen(agent, 40, columns))
    found = read_screen(shown, DEMO.screens, DEMO.marks)
    assert found.state is (State.DRAFT if draft else State.IDLE)
    assert visible(found.draft) == visible(draft)


def test_a_dialog_has_a_frame(agent: DemoAgent) -> None:
    agent.state = DemoState.WAITING
    frame = screen(agent, 40, 80)[-3:]
    assert len({len(line) for line in frame}) == 1


def test_a_dialog_takes_no_paste(agent: DemoAgent) -> None:
    agent.state = DemoState.WAITING
    for key in (PASTE_BEGINS, "y", "\r", PASTE_ENDS):
        agent.press(key, 1.0)
    assert (agent.state, agent.draft, agent.transcript) == (DemoState.WAITING, "", [])


@pytest.mark.parametrize(
    ("typed", "keys", "held"),
    [
        ("a\x1b[200~b", ["a", "\x1b[200~", "b"], ""),
        ("a\x1b[20", ["a"], "\x1b[20"),
        ("\x1b\x1b", ["\x1b"], "\x1b"),
        ("\x1b[", [], "\x1b["),
    ],
)
def test_a_key_may_come_in_pieces(typed: str, keys: list[str], held: str) -> None:
    assert split_keys(typed) == (keys, held)


def test_the_demo_agent_hears_no_key_while_it_exits(agent: DemoAgent) -> None:
    press(agent, {1.0: "\x03", 1.3: "\x03", 1.4: "text", 1.6: "\r"})
    assert (agent.draft, agent.transcript) == ("", [])


def test_a_start_loads_nothing_slow() -> None:
    code = (
        "import sys; from tmuxreap.demo_agent import arguments; arguments([]); print(*sys.modules)"
    )
    words = [sys.executable, "-c", code]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert not {"pathlib", "shutil", "typing", "dataclasses", "asyncio"} & {*loaded}


def test_the_demo_agent_imports_nothing_of_the_package() -> None:
    code = "import sys, tmuxreap.agents.demo; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [name for name in loaded if re.match(r"tmuxreap|typer|yaml|psutil", name)] == [
        "tmuxreap",
        "tmuxreap.agents",
        "tmuxreap.agents.demo",
    ]
