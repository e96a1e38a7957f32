"""The editor that gets an agent's draft: which one, and with which file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fakes import FakeClock, FakeProcesses
from tmuxreap.agents.load import load_profiles
from tmuxreap.core.model import Process, ProcessId
from tmuxreap.core.values import replace
from tmuxreap.sessions.editors import in_front_of, may_open, opened

TTY = 5
TERMINAL = "/dev/pts/3"
DEMO = load_profiles(None).agents["demo"]


class Machine:
    def __init__(self, **environ: str) -> None:
        self.processes = FakeProcesses(FakeClock())
        self.agent = self.processes.add("agent", environ=environ, tty=TTY, foreground=True)

    @property
    def keyed(self) -> tuple[Process, ...]:
        return (self.processes.look()[self.agent.pid],)

    def given_to(self) -> Process | None:
        return in_front_of(self.processes, self.keyed, self.processes.look().values(), {"less"})

    def may(self, store: Path | None = None, found: str | None = None) -> bool:
        pattern = re.compile(found) if found else None
        profile = replace(DEMO, editor_file="settings.json", editor_set=pattern)
        return may_open(self.processes, self.keyed, profile, store)

    def edits(self, *argv: str, parent: ProcessId | None = None) -> ProcessId:
        name = argv[0].rpartition("/")[2]
        return self.processes.add(name, *argv, parent=parent or self.agent, reads=TERMINAL)


@pytest.mark.parametrize(
    ("environ", "may"),
    [
        ({"EDITOR": "vi"}, True),
        ({"EDITOR": "/usr/bin/nvim -u NONE"}, True),
        ({"VISUAL": "nano", "EDITOR": "code --wait"}, True),
        ({"VISUAL": "code --wait", "EDITOR": "vi"}, False),
        ({"VISUAL": "", "EDITOR": "vi"}, True),
        ({"EDITOR": "gvim"}, False),
        ({}, False),
    ],
)
def test_only_an_editor_that_draws_in_its_terminal_is_opened(
    environ: dict[str, str], may: bool
) -> None:
    assert Machine(**environ).may() is may


def test_no_editor_is_opened_when_the_agents_settings_name_one(tmp_path: Path) -> None:
    machine = Machine(EDITOR="vi")
    assert machine.may(tmp_path, "preferredEditor")
    (tmp_path / "settings.json").write_text('{"preferredEditor": "vscode"}')
    assert not machine.may(tmp_path, "preferredEditor")
    assert machine.may(tmp_path)


def test_no_second_editor_is_opened() -> None:
    machine = Machine(EDITOR="vi")
    machine.edits("vi", "/etc/motd")
    assert not machine.may()


def test_an_editor_below_the_agent_shows_the_draft_that_it_was_given(tmp_path: Path) -> None:
    machine, file = Machine(), tmp_path / "prompt.md"
    file.write_text("one\ntwo")
    machine.processes.add("vi", "vi", str(file))  # an unrelated one
    assert opened(machine.processes, machine.keyed) is None
    shell = machine.processes.add("sh", "sh", "-c", f"vi {file}", parent=machine.agent)
    editor = machine.edits("/usr/bin/vi", "+2", str(file), parent=shell)
    found = opened(machine.processes, machine.keyed)
    assert found is not None
    assert (found.editor, found.text) == (editor, "one\ntwo")


@pytest.mark.parametrize("argv", [("vi",), ("vi", "relative.md"), ("vi", "/no/such/file")])
def test_an_editor_without_a_file_does_not_count(argv: tuple[str, ...]) -> None:
    machine = Machine()
    machine.edits(*argv)
    assert opened(machine.processes, machine.keyed) is None


def test_a_file_that_vanishes_during_the_look_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, file = Machine(), tmp_path / "prompt.md"
    file.write_text("one")
    machine.edits("vi", str(file))

    def gone(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", gone)
    assert opened(machine.processes, machine.keyed) is None


def test_an_editor_that_exits_during_the_look_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    machine = Machine()
    editor = machine.edits("vi", "/etc/motd")
    command_lines = iter([("vi", "/etc/motd")])
    words = {editor: lambda: next(command_lines, ())}
    monkeypatch.setattr(machine.processes, "argv", lambda one: words.get(one, tuple)())
    assert opened(machine.processes, machine.keyed) is None


def test_an_editor_in_another_terminal_does_not_count(tmp_path: Path) -> None:
    """One that a tool runs in a terminal of its own."""
    machine, file = Machine(), tmp_path / "prompt.md"
    file.write_text("one")
    machine.processes.add("vi", str(file), parent=machine.agent, tty=6, new_session=True)
    assert opened(machine.processes, machine.keyed) is None
    assert machine.given_to() is None


@pytest.mark.parametrize("program", ["vi", "less", "emacs", "pen"])
def test_a_program_that_takes_keys_has_the_terminal(program: str) -> None:
    machine = Machine(VISUAL="/usr/bin/pen --wait")
    pid = machine.edits(program).pid
    found = machine.given_to()
    assert found is not None
    assert found.pid == pid


@pytest.mark.parametrize(("program", "reads"), [("vi", "pipe:[77]"), ("sleep", TERMINAL)])
def test_a_program_without_keys_or_of_another_kind_has_no_terminal(
    program: str, reads: str
) -> None:
    machine = Machine()
    machine.processes.add(program, parent=machine.agent, reads=reads)
    assert machine.given_to() is None


def test_a_program_in_the_background_has_no_terminal() -> None:
    machine = Machine()
    machine.processes.add("vi", parent=machine.agent, reads=TERMINAL, new_group=True)
    assert machine.given_to() is None
