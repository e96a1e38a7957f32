"""Sessions in the demo agent's own daemon, on simulated processes: what the daemon's list says, and
what each verb makes of it. `tests/live/test_background.py` has a real daemon."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.background import BACKGROUND, MOVED, ONE, PIDFILE, TWO
from tests.commands.reconcile.test_disturbed import begun
from tests.fakes import CONVERSATION, FakeAgent, Story
from tests.schemas import checked
from tmuxreap.agents.conversations import lists
from tmuxreap.commands import adopt, attach, interrupt, resume, start, stop
from tmuxreap.commands import list as listing
from tmuxreap.commands.reconcile import reconcile
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.model import EndVerb, ProcessId
from tmuxreap.core.results import Result
from tmuxreap.ending import own_ends
from tmuxreap.ending.policy import Policy

SPARE = {"program": "stub daemon", "command": r"stub_daemon\.py daemon"}
ATTACH = ["demo-agent", "attach", "{id}"]
CHILD = "33333333-6d0c-4f63-9b53-1d5f0c6f2a11"


class Daemon:
    """A daemon of the demo agent, and its list."""

    def __init__(self, story: Story, **block: object) -> None:
        self.story = story
        background = {**BACKGROUND, "attach": ATTACH, "end": ["true"], **block}
        demo = {
            "spare": [SPARE],
            "background": background,
            "conversation": {"locators": [PIDFILE, "launch"], "goes_on": {"moved": MOVED}},
        }
        folder = story.folder / ".config" / "tmuxreap"
        folder.mkdir(parents=True)
        (folder / "agents.yaml").write_text(json.dumps({"agents": {"demo": demo}}))
        story.store.mkdir(exist_ok=True)
        environ = {"TMUXREAP_DEMO_HOME": str(story.store)}
        words = ("python3", "stub_daemon.py", "daemon")
        self.process = story.processes.add(*words, new_session=True, environ=environ)
        self.workers: dict[str, dict[str, object]] = {}
        self.write()

    def write(self) -> None:
        said = {"daemon": self.process.pid, "workers": self.workers}
        (self.story.store / "roster.json").write_text(json.dumps(said))

    def begin(self, number: str = "w1", own: str = ONE, **told: object) -> ProcessId:
        """Begin a session; return its process."""
        processes = self.story.processes
        one = processes.add("python3", "stub_daemon.py", "worker", parent=self.process)
        self.workers[number] = {"pid": one.pid, "start": one.start, "own": own, "cwd": "/", **told}
        self.write()
        return one

    def ended(self, number: str = "w1") -> None:
        """The daemon says that it is over."""
        file = self.story.store / "jobs" / number / "state.json"
        file.parent.mkdir(parents=True)
        file.write_text('{"state": "stopped"}')


@pytest.fixture
def daemon(story: Story) -> Daemon:
    return Daemon(story)


def recorded(story: Story, process: ProcessId, name: str = "acme", **more: object) -> None:
    """Add the row of such a session, as `adopt --background` writes it."""
    story.add_row(
        {
            "name": name,
            "status": "running",
            "agent": "demo",
            "terminal": "background",
            "demo_conversation_id_own": ONE,
            "store": str(story.store),
            "pane": {"id": "w1", "pid": process.pid, "start_ticks": process.start, "cwd": "/"},
            "tmux": {"host": story.HOST, "boot_id": story.BOOT},
            **more,
        }
    )


def listed(story: Story, *targets: str, tree: bool = False) -> Result:
    return listing.run(story.app(), listing.ListRequest(targets, tree=tree))


def the_one(story: Story) -> dict[str, Any]:
    (item,) = listed(story, "acme").results
    return item.as_json()


def adopted(story: Story, name: str = "acme", seat: str = "demo:w1") -> dict[str, Any]:
    wish = adopt.AdoptRequest(name, background=seat)
    (item,) = checked(adopt.run(story.app(), wish)).results
    return item.as_json()


def ending(story: Story, *targets: str, **more: Any) -> list[dict[str, Any]]:
    request = stop.EndRequest(targets, Policy(EndVerb.STOP, "manual_stop"), **more)
    return [item.as_json() for item in checked(stop.run(story.app(), request)).results]


def test_a_session_of_a_daemon_is_unregistered_until_it_is_adopted(
    story: Story, daemon: Daemon
) -> None:
    story.agent("other", conversation=TWO)  # its store has the list
    process = daemon.begin()
    command = "tmuxreap adopt demo-w1 --background demo:w1"
    (told,) = listed(story).more["unregistered"]
    assert told == {"name": "demo-w1", "agent": "demo", "command": command}
    adopted(story)
    row: Any = story.row()
    assert (row["terminal"], row["pane"]["id"], row["pane"]["pid"]) == (
        "background",
        "w1",
        process.pid,
    )
    assert row["pane"]["created_epoch"] == story.processes.started_epoch(process)
    assert (row["pane"]["cwd"], row["demo_conversation_id_own"]) == ("/", ONE)
    assert listed(story).more["unregistered"] == []
    one = the_one(story)
    assert (one["live"], one["seat"], one["pid"]) == ("alive", "demo:w1", process.pid)


@pytest.mark.parametrize(
    ("seat", "message"),
    [
        ("demo:w2", "the list of demo has no living session 'w2'"),
        ("claude:w1", "the list of claude has no living session 'w1'"),
        ("aider:w1", "'aider' is no agent with a daemon of its own"),
        ("nobody:w1", "'nobody' is no agent with a daemon of its own"),
    ],
)
def test_an_adopt_names_why_there_is_no_such_session(
    story: Story, daemon: Daemon, seat: str, message: str
) -> None:
    daemon.begin()
    with pytest.raises(Failure, match=message):
        adopted(story, seat=seat)
    assert "acme" not in story.path.read_text()


def test_a_session_of_another_row_is_not_adopted(story: Story, daemon: Daemon) -> None:
    recorded(story, daemon.begin())
    with pytest.raises(Failure, match="the session demo:w1 is that of acme") as refused:
        adopted(story, "other")
    assert refused.value.hint == "see it with: tmuxreap show acme"
    assert refused.value.code is Code.SESSION_EXISTS


@pytest.mark.parametrize("words", ["{", "[]"])
def test_a_list_that_cannot_be_read_is_no_list_without_sessions(
    story: Story, daemon: Daemon, words: str
) -> None:
    recorded(story, daemon.begin())
    (story.store / "roster.json").write_text(words)
    one = the_one(story)
    assert (one["live"], one["status"]) == ("unknown", "running")
    with pytest.raises(Failure, match="the list of demo's own daemon could not be read") as refused:
        adopted(story, "other")
    assert refused.value.code is Code.TMUX_UNREACHABLE
    reconcile.run(story.app())
    assert story.row()["status"] == "running"


def test_a_session_that_its_daemon_may_bring_back_lives(story: Story, daemon: Daemon) -> None:
    process = daemon.begin()
    recorded(story, process)
    story.processes.die(process)
    assert the_one(story)["live"] == "alive"
    daemon.ended()
    assert the_one(story)["live"] == "gone"


def test_a_session_without_its_daemon_is_gone_with_its_process(
    story: Story, daemon: Daemon
) -> None:
    process = daemon.begin()
    recorded(story, process)
    story.processes.die(daemon.process)
    assert the_one(story)["live"] == "alive"
    story.processes.die(process)
    assert the_one(story)["live"] == "gone"
    assert listed(story).more["unregistered"] == []


def test_a_session_that_is_no_longer_listed_is_gone(story: Story, daemon: Daemon) -> None:
    process = daemon.begin()
    recorded(story, process)
    assert the_one(story)["drift"] is None
    daemon.workers.clear()
    daemon.write()
    assert the_one(story)["drift"] == "survivors"
    story.processes.die(process)
    assert (the_one(story)["live"], the_one(story)["drift"]) == ("gone", "dead")


def test_the_process_of_a_session_is_the_one_that_its_daemon_started_last(
    story: Story, daemon: Daemon
) -> None:
    recorded(story, daemon.begin())
    again = daemon.begin()
    assert the_one(story)["pid"] == again.pid


def test_a_session_that_a_row_launched_is_listed_below_it(story: Story, daemon: Daemon) -> None:
    agent = story.agent()
    daemon.begin("w1", own=CHILD, launched_by=agent.conversation)
    daemon.begin("w2", own=TWO)
    told = [item.as_json() for item in listed(story, tree=True).results]
    assert [(one["name"], one["parent"], one["depth"]) for one in told] == [
        ("acme", None, 0),
        ("acme/w1", "acme", 1),
    ]
    plans = ending(story, "tree:acme", dry_run=True)
    assert [one["name"] for one in plans] == ["acme", "acme/w1"]
    assert [one["name"] for one in ending(story, "acme/w1", dry_run=True)] == ["acme/w1"]


def test_the_newest_of_several_rows_is_the_parent(story: Story, daemon: Daemon) -> None:
    for name in ("old", "new"):
        story.agent(name)
    daemon.begin(own=CHILD, launched_by=story.agents["new"].conversation)
    told = [item.as_json()["name"] for item in listed(story, tree=True).results]
    assert told == ["old", "new", "new/w1"]


def test_an_ended_row_is_a_parent_still(story: Story, daemon: Daemon) -> None:
    story.agent()
    story.kill()
    daemon.begin(own=CHILD, launched_by=story.agents["acme"].conversation)
    assert [item.as_json()["name"] for item in listed(story, tree=True).results] == [
        "acme",
        "acme/w1",
    ]


def test_a_conversation_that_went_to_the_daemon_takes_its_row_along(
    story: Story, daemon: Daemon
) -> None:
    agent = story.agent()
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    process = daemon.begin(own=agent.conversation)
    story.processes.die(agent.process)
    one = the_one(story)
    assert (one["live"], one["drift"], one["pid"]) == ("alive", "moved", process.pid)
    reconcile.run(story.app())
    row: Any = story.row()
    assert (row["status"], row["terminal"], row["pane"]["id"]) == ("running", "background", "w1")
    assert (row["pane"]["pid"], row["pane"]["start_ticks"]) == (process.pid, process.start)
    assert the_one(story)["drift"] is None


def test_an_ending_that_was_cut_off_is_closed_with_a_row_that_moved(
    story: Story, daemon: Daemon
) -> None:
    agent = story.agent()
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    daemon.begin(own=agent.conversation)
    story.processes.die(agent.process)
    owner = story.processes.add("tmuxreap")
    begun(story, owner)
    story.processes.die(owner)
    (moved,) = reconcile.run(story.app()).results
    told = moved.as_json()
    assert (told["drift"], told["settled"], told["hint"]) == ("moved", True, "tmuxreap stop acme")
    assert told["evidence"].endswith("; an earlier stop (manual_stop) was interrupted")
    assert story.row()["terminal"] == "background"
    assert list(reconcile.run(story.app()).results) == []


def test_the_list_is_read_once_for_all_that_end_together(
    story: Story, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["acme", "a1", "a2", "a3", "a4"]
    for name in names:
        story.agent(name)
    daemon.begin()
    read = []
    real = lists.read_json

    def noted(path: Path) -> object:
        read.append(path.name)
        return real(path)

    monkeypatch.setattr(lists, "read_json", noted)
    items = ending(story, *names)
    assert [item["outcome"] for item in items] == ["stopped"] * len(names)
    # Before the endings, once their panes are gone, and for what they left.
    assert read.count("roster.json") == 3


def test_a_start_leaves_the_row_of_an_agent_that_went_to_its_daemon(
    story: Story, daemon: Daemon
) -> None:
    """As it does once the row has followed it there."""
    agent = story.agent()
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    daemon.begin(own=agent.conversation)
    story.processes.die(agent.process)
    wish = start.StartRequest("acme", "demo", cwd="/", confirm_s=0.1)
    told = []
    for _ in range(2):
        before = story.row()
        with pytest.raises(Failure, match="an agent of that name is already running") as refused:
            start.run(story.app(), wish)
        assert story.row() == before
        told.append((refused.value.code, refused.value.message, refused.value.hint))
        reconcile.run(story.app())
    assert before["terminal"] == "background"
    assert told[0] == told[1]


def test_a_conversation_that_two_sessions_continue_moves_no_row(
    story: Story, daemon: Daemon
) -> None:
    agent = story.agent()
    story.tmux.open(story.SOCKET, "quiet", "sleep", "600")
    for number in ("w1", "w2"):
        daemon.begin(number, own=agent.conversation)
    story.processes.die(agent.process)
    assert the_one(story)["live"] == "gone"


def test_a_plan_names_the_daemon_first_and_no_keys(story: Story, daemon: Daemon) -> None:
    recorded(story, daemon.begin())
    (plan,) = ending(story, "acme", dry_run=True)
    assert [rung["name"] for rung in plan["plan"]["rungs"]] == ["daemon", "term", "kill"]


def test_a_session_is_signalled_where_its_daemon_is_gone(story: Story, daemon: Daemon) -> None:
    process = daemon.begin()
    recorded(story, process)
    story.processes.die(daemon.process)
    (ended,) = ending(story, "acme")
    assert (ended["outcome"], ended["error"]) == ("stopped", None)
    assert not story.processes.alive(process)
    assert story.row()["status"] == "stopped"


def test_a_session_that_its_daemon_keeps_is_not_signalled(story: Story, daemon: Daemon) -> None:
    process = daemon.begin()
    recorded(story, process)
    (ended,) = ending(story, "acme")
    assert (ended["outcome"], ended["error"]["code"]) == ("survived", "still_running")
    assert (story.signals_to(process), story.row()["status"]) == ([], "running")


def test_an_attach_runs_the_agents_own_command(story: Story, daemon: Daemon) -> None:
    recorded(story, daemon.begin())
    words = attach.run(story.app(), "acme")
    assert words == ("env", f"TMUXREAP_DEMO_HOME={story.store}", "demo-agent", "attach", "w1")


@pytest.mark.parametrize("agent", [None, "demo"])
def test_a_process_of_a_daemons_session_is_adopted_as_that_session(
    story: Story, agent: str | None
) -> None:
    daemon = Daemon(story)
    story.agent("other", conversation=TWO)
    process = daemon.begin()
    wish = adopt.AdoptRequest("acme", agent, pid=process.pid)
    with pytest.raises(Failure, match=r"below demo's own daemon") as refused:
        adopt.run(story.app(), wish)
    assert refused.value.hint == "tmuxreap adopt acme --background demo:w1"


def test_several_sessions_are_adopted_each_by_itself(story: Story, daemon: Daemon) -> None:
    story.agent("other", conversation=TWO)
    daemon.begin()
    wishes = [adopt.AdoptRequest(name, background=f"demo:{name}") for name in ("w0", "w1", "w2")]
    items = [item.as_json() for item in checked(adopt.run(story.app(), *wishes)).results]
    assert [(one["name"], one.get("error") is None) for one in items] == [
        ("w0", False),
        ("w1", True),
        ("w2", False),
    ]
    assert story.row("w1")["status"] == "running"


def test_a_plan_says_how_many_sessions_a_spared_daemon_runs(story: Story, daemon: Daemon) -> None:
    agent = story.agent()
    own = story.processes.table[daemon.process.pid]
    own.environ = {**(own.environ or {}), "TMUXREAP_ID": "mark-of-acme"}
    assert story.processes.alive(agent.process)
    for number, runs in (("w1", "1 session"), ("w2", "2 sessions")):
        daemon.begin(number, own=TWO)
        (plan,) = ending(story, "acme", dry_run=True)
        spared = {one["pid"]: one["why"] for one in plan["plan"]["spared"]}
        assert spared[daemon.process.pid].endswith(f", which runs {runs}")


@pytest.mark.parametrize("server", [None, "default"])
def test_adopt_all_takes_the_sessions_of_this_folder(
    story: Story, daemon: Daemon, server: str | None
) -> None:
    story.agent("other", conversation=TWO)
    daemon.begin("w1", cwd=str(story.folder / "src"))
    daemon.begin("w2", own=CHILD, cwd=f"{story.folder}-2")
    daemon.begin("w3", own=CHILD, cwd=None)
    adopt.run_all(story.app(), adopt.AdoptAllRequest(server=server, yes=True))
    text = story.path.read_text()
    assert ("demo-w1" in text) is (server is None)
    assert "demo-w2" not in text
    assert "demo-w3" not in text


def forked(story: Story, daemon: Daemon) -> str:
    """An ended row whose conversation its agent continued as another, in its daemon."""
    agent = story.agent()
    story.kill()
    path = story.store / "conversations" / f"{agent.conversation}.jsonl"
    with path.open("a") as file:
        file.write(f'{{"continued": "{TWO}"}}\n')
    daemon.begin(own=TWO)
    return agent.conversation


def test_a_copy_that_is_behind_is_not_resumed(story: Story, daemon: Daemon) -> None:
    before = forked(story, daemon)
    (item,) = resume.run(story.app(), resume.ResumeRequest(("acme",))).results
    assert item.error is not None
    assert item.error.code == "not_resumable"
    said = f"its agent continued {before} as {TWO}, which is not on disk yet"
    assert said in item.error.message
    assert "demo-agent attach w1" in (item.error.hint or "")


def test_an_agent_that_says_no_good_bye_leaves_by_its_keys(story: Story, daemon: Daemon) -> None:
    agent = story.agent()
    (ended,) = ending(story, "acme")
    assert (ended["stopped_by"], agent.heard) == ("exit_keys", ["/exit", "Enter"])


def test_a_daemon_without_a_call_for_it_ends_no_turn(story: Story, daemon: Daemon) -> None:
    process = daemon.begin()
    recorded(story, process)
    request = interrupt.InterruptRequest(("acme",))
    (one,) = (item.as_json() for item in interrupt.run(story.app(), request).results)
    error: Any = one["error"]
    assert (one["outcome"], error["code"]) == ("refused", "not_interruptible")
    assert "has no command that ends only its turn" in error["message"]
    assert error["hint"].endswith("tmuxreap attach acme")
    assert story.processes.alive(process)


def parked(story: Story, agent: FakeAgent) -> None:
    """The agent in its pane says that its conversation is in the daemon."""
    file = story.store / "sessions" / f"{agent.process.pid}.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "parked": "w1"}))


def test_a_pane_whose_conversation_is_in_the_daemon_gets_keys_after_it(
    story: Story, daemon: Daemon
) -> None:
    agent = story.agent()
    daemon.begin(own=agent.conversation)
    parked(story, agent)
    (plan,) = ending(story, "acme", dry_run=True)
    rungs = [(rung["name"], rung["skipped"]) for rung in plan["plan"]["rungs"]]
    assert rungs[:2] == [("daemon", None), ("keys", None)]


@pytest.mark.parametrize(
    "told", [{}, {"own": TWO, "took": CONVERSATION}], ids=["itself", "a copy of it"]
)
def test_a_session_that_is_back_before_its_pane_is_gone_is_not_stopped(
    story: Story, daemon: Daemon, monkeypatch: pytest.MonkeyPatch, told: dict[str, str]
) -> None:
    agent = story.agent(leaves=False)
    told = {"own": agent.conversation, **told}
    worker = daemon.begin(**told)
    parked(story, agent)

    def ended(_: object, line: str) -> object:
        story.processes.die(worker)
        daemon.workers.clear()
        daemon.write()
        story.processes.after(2.0, lambda: daemon.begin(**told))
        return SimpleNamespace(is_done=True, reason=None, line=line)

    monkeypatch.setattr(own_ends, "OwnEnd", ended)
    (one,) = ending(story, "acme")
    assert (one["outcome"], one["error"]["code"]) == ("survived", "respawned")
    assert one["error"]["message"].endswith("demo's own daemon brought demo:w1 back")
    assert one["error"]["hint"] == "tmuxreap stop acme"
    assert (story.processes.alive(agent.process), story.row()["status"]) == (False, "running")
