"""The list of an agent's own server: what it says on loopback, and which servers are asked.
`tests/live/test_served.py` has real processes."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests import stub_server
from tests.background import ONE, TWO
from tests.fake_processes import FakeClock, FakeProcesses
from tests.served import BACKGROUND, HTTP, STATE
from tmuxreap.agents.conversations.jobs import NO_JOBS, Jobs
from tmuxreap.agents.conversations.lists import Serving, end_served, read_jobs
from tmuxreap.agents.load import load_profiles
from tmuxreap.agents.profiles import Profile
from tmuxreap.agents.screens import State
from tmuxreap.core.model import ProcessId

WORDS = ("demo-server", "stub_server.py", "http")
PASSWORD = "a password"
BEGAN = 1_795_000_000.5


class Served:
    """A server on loopback, which its simulated process listens for."""

    def __init__(self, folder: Path, **server: Any) -> None:
        self.store = folder / "store"
        self.store.mkdir()
        self.processes = FakeProcesses(FakeClock())
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), stub_server.Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.address = ("127.0.0.1", self.http.server_port)
        self.process = self.add(*WORDS)
        block = {**BACKGROUND, "state": STATE["http"], "server": {**HTTP, **server}}
        file = folder / "agents.yaml"
        file.write_text(json.dumps({"agents": {"demo": {"background": block}}}))
        self.profile: Profile = load_profiles(file).agents["demo"]

    def add(self, *words: str, store: Path | None = None, **environ: str) -> ProcessId:
        """Begin a process that listens there."""
        own = {"TMUXREAP_DEMO_HOME": str(store or self.store), "DEMO_PASSWORD": PASSWORD}
        process = self.processes.add(*words, new_session=True, environ={**own, **environ})
        self.processes.listening[process.pid] = [self.address]
        return process

    def begin(self, number: str = "s1", **told: Any) -> None:
        one = {"own": ONE, "directory": "/work", "type": "busy", **told}
        working = stub_server.read(stub_server.WORKING)
        stub_server.write(stub_server.WORKING, {**working, number: one})

    def read(self) -> Jobs:
        return read_jobs(self.profile, self.store, self.processes)


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    found = Served(tmp_path)
    monkeypatch.setattr(stub_server, "STORE", found.store)
    for name in ("WORKING", "ASKED", "LOCK"):
        monkeypatch.setattr(stub_server, name, found.store / getattr(stub_server, name).name)
    monkeypatch.setattr(stub_server, "PASSWORD", PASSWORD)
    yield found
    found.http.shutdown()
    found.http.server_close()


def test_a_session_at_work_is_listed_with_all_that_its_server_says(served: Served) -> None:
    served.begin(copied=TWO, launched_by="their parent", time={"created": BEGAN * 1000})
    found = served.read()
    assert (found.daemon, found.is_known) == (served.process.pid, True)
    (job,) = found.listed
    assert (job.seat, job.conversation, job.folder) == ("demo:s1", ONE, "/work")
    assert (job.source, job.parents, job.began) == (TWO, ("their parent",), BEGAN)
    assert (job.server, job.address, job.lives) == (served.process, served.address, True)
    assert job.url == f"http://127.0.0.1:{served.http.server_port}"
    assert (job.state, job.asks) == (State.BUSY, "")


def test_a_session_that_asks_says_what(served: Served) -> None:
    served.begin("s1", asks="may I?")
    served.begin("s2", time={"created": 17})
    first, second = served.read().listed
    assert (first.state, first.asks, first.began) == (State.DIALOG, "may I?", None)
    assert (second.state, second.asks, second.began) == (State.BUSY, "", 17.0)


@pytest.mark.parametrize(
    "told", [{"type": "idle"}, {"type": 7}, {"own": "../x"}], ids=["idle", "number", "no ID"]
)
def test_an_entry_that_is_no_work_is_no_session(served: Served, told: dict[str, Any]) -> None:
    served.begin(**told)
    found = served.read()
    assert found.is_known
    assert [job.conversation for job in found.listed] == ([None] if "own" in told else [])


@pytest.mark.parametrize("number", ["S1", "x", "s1/abort"])
def test_an_invalid_id_is_not_asked_for(served: Served, number: str) -> None:
    served.begin(number)
    assert served.read().listed == ()


@pytest.mark.parametrize(("page", "is_known"), [([], True), (["s1"], True), ("hello", True)])
def test_an_answer_in_another_form_is_no_work(served: Served, page: object, is_known: bool) -> None:
    stub_server.write(served.store / "mode.json", {"page": page})
    found = served.read()
    assert (found.listed, found.is_known) == ((), is_known)


def test_a_server_that_refuses_the_password_is_unknown(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.begin()
    monkeypatch.setattr(stub_server, "PASSWORD", "another")
    assert served.read() == Jobs(is_known=False)


def test_a_server_that_is_gone_has_no_sessions(served: Served) -> None:
    served.begin()
    served.processes.die(served.process)
    assert served.read() == NO_JOBS


@pytest.mark.parametrize("why", ["its name", "its words", "its store", "its port"])
def test_only_a_proven_server_of_this_store_is_asked(
    served: Served, why: str, tmp_path: Path
) -> None:
    served.begin()
    served.processes.die(served.process)
    other = {
        "its name": lambda: served.add("other-server", *WORDS[1:]),
        "its words": lambda: served.add("demo-server", "stub_server.py", "help"),
        "its store": lambda: served.add(*WORDS, store=tmp_path),
        "its port": lambda: served.add(*WORDS),
    }[why]()
    if why == "its port":
        served.processes.listening.clear()
    assert served.read() == NO_JOBS
    assert served.processes.alive(other)
    assert not stub_server.ASKED.exists()


def test_all_servers_of_a_store_are_asked(served: Served) -> None:
    served.begin()
    other = served.add(*WORDS)
    found = served.read()
    assert {job.server for job in found.listed} == {served.process, other}
    assert found.daemon == served.process.pid
    third = served.add(*WORDS, DEMO_PASSWORD="another")
    found = served.read()
    assert (len(found.listed), found.is_known) == (2, False)
    assert served.processes.alive(third)


def test_work_is_ended_by_a_call_to_its_server(served: Served) -> None:
    served.begin()
    (job,) = served.read().listed
    assert end_served(served.profile, job, served.processes, 5.0) is None
    asked = [json.loads(line)["asked"] for line in stub_server.ASKED.read_text().splitlines()]
    assert asked[-1] == "POST /session/s1/abort"


def test_a_server_that_no_longer_listens_gets_no_call(served: Served) -> None:
    served.begin()
    (job,) = served.read().listed
    before = stub_server.ASKED.read_text()
    served.processes.die(served.process)
    why = end_served(served.profile, job, served.processes, 5.0)
    assert why is not None
    assert why.startswith("its server: ")
    assert stub_server.ASKED.read_text() == before


def test_an_address_of_six_parts_stands_in_brackets(served: Served) -> None:
    server = served.profile.own_server
    assert server is not None
    one = Serving(served.profile, server, served.store, served.process, ("::1", 80))
    assert one.url == "http://[::1]:80"
    assert Serving(served.profile, server, served.store).url == ""
