"""Whether a conversation continues without its pane: from the agent's own list, or a turn in a
shared program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.fake_processes import FakeClock, FakeProcesses
from tmuxreap.agents.conversations.background import (
    Bond,
    Forked,
    Lingering,
    Lists,
    before_copy,
    bond_of,
    follow,
    lingering,
    shown_in,
)
from tmuxreap.agents.conversations.find import NONE, AgentProcess, Clues
from tmuxreap.agents.conversations.jobs import NO_JOBS, Job
from tmuxreap.agents.conversations.lists import read_jobs
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State, read_screen
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import replace
from tmuxreap.proof.state import with_record
from tmuxreap.sessions.conversation import Known, record_of

CLAUDE = load_profiles(None).agents["claude"]
CODEX = load_profiles(None).agents["codex"]
ONE = "11111111-6d0c-4f63-9b53-1d5f0c6f2a11"
TWO = "22222222-6d0c-4f63-9b53-1d5f0c6f2a11"
BEGAN = '{"type":"event_msg","payload":{"type":"task_started"}}\n'
ENDED = '{"type":"event_msg","payload":{"type":"task_complete"}}\n'
ABORTED = '{"type":"event_msg","payload":{"type":"turn_aborted"}}\n'


@pytest.fixture
def processes() -> FakeProcesses:
    return FakeProcesses(FakeClock())


def found(
    profile: Profile, store: Path, processes: FakeProcesses, path: Path | None = None
) -> list[Lingering]:
    conversation = Conversation(ONE, "pidfile", str(path) if path else None, exists=True)
    jobs = read_jobs(profile, store, processes)
    return lingering(profile, jobs, conversation, processes)


# In the agent's own list


def roster(
    store: Path,
    worker: ProcessId,
    conversation: str = ONE,
    started: object = None,
    own: str = TWO,
    env: Mapping[str, str] = MappingProxyType({}),
) -> Path:
    """Write a roster as the real one was recorded, shortened. `own`: the entry's conversation,
    which took over `conversation`."""
    entry = {
        "pid": worker.pid,
        "procStart": str(worker.start) if started is None else started,
        "sessionId": own,
        "dispatch": {
            "source": "slash",
            "launch": {
                "mode": "resume",
                "sessionId": f"/home/x/.claude/projects/-w/{conversation}.jsonl",
                "fork": True,
            },
            "env": {"CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS": ",", **env},
        },
    }
    (store / "daemon").mkdir(exist_ok=True)
    file = store / "daemon" / "roster.json"
    file.write_text(json.dumps({"proto": 1, "workers": {"11d5b0df": entry}}))
    return file


ATTACH, END = "claude attach 11d5b0df", "claude stop 11d5b0df"


def test_a_session_in_the_background_is_reported_with_what_ends_it(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    worker = processes.add("claude", "claude", "bg-pty-host")
    roster(tmp_path, worker, own=ONE)
    where = f"the background session 11d5b0df ({worker.pid})"
    (session,) = found(CLAUDE, tmp_path, processes)
    assert (session.where, session.end, session.attach) == (where, END, ATTACH)
    assert session.warning == (
        f"goes_on: the conversation continues in {where}; attach to it with: {ATTACH}; end it with:"
        f" {END}"
    )


def test_a_copy_that_still_runs_is_reported_as_a_copy(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    roster(tmp_path, processes.add("claude", "claude", "bg-pty-host"))
    (session,) = found(CLAUDE, tmp_path, processes)
    assert session.bond is Bond.COPY
    assert session.warning.startswith(
        f"conversation_forked: a copy of it continues as {TWO} in the"
    )


@pytest.mark.parametrize(
    "env",
    [
        {"CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS": ONE},
        {"CLAUDE_CODE_RESUME_SOURCE_ALIVE": f"{TWO}|2026-11-19T21:53:05.515Z|{ONE}"},
    ],
)
def test_a_session_launched_by_a_conversation_is_its_child(
    tmp_path: Path, processes: FakeProcesses, env: dict[str, str]
) -> None:
    """Launched by a tool, or by /fork, whose source goes on in the pane."""
    roster(tmp_path, processes.add("claude"), conversation="parent-transcript", env=env)
    (session,) = found(CLAUDE, tmp_path, processes)
    assert session.bond is Bond.CHILD
    assert session.warning.startswith("children_running: it launched the background session 11d5b0")
    conversation = told(tmp_path, ONE)
    assert follow(CLAUDE, tmp_path, conversation, processes) == (conversation, None)


def test_a_pane_that_shows_a_session_is_in_its_conversation(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    roster(tmp_path, processes.add("claude", "claude", "bg-pty-host"), own=ONE)
    view = processes.add("claude")
    words = {
        ("claude", "attach", "11d5b0df"): ONE,
        ("bin/claude", "attach", "11d5b0df"): ONE,
        ("claude", "attach", "22222222"): None,
        ("claude", "logs", "11d5b0df"): None,
        ("claude", "attach"): None,
        ("claude", "attach", "11d5b0df", "more"): None,
    }
    for argv, expected in words.items():
        clues = Clues((AgentProcess(view, argv, 0.0),), store=tmp_path)
        shown = shown_in(CLAUDE, clues, processes)
        assert (shown.id if shown else None) == expected


def test_a_background_session_of_another_conversation_is_not_reported(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    roster(tmp_path, processes.add("claude"), conversation=TWO)
    assert found(CLAUDE, tmp_path, processes) == []


def test_a_stale_roster_entry_is_ignored(tmp_path: Path, processes: FakeProcesses) -> None:
    roster(tmp_path, processes.add("bash"), started="7")
    assert found(CLAUDE, tmp_path, processes) == []


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"workers": []}', '{"workers": {"a": 3}}', '{"workers": {"a": {}}}']
)
def test_a_broken_list_says_nothing(tmp_path: Path, processes: FakeProcesses, text: str) -> None:
    file = roster(tmp_path, processes.add("claude"))
    file.write_text(text)
    assert found(CLAUDE, tmp_path, processes) == []
    file.write_text(
        json.dumps({"workers": {"a": {"pid": "1", "x": ONE}, "b": {"pid": -1, "x": ONE}}})
    )
    assert found(CLAUDE, tmp_path, processes) == []


# Under another ID

SAID = '{"type":"user","message":{"content":"hello"}}\n'


def moved(after: str) -> str:
    """Return the line as it was recorded on the real one, shortened."""
    return f'{{"type":"continued-in","sessionId":"x","continuedInSessionId":"{after}"}}\n'


def told(store: Path, conversation: str, text: str = SAID) -> Conversation:
    folder = store / "projects" / "-w"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{conversation}.jsonl").write_text(text)
    path = folder / f"{conversation}.jsonl"
    return Conversation(conversation, "pidfile", str(path), exists=True)


THREE = "33333333-6d0c-4f63-9b53-1d5f0c6f2a11"


def test_a_conversation_is_followed_to_where_its_agent_continued_it(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    first = told(tmp_path, ONE, SAID + moved(TWO))
    told(tmp_path, TWO, SAID + moved(THREE))
    last = told(tmp_path, THREE)
    found, forked = follow(CLAUDE, tmp_path, first, processes)
    assert (found, forked) == (last, Forked(ONE, THREE, is_on_disk=True))


def test_a_conversation_that_continued_in_place_is_not_followed(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    told(tmp_path, TWO)
    for text in (SAID, SAID + moved(TWO) + SAID, SAID + moved("../x"), SAID + moved(ONE)):
        conversation = told(tmp_path, ONE, text)
        assert follow(CLAUDE, tmp_path, conversation, processes) == (conversation, None)


def test_a_quoted_line_moves_nothing(tmp_path: Path, processes: FakeProcesses) -> None:
    quoted = json.dumps({"type": "assistant", "text": moved(TWO)}) + "\n"
    told(tmp_path, TWO)
    conversation = told(tmp_path, ONE, SAID + quoted)
    assert follow(CLAUDE, tmp_path, conversation, processes) == (conversation, None)


def test_a_copy_left_behind_counts_only_when_nobody_is_in_the_new_one(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    """Until a first message the new one has no file."""
    conversation = told(tmp_path, ONE, SAID + moved(TWO))
    roster(tmp_path, worker := processes.add("claude"))
    found, forked = follow(CLAUDE, tmp_path, conversation, processes)
    assert (found, forked and forked.is_on_disk) == (conversation, False)
    assert forked
    assert [(it.attach, it.end) for it in forked.jobs] == [(ATTACH, END)]
    processes.die(worker)
    assert follow(CLAUDE, tmp_path, conversation, processes) == (conversation, None)


def test_a_panes_own_pid_file_says_where_its_conversation_went(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    """An agent whose conversation has no line about it."""
    conversation, after = told(tmp_path, ONE), told(tmp_path, TWO)
    roster(tmp_path, processes.add("claude"))
    assert follow(CLAUDE, tmp_path, conversation, processes, "11d5b0df")[0] == after
    assert follow(CLAUDE, tmp_path, conversation, processes, "no-such")[1] is None
    assert follow(CLAUDE, tmp_path, conversation, processes)[1] is None


# From a turn


def served(processes: FakeProcesses, *paths: Path) -> ProcessId:
    return processes.add(
        "codex", "/x/bin/codex", "app-server", "--listen", open_files=[str(path) for path in paths]
    )


@pytest.mark.parametrize(
    ("text", "going_on"),
    [
        (BEGAN, True),
        (BEGAN + ENDED, False),
        (BEGAN + ABORTED, False),
        (BEGAN + ENDED + BEGAN + '{"half a li', True),
        ("", False),
    ],
)
def test_a_turn_at_a_daemon_is_reported_until_it_ends(
    tmp_path: Path, processes: FakeProcesses, text: str, going_on: bool
) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(text)
    daemon = served(processes, path)
    expected = Lingering(f"codex ({daemon.pid})", f"codex resume {ONE}, and Escape in it")
    assert found(CODEX, tmp_path, processes, path) == ([expected] if going_on else [])


def test_a_turn_that_nobody_is_in_is_over(tmp_path: Path, processes: FakeProcesses) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(BEGAN)
    served(processes, tmp_path / "other.jsonl")
    processes.add("tail", "tail", "-f", str(path), open_files=[str(path)])
    assert found(CODEX, tmp_path, processes, path) == []
    assert found(CODEX, tmp_path, processes, tmp_path / "gone.jsonl") == []


def test_a_conversation_that_cannot_be_read_has_no_open_turn(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    served(processes, tmp_path)
    assert found(CODEX, tmp_path, processes, tmp_path) == []


# While it lives: the conversation shows an open turn better than the screen

IDLE_SCREEN = "\u203a\n\n  mock \u00b7 /shop\n  ? for shortcuts"


def agent_screen(profile: Profile, known: Known, text: str) -> Screen:
    screen = read_screen(text, profile.screens, profile.marks, profile.tall)
    return with_record(screen, record_of(profile, known), ())


@pytest.mark.parametrize(
    ("text", "state"),
    [(BEGAN, State.BUSY), (BEGAN + ENDED, State.IDLE), (BEGAN + ABORTED, State.IDLE)],
)
def test_an_agent_that_streams_without_a_word_on_its_screen_is_busy(
    tmp_path: Path, text: str, state: State
) -> None:
    path = tmp_path / "rollout.jsonl"
    path.write_text(text)
    known = Known(Conversation(ONE, "argv", str(path), exists=True), Clues())
    assert agent_screen(CODEX, known, IDLE_SCREEN).state is state


def test_an_open_turn_in_any_possible_conversation_counts(tmp_path: Path) -> None:
    day = tmp_path / "sessions" / "2026" / "11" / "18"
    day.mkdir(parents=True)
    message = '{"type":"user_message"}\n'
    (day / f"rollout-x-{ONE}.jsonl").write_text(message + BEGAN + ENDED)
    (day / f"rollout-x-{TWO}.jsonl").write_text(message + BEGAN)
    known = Known(NONE, Clues(store=tmp_path), candidates=(ONE, TWO))
    assert agent_screen(CODEX, known, IDLE_SCREEN).state is State.BUSY
    assert agent_screen(CODEX, replace(known, candidates=(ONE,)), IDLE_SCREEN).state is State.IDLE


def test_sessions_below_a_shared_program_are_named(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    daemon = served(processes, tmp_path / "rollout.jsonl")
    ours, others = {"CODEX_THREAD_ID": ONE}, {"CODEX_THREAD_ID": TWO}
    shell = processes.add("sh", "-c", "sleep 77", parent=daemon, environ=ours)
    processes.add("sleep", "77", parent=shell, environ=ours)
    processes.add("sh", "-c", "sleep 88", parent=daemon, environ=others)
    long = processes.add("long", "x" * 100, parent=daemon, environ=ours)
    assert found(CODEX, tmp_path, processes) == [
        Lingering(f"`sh -c sleep 77` ({shell.pid})", f"kill {shell.pid}"),
        Lingering(f"`long {'x' * 55}` ({long.pid})", f"kill {long.pid}"),
    ]


@pytest.mark.parametrize("launched", [True, False])
def test_a_session_below_a_row_is_reached_by_the_name_of_that(
    tmp_path: Path, processes: FakeProcesses, launched: bool
) -> None:
    roster(tmp_path, processes.add("claude"), own=TWO if launched else ONE)
    (session,) = found(CLAUDE, tmp_path, processes)
    below = session.below("acme")
    if launched:
        assert below.attach == "tmuxreap attach acme/11d5b0df"
        assert below.end == "tmuxreap stop acme/11d5b0df"
    else:
        assert (below.attach, below.end) == (ATTACH, END)


@pytest.mark.parametrize(
    ("on_disk", "said"),
    [
        (True, f"which counts from now on; {ONE} lacks what was said since"),
        (False, "which is not on disk yet: nothing can be resumed while that one lives"),
    ],
)
def test_a_warning_says_which_of_two_conversations_counts(on_disk: bool, said: str) -> None:
    forked = Forked(ONE, TWO, is_on_disk=on_disk)
    assert forked.warning("acme's") == (
        f"conversation_forked: acme's agent continued {ONE} as {TWO}, {said}"
    )


def test_an_empty_copy_that_nobody_is_in_stands_for_what_it_was_copied_from(
    tmp_path: Path, processes: FakeProcesses
) -> None:
    first = told(tmp_path, ONE)
    source = f"/w/{THREE}.jsonl {first.path}"
    copy = Conversation(TWO, "pidfile")
    assert before_copy(CLAUDE, tmp_path, copy, source, processes).id == ONE
    assert before_copy(CLAUDE, tmp_path, copy, f"/w/{THREE}.jsonl", processes) == copy
    assert before_copy(CLAUDE, tmp_path, copy, "", processes) == copy
    assert before_copy(CLAUDE, None, copy, source, processes) == copy
    unknown = Conversation(None, "pidfile")
    assert before_copy(CLAUDE, tmp_path, unknown, source, processes) == unknown
    roster(tmp_path, processes.add("claude"))
    assert before_copy(CLAUDE, tmp_path, copy, source, processes) == copy
    said = told(tmp_path, TWO)
    assert before_copy(CLAUDE, tmp_path, said, source, processes) == said


def test_an_entry_without_a_conversation_is_in_each_that_it_mentions() -> None:
    job = Job("claude", Path("/store"), "1", words=f"resume {ONE}")
    assert (bond_of(job, ONE), bond_of(job, TWO)) == (Bond.SAME, None)


def test_several_lists_are_read_once(tmp_path: Path, processes: FakeProcesses) -> None:
    worker = processes.add("claude")
    stores = [tmp_path / name for name in ("one", "two")]
    for store in stores:
        store.mkdir()
        roster(store, worker)
    lists = Lists(processes, None)
    lists.read_all((CLAUDE, store) for store in stores[:1])
    (stores[0] / "daemon" / "roster.json").unlink()
    lists.read_all((CLAUDE, store) for store in stores)
    assert [len(lists.of(CLAUDE, store).listed) for store in stores] == [1, 1]
    assert lists.of(CODEX, None) == lists.of(None, stores[0]) == NO_JOBS
