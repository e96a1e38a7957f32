"""The file in which an agent's own daemon records itself, and daemons that it does not name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fake_processes import FakeClock, FakeProcesses
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.model import ProcessId
from tmuxreap.proof.daemons import Stale, record_path, replaced_by, stale_record

AGENTS = load_profiles(None).agents
SERVED = {
    "codex": ("app-server", "--listen", "unix://", "--managed-daemon"),
    "opencode": ("serve", "--service"),
}


@pytest.fixture
def processes() -> FakeProcesses:
    return FakeProcesses(FakeClock())


@pytest.fixture(params=["codex", "opencode"])
def profile(request: pytest.FixtureRequest) -> Profile:
    return AGENTS[request.param]


def begun(processes: FakeProcesses, profile: Profile, home: Path) -> ProcessId:
    environ = {"HOME": str(home)}
    processes.clock.sleep(1.0)
    return processes.add(profile.name, *SERVED[profile.name], new_session=True, environ=environ)


def written(profile: Profile, home: Path, said: object) -> Path:
    path = record_path(profile, None, None, home)
    assert path is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(said if isinstance(said, str) else json.dumps(said))
    return path


def stale(processes: FakeProcesses, profile: Profile, path: Path) -> Stale | None:
    assert profile.own_daemon is not None
    return stale_record(profile.own_daemon, path, processes)


def replaced(processes: FakeProcesses, profile: Profile, one: ProcessId) -> ProcessId | None:
    seen = processes.refresh(one)
    assert seen is not None
    return replaced_by(profile, seen, processes)


def test_the_record_of_a_living_daemon_is_right(
    profile: Profile, processes: FakeProcesses, tmp_path: Path
) -> None:
    one = begun(processes, profile, tmp_path)
    assert stale(processes, profile, written(profile, tmp_path, {"pid": one.pid})) is None


def test_a_record_of_a_process_that_is_gone_is_stale(
    profile: Profile, processes: FakeProcesses, tmp_path: Path
) -> None:
    path = written(profile, tmp_path, {"pid": 4711})
    assert stale(processes, profile, path) == Stale(path, 4711)


def test_a_pid_of_another_program_is_a_reused_one(
    profile: Profile, processes: FakeProcesses, tmp_path: Path
) -> None:
    other = processes.add("sleep", "600")
    path = written(profile, tmp_path, {"pid": other.pid})
    assert stale(processes, profile, path) == Stale(path, other.pid, other)


def test_a_record_with_another_start_time_is_stale(
    processes: FakeProcesses, tmp_path: Path
) -> None:
    """The agent sees that, too: nothing is blocked."""
    codex = AGENTS["codex"]
    one = begun(processes, codex, tmp_path)
    for start, expected in ((one.start, None), (one.start + 1, one.pid)):
        said = {"pid": one.pid, "processIdentity": {"startTicks": start}}
        path = written(codex, tmp_path, said)
        assert stale(processes, codex, path) == (expected and Stale(path, one.pid))


@pytest.mark.parametrize("said", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}', '{"pid": true}'])
def test_a_record_that_cannot_be_read_says_nothing(
    profile: Profile, processes: FakeProcesses, tmp_path: Path, said: str
) -> None:
    one = begun(processes, profile, tmp_path)
    assert stale(processes, profile, written(profile, tmp_path, said)) is None
    assert replaced(processes, profile, one) is None


def test_a_daemon_is_old_once_its_record_names_another(
    profile: Profile, processes: FakeProcesses, tmp_path: Path
) -> None:
    old = begun(processes, profile, tmp_path)
    new = begun(processes, profile, tmp_path)
    written(profile, tmp_path, {"pid": new.pid})
    assert replaced(processes, profile, old) == new
    assert replaced(processes, profile, new) is None


def test_a_daemon_that_waits_for_the_one_in_use_is_not_old(
    profile: Profile, processes: FakeProcesses, tmp_path: Path
) -> None:
    """As those of a restart do while the one before stands still."""
    in_use = begun(processes, profile, tmp_path)
    waiting = begun(processes, profile, tmp_path)
    written(profile, tmp_path, {"pid": in_use.pid})
    assert replaced(processes, profile, waiting) is None


def test_without_a_daemon_in_use_none_is_old(
    profile: Profile, processes: FakeProcesses, tmp_path: Path
) -> None:
    """Without a record, with a stale one, or with one that names a daemon of another HOME."""
    one = begun(processes, profile, tmp_path)
    assert replaced(processes, profile, one) is None
    stranger = begun(processes, profile, tmp_path / "other")
    for pid in (4711, processes.add("sleep", "600").pid, stranger.pid):
        written(profile, tmp_path, {"pid": pid})
        assert replaced(processes, profile, one) is None


def test_a_panes_own_server_is_no_shared_daemon(processes: FakeProcesses, tmp_path: Path) -> None:
    opencode = AGENTS["opencode"]
    new = begun(processes, opencode, tmp_path)
    environ = {"HOME": str(tmp_path)}
    own = processes.add("opencode", "serve", "--port", "0", environ=environ)
    written(opencode, tmp_path, {"pid": new.pid})
    assert replaced(processes, opencode, own) is None


def test_the_folder_comes_from_the_daemons_own_environment() -> None:
    environ = {"XDG_STATE_HOME": "/state", "HOME": "/home/me"}
    found = record_path(AGENTS["opencode"], environ, None, None)
    assert found == Path("/state/opencode/service.json")
    assert record_path(AGENTS["gemini"], environ, None, None) is None
