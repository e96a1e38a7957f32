"""Finding the conversation: every source, and the order of trust."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from pathlib import Path

import pytest

from tmuxreap.agents.conversations import find
from tmuxreap.agents.conversations.find import (
    NONE,
    AgentProcess,
    Clues,
    is_id,
    locate,
    more_trusted,
    with_path,
    wrote_nothing,
)
from tmuxreap.agents.conversations.records import pid_file_word, store_of
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import Screen, State, read_screen
from tmuxreap.core.model import ProcessId
from tmuxreap.core.results import Conversation
from tmuxreap.core.values import replace
from tmuxreap.proof.state import with_record
from tmuxreap.sessions.conversation import Known, record_of

DEMO = load_profiles(None).agents["demo"]
AGY = load_profiles(None).agents["agy"]
ONE = "11111111-6d0c-4f63-9b53-1d5f0c6f2a11"
TWO = "22222222-6d0c-4f63-9b53-1d5f0c6f2a11"
THREE = "33333333-6d0c-4f63-9b53-1d5f0c6f2a11"
AGENT = AgentProcess(
    ProcessId(42, 777), ("python3", "-m", "tmuxreap.demo_agent", "--session-id", ONE), 1000.0
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for folder in ("sessions", "conversations"):
        (tmp_path / folder).mkdir()
    return tmp_path


def talk(store: Path, conversation: str, cwd: str = "/w", at: float = 2000.0) -> Path:
    path = store / "conversations" / f"{conversation}.jsonl"
    path.write_text(json.dumps({"role": "user", "text": "hi", "cwd": cwd}) + "\n")
    os.utime(path, (at, at))
    return path


def pidfile(
    store: Path, conversation: str, start: object = "777", pid: int = 42, status: str = "idle"
) -> None:
    facts = {"sessionId": conversation, "procStart": start, "status": status}
    (store / "sessions" / f"{pid}.json").write_text(json.dumps(facts))


def found(clues: Clues, profile: Profile = DEMO) -> tuple[str | None, str | None]:
    conversation = locate(profile, clues).conversation
    return conversation.id, conversation.source


def test_the_most_trusted_source_names_the_conversation(store: Path) -> None:
    banner = f"Resume this conversation with: tmuxreap-demo --resume {TWO}\n"
    clues = Clues((AGENT,), store=store, banner=banner, launched=THREE, cwd="/w")
    pidfile(store, ONE)
    assert found(clues) == (ONE, "pidfile")
    (store / "sessions" / "42.json").unlink()
    assert found(clues) == (TWO, "exit-banner")
    assert found(replace(clues, banner=None)) == (THREE, "launch")
    assert found(replace(clues, banner=None, launched=None)) == (ONE, "argv")


@pytest.mark.parametrize("start", ["778", None, "this-boot:7777"])
def test_a_pid_file_of_another_process_is_ignored(store: Path, start: object) -> None:
    pidfile(store, TWO, start)
    assert found(Clues((AGENT,), store=store)) == (ONE, "argv")


def test_a_start_may_come_after_the_boot(store: Path) -> None:
    pidfile(store, TWO, "some-boot:777")
    assert found(Clues((AGENT,), store=store)) == (TWO, "pidfile")


@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "\xff"])
def test_a_broken_file_says_nothing(store: Path, text: str) -> None:
    (store / "sessions" / "42.json").write_text(text, encoding="latin-1")
    assert found(Clues((AGENT,), store=store)) == (ONE, "argv")


@pytest.mark.parametrize(
    "hostile", ["../../etc/passwd", "*", "", ".", "a/b", ONE + "/x", "x" * 40, ONE[:-1] + "\0"]
)
def test_a_hostile_id_is_rejected(store: Path, hostile: str) -> None:
    pidfile(store, hostile)
    assert not is_id(DEMO, hostile)
    assert found(Clues((AGENT,), store=store)) == (ONE, "argv")


def test_the_last_banner_counts() -> None:
    banner = f"tmuxreap-demo --resume {ONE}\n$ again\ntmuxreap-demo --resume {TWO}\n"
    assert found(Clues(banner=banner)) == (TWO, "exit-banner")


def test_open_files_name_the_conversation() -> None:
    held = f"/home/x/.gemini/antigravity-cli/presence/{ONE}.lock"
    assert found(Clues(open_files=("/dev/null", held)), AGY) == (ONE, "open-file")
    held = f"/home/x/.codex/thread-writer-locks/{ONE}.lock"
    codex = load_profiles(None).agents["codex"]
    assert found(Clues(open_files=("/dev/null", held)), codex) == (ONE, "open-file")


@pytest.mark.parametrize("argv", [("a", "--resume", TWO), ("a", f"--resume={TWO}")])
def test_the_id_is_found_after_a_flag_with_or_without_a_sign(argv: tuple[str, ...]) -> None:
    assert found(Clues((replace(AGENT, argv=argv),))) == (TWO, "argv")


@pytest.mark.parametrize("argv", [(), ("a",), ("a", "--resume")])
def test_without_an_id_a_command_line_says_nothing(argv: tuple[str, ...]) -> None:
    """Nor does a process that exited since and has no command line."""
    assert found(Clues((replace(AGENT, argv=argv),))) == (None, None)


def test_two_answers_are_listed_and_none_is_chosen() -> None:
    other = AgentProcess(ProcessId(43, 1), ("a", "--resume", TWO), 1000.0)
    located = locate(DEMO, Clues((AGENT, other)))
    assert (located.conversation, located.candidates) == (NONE, (ONE, TWO))


# The sole candidate


def bare() -> AgentProcess:
    return replace(AGENT, argv=("python3", "-m", "tmuxreap.demo_agent"))


def test_the_only_conversation_of_the_folder_since_the_start_is_found(store: Path) -> None:
    talk(store, ONE)
    talk(store, TWO, cwd="/elsewhere")
    talk(store, THREE, at=999.0)
    assert found(Clues((bare(),), store=store, cwd="/w")) == (ONE, "sole-candidate")


def test_two_candidates_are_no_answer(store: Path) -> None:
    talk(store, ONE)
    talk(store, TWO)
    located = locate(DEMO, Clues((bare(),), store=store, cwd="/w"))
    assert (located.conversation, set(located.candidates)) == (NONE, {ONE, TWO})


def test_a_folder_with_a_similar_name_is_not_the_same(store: Path) -> None:
    talk(store, ONE, cwd="/w/a-b")
    assert found(Clues((bare(),), store=store, cwd="/w/a/b")) == (None, None)


def test_without_the_agent_nothing_is_guessed(store: Path) -> None:
    talk(store, ONE)
    assert found(Clues(store=store, cwd="/w")) == (None, None)


def test_the_start_in_the_row_counts_when_the_agent_is_gone(store: Path) -> None:
    talk(store, ONE, at=2000.0)
    assert found(Clues(store=store, cwd="/w", since=1000.0)) == (ONE, "sole-candidate")
    assert found(Clues(store=store, cwd="/w", since=3000.0)) == (None, None)


def test_a_file_named_after_part_of_an_id_yields_the_whole_id(tmp_path: Path) -> None:
    gemini = load_profiles(None).agents["gemini"]
    for slug, folder, one in (("shop", "/w", ONE), ("other", "/elsewhere", TWO)):
        chats = tmp_path / "tmp" / slug / "chats"
        chats.mkdir(parents=True)
        (chats.parent / ".project_root").write_text(folder)
        message = '{"id":"d0","type":"user","content":[{"text":"hello"}]}'
        (chats / f"session-1-{one[:8]}.jsonl").write_text(f'{{"sessionId":"{one}"}}\n{message}\n')
    match = locate(gemini, Clues((bare(),), store=tmp_path, cwd="/w")).conversation
    assert (match.id, match.source, match.exists) == (ONE, "sole-candidate", True)


def test_a_conversation_that_another_agent_may_have_written_is_not_taken(store: Path) -> None:
    talk(store, ONE)
    located = locate(DEMO, Clues((bare(),), store=store, cwd="/w", rivals=lambda: True))
    assert (located.conversation, located.candidates) == (NONE, (ONE,))


def test_a_pidfile_spares_the_search_for_rivals(store: Path) -> None:
    pidfile(store, ONE)
    assert found(
        Clues((AGENT,), store=store, rivals=lambda: pytest.fail("nobody needed to look"))
    ) == (ONE, "pidfile")


def test_only_an_agent_with_known_files_is_sure_to_have_written_none(
    store: Path,
) -> None:
    talk(store, ONE, at=500.0)
    clues = Clues((AGENT,), store=store)
    assert wrote_nothing(DEMO, clues)
    assert not wrote_nothing(DEMO, Clues((AGENT,)))
    assert not wrote_nothing(DEMO, Clues(store=store))
    assert not wrote_nothing(replace(DEMO, artifact=None), clues)
    talk(store, TWO, at=2000.0)
    assert not wrote_nothing(DEMO, clues)


def test_a_store_of_ten_thousand_is_looked_through(store: Path) -> None:
    folder = store / "conversations"
    old = talk(store, TWO, at=1.0)
    for number in range(10_000):
        os.link(old, folder / f"{number:08x}-6d0c-4f63-9b53-1d5f0c6f2a11.jsonl")
    talk(store, ONE)
    assert found(Clues((bare(),), store=store, cwd="/w")) == (ONE, "sole-candidate")


def test_no_conversation_is_guessed_in_a_store_too_big_to_search(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "MAX_CANDIDATES", 2)
    talk(store, ONE)
    assert found(Clues((bare(),), store=store, cwd="/w")) == (ONE, "sole-candidate")
    talk(store, TWO, at=1.0)
    assert found(Clues((bare(),), store=store, cwd="/w")) == (None, None)


# Conversations in a database

OPENCODE = load_profiles(None).agents["opencode"]
# On disk


def test_an_agent_with_unknown_messages_promises_no_empty_conversation(
    store: Path,
) -> None:
    """For such an agent the file must at least contain something."""
    mute = replace(DEMO, message=None)
    path = talk(store, ONE)
    path.write_text("")
    assert not with_path(mute, store, ONE, "argv").exists


def test_a_conversation_exists_only_with_a_message(store: Path) -> None:
    path = talk(store, ONE)
    assert with_path(DEMO, store, ONE, "argv") == Conversation(ONE, "argv", str(path), exists=True)
    path.write_text("")
    assert not with_path(DEMO, store, ONE, None).exists
    path.write_text('{"role": "assistant", "text": "hi"}\n')
    assert not with_path(DEMO, store, ONE, None).exists
    path.write_text('{"role": "user", "text": "half a li')
    assert not with_path(DEMO, store, ONE, None).exists
    path.write_text('{"role": "user", "text": "x"}\n{"half a li')
    assert with_path(DEMO, store, ONE, None).exists


@pytest.mark.parametrize("kind", ["missing", "a file", "a fifo", "a loop"])
def test_a_store_that_is_missing_says_nothing(tmp_path: Path, kind: str) -> None:
    store = tmp_path / "store"
    if kind == "a file":
        store.write_text("x")
    elif kind == "a loop":
        store.symlink_to(store)
    elif kind == "a fifo":
        for folder in ("sessions", "conversations"):
            (store / folder).mkdir(parents=True)
        os.mkfifo(store / "sessions" / "42.json")  # opening it would block forever
        os.mkfifo(store / "conversations" / f"{ONE}.jsonl")
    clues = Clues((AGENT,), store=store, cwd="/w")
    assert found(clues) == (ONE, "argv")
    assert found(replace(clues, agents=(bare(),))) == (None, None)
    assert not with_path(DEMO, store, ONE, None).exists


def test_the_conversation_of_another_agent_is_not_taken(store: Path) -> None:
    talk(store, TWO)
    assert not with_path(DEMO, store, ONE, None).exists
    assert not with_path(DEMO, None, TWO, None).exists
    assert not with_path(DEMO, store, "*", None).exists


# Two looks


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ((ONE, "argv"), (None, None), ONE),
        ((None, None), (TWO, "exit-banner"), TWO),
        ((ONE, "pidfile"), (TWO, "exit-banner"), ONE),
        ((ONE, "argv"), (TWO, "exit-banner"), TWO),
        ((ONE, "exit-banner"), (TWO, "exit-banner"), TWO),
        ((ONE, "odd"), (TWO, "argv"), TWO),
    ],
)
def test_a_good_id_is_never_replaced_by_nothing_nor_by_a_guess(
    before: tuple[str | None, str | None], after: tuple[str | None, str | None], kept: str
) -> None:
    def of(pair: tuple[str | None, str | None]) -> Conversation:
        return Conversation(*pair, path=None, exists=False)

    assert more_trusted(of(before), of(after)).id == kept


# The store


def test_the_store_follows_the_agents_own_environment(tmp_path: Path) -> None:
    assert store_of(DEMO, {"TMUXREAP_DEMO_HOME": "/s"}, "/recorded", tmp_path) == Path("/s")
    assert store_of(DEMO, {"HOME": "/h"}, "/recorded", tmp_path) == Path("/h/.tmuxreap-demo")
    assert store_of(DEMO, None, "/recorded", tmp_path) == Path("/recorded")
    assert store_of(DEMO, None, None, tmp_path) == tmp_path / ".tmuxreap-demo"
    assert store_of(DEMO, None, None, None) is None
    assert store_of(DEMO, {}, None, None) is None, "no HOME anywhere"
    assert store_of(OPENCODE, {"XDG_DATA_HOME": "/d"}, None, tmp_path) == Path("/d/opencode")
    assert store_of(OPENCODE, {"HOME": "/h"}, None, tmp_path) == Path("/h/.local/share/opencode")
    assert store_of(replace(DEMO, store_default=None), {}, None, tmp_path) is None


def test_a_pid_file_gives_the_agents_own_word_on_its_state(store: Path) -> None:
    pidfile(store, ONE, status="waiting")
    assert pid_file_word(DEMO, store, (AGENT.id,), "state") == "waiting"
    assert pid_file_word(DEMO, store, (), "state") is None
    assert pid_file_word(AGY, store, (AGENT.id,), "state") is None


def agent_screen(profile: Profile, known: Known, text: str) -> Screen:
    screen = read_screen(text, profile.screens, profile.marks, profile.tall)
    return with_record(screen, record_of(profile, known), ())


def test_a_background_shell_is_no_state_and_matters_for_the_exit_alone(store: Path) -> None:
    pidfile(store, ONE, status="shell")
    known = Known(NONE, Clues((AGENT,), store=store))
    screen = agent_screen(DEMO, known, "demo agent\n\n> half")
    assert screen == Screen(State.DRAFT, "half", background=True)


def test_a_dialog_on_the_screen_stands_whatever_else_the_agent_says(store: Path) -> None:
    pidfile(store, ONE, status="busy")
    known = Known(NONE, Clues((AGENT,), store=store))
    asks = "╭────╮\n│ Allow it? [Enter] yes  [Esc] no │\n╰────╯"
    assert agent_screen(DEMO, known, asks).state is State.DIALOG
    assert agent_screen(DEMO, known, "demo agent\n\n>").state is State.BUSY


def test_a_database_of_unknown_form_without_a_row_is_no_conversation(tmp_path: Path) -> None:
    """For an agent whose profile has no pattern for a message."""
    (tmp_path / "conversations").mkdir()
    path = tmp_path / "conversations" / f"{ONE}.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE steps (data)")
        db.execute("CREATE TABLE schema_migrations (version)")
        db.execute("INSERT INTO schema_migrations VALUES (1)")
        db.commit()
        assert not with_path(AGY, tmp_path, ONE, None).exists
        db.execute("INSERT INTO steps VALUES ('hello')")
        db.commit()
    assert with_path(AGY, tmp_path, ONE, None).exists


def test_the_history_of_a_folder_is_its_conversation(tmp_path: Path) -> None:
    """A history not written since the agent started belongs to an earlier agent."""
    aider = load_profiles(None).agents["aider"]
    history = tmp_path / ".aider.chat.history.md"
    history.write_text("\n#### hello  \n")
    clues = Clues((AGENT,), store=tmp_path, cwd=str(tmp_path))
    conversation = locate(aider, clues).conversation
    assert (conversation.id, conversation.path) == (history.name, str(history))
    assert conversation.exists
    os.utime(history, (999.0, 999.0))
    assert found(clues, aider) == (None, None)
    history.write_text("# aider chat started at 2026-11-19\n")
    assert not with_path(aider, tmp_path, history.name, None).exists
