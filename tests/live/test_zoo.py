"""Gone means gone, and neighbours live: every member of the zoo, all ended at once, by `stop` and
by `kill`."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Child
from tests.conftest import GUARD, marked
from tests.live.zoo import MEMBERS, OURS_ONLY, Member, Zoo, open_zoo
from tests.real import Real, alive, until
from tmuxreap.__main__ import main
from tmuxreap.core.model import EndVerb, ProcessId
from tmuxreap.ending import plan, policy

pytestmark = pytest.mark.live

GRACE_S = 3.0  # on a busy machine an exit on TERM takes more than a second
KILLED_S = 60.0
ENOUGH = {
    "exit_keys": ["keys"],
    "hangup": ["hangup"],
    "sigterm": ["term"],
    "sigkill": ["kill"],
    "already_gone": [],
}
PACKAGE = Path(plan.__file__).parent
NAMES = [member.name for member in MEMBERS]


@dataclass
class Ended:
    """One whole zoo after its ending."""

    verb: EndVerb
    others_rows: bool
    zoo: Zoo
    before: dict[str, tuple[set[ProcessId], set[ProcessId]]]
    results: dict[str, dict[str, Any]]


WAYS = {
    "stop": (EndVerb.STOP, False),
    "kill": (EndVerb.KILL, False),
    "stop-rows-of-others": (EndVerb.STOP, True),
}


# One worker for each way (tests/together.py): a zoo is opened once.
@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def ended(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ended]:
    (verb, others_rows), home = request.param, Path(tempfile.mkdtemp(prefix="tz", dir="/tmp"))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("TMUX_TMPDIR", "HOME", "XDG_CONFIG_HOME"):
            patch.setenv(name, str(home))
        for name in ("TMUX", "TMUX_PANE"):
            patch.delenv(name, raising=False)
        patch.setenv("SHELL", "/bin/sh")
        patch.setenv(GUARD, home.name)
        zoo = Zoo(
            Real(f"{home}/s", tmp_path_factory.mktemp("registry")), tmp_path_factory.mktemp("zoo")
        )
        try:
            open_zoo(zoo, others_rows=others_rows)
            yield _end(zoo, verb, others_rows)
        finally:
            for socket in (
                f"{home}/s",
                f"{home}/s-b",
                f"{home}/s-c",
                *map(str, home.glob("tmux-*/*")),
            ):
                if zoo.real.sessions(socket):
                    zoo.real.tmux("kill-server", socket=socket)
            zoo.close()
            until("an empty zoo", lambda: not marked(home.name))
            shutil.rmtree(home)


def _end(zoo: Zoo, verb: EndVerb, others_rows: bool) -> Ended:
    before = {name: (zoo.known(name, "mine"), zoo.known(name, "others")) for name in NAMES}
    end = zoo.real.stop if verb is EndVerb.STOP else zoo.real.kill
    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        # Limits, not verdicts: a chain forks as fast as we look, and a process exits on TERM
        # once it gets the CPU.
        patch.setattr(plan, "KILL_WAIT_S", KILLED_S)
        patch.setattr(policy, "TERM_GRACE_S", 3 * policy.TERM_GRACE_S)
        results = end(*NAMES, grace_s=GRACE_S).results
    told = {item.as_json()["name"]: item.as_json() for item in results}
    _show(verb, told, time.monotonic() - started)
    return Ended(verb, others_rows, zoo, before, told)


def _show(verb: EndVerb, told: dict[str, dict[str, Any]], took_s: float) -> None:
    """Print it, for pytest -s."""
    print(f"\n{verb.value}: the whole zoo in {took_s:.2f} s")
    for name, one in told.items():
        rungs = ", ".join(
            f"{rung['name']} {rung['waited_ms']} ms" for rung in one["rungs"] if not _idle(rung)
        )
        print(
            f"  {name:24} {one['stopped_by'] or one['outcome']:13} {one['duration_ms']:5} ms "
            f" {rungs}"
        )


def _idle(rung: dict[str, Any]) -> bool:
    return bool(rung["skipped"]) and not rung["waited_ms"]


@pytest.mark.parametrize("member", MEMBERS, ids=NAMES)
def test_each_kind_of_agent_is_gone_and_its_neighbours_live(member: Member, ended: Ended) -> None:
    if ended.others_rows and member.name in OURS_ONLY:
        pytest.skip("a pid from a file is no proof")
    result, row = ended.results[member.name], ended.zoo.real.row(member.name)
    mine, others = ended.before[member.name]
    assert not [one for one in mine if ended.zoo.processes.refresh(one)], "gone means gone"
    assert not ended.zoo.known(member.name, "mine"), "nor whoever came after them"
    assert len(others) == member.neighbours
    assert [one for one in others if not ended.zoo.processes.refresh(one)] == [], "neighbours live"
    assert not {one.pid for one in others} & {
        one["pid"] for one in (*result["swept"], *result["survivors"])
    }
    if member.refused is not None:
        assert (result["outcome"], result["error"]["code"]) == ("refused", member.refused)
        assert row["status"] == "running"
        return
    stopped_by = member.stop if ended.verb is EndVerb.STOP else member.kill
    outcome = {EndVerb.STOP: "stopped", EndVerb.KILL: "killed"}[ended.verb]
    assert (result["outcome"], result["error"], result["survivors"]) == (outcome, None, [])
    assert (result["stopped_by"], row["stopped_by"]) == (stopped_by, stopped_by)
    assert [rung["name"] for rung in result["rungs"] if rung["enough"]] == ENOUGH[stopped_by]
    assert row["status"] == "stopped"
    assert member.swept in [None, *(one["name"] for one in result["swept"])]
    if member.spared:
        assert {one.pid for one in others} <= {one["pid"] for one in result["spared"]}


def test_unrelated_sessions_stay_on_the_servers(ended: Ended) -> None:
    real, zoo = ended.zoo.real, ended.zoo
    assert real.sessions() == {"linked-home", "a-2", "made_anew"}
    assert real.sessions(zoo.other("b")) == {"twin"}
    assert real.sessions(zoo.other("c")) == {"new"}
    assert len(real.sessions(f"{os.environ['TMUX_TMPDIR']}/tmux-{os.getuid()}/nested")) == 1


def test_nothing_was_typed_into_the_program_in_front(ended: Ended) -> None:
    assert (ended.zoo.folder / "typed").read_bytes() == b""


def test_an_ending_does_not_wait_for_a_zombie(ended: Ended) -> None:
    """Its parent never does: the kernel's report of its death is enough."""
    assert (
        ended.results["zombie"]["duration_ms"]
        < 1000 * GRACE_S + ended.results["nohup"]["duration_ms"]
    )


# A process that cannot be signalled

NOBODY = 65534


def is_open_to_all(folder: Path) -> bool:
    return all(one.stat().st_mode & stat.S_IXOTH for one in (folder, *folder.parents))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can plant another user's process")
@pytest.mark.skipif(not is_open_to_all(PACKAGE), reason="another user cannot read this checkout")
@pytest.mark.parametrize("verb", ["stop", "kill"])
def test_a_process_that_cannot_be_signalled_fails_alone(tmux_socket: str, verb: str) -> None:
    """The caller is the user nobody, and root has a process in one of two sessions."""
    folder = Path(tempfile.mkdtemp(prefix="tn", dir="/tmp"))
    real = Real(tmux_socket, folder)
    drop = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
    script = f"trap '' HUP; sleep 600 & echo $! > {folder}/root; exec {drop} sleep 600"
    real.tmux("new-session", "-d", "-s", "rooted", "sh", "-c", script)
    real.tmux("new-session", "-d", "-s", "plain", *drop.split(), "sleep", "600")
    pids = {name: real.pid(name) for name in ("rooted", "plain")}
    asleep = [Path(f"/proc/{pid}/comm") for pid in pids.values()]
    until("nobody's processes", lambda: all(comm.read_text() == "sleep\n" for comm in asleep))
    root = int((folder / "root").read_text())
    real.adopt("rooted", "beast")
    real.adopt("plain", "beast")
    if "server-access" in real.tmux(
        "list-commands"
    ):  # since 3.3; earlier only the socket's owner counts
        real.tmux("server-access", "-a", "nobody")
    for path in (folder, *folder.iterdir(), Path(tmux_socket).parent, Path(tmux_socket)):
        os.chown(path, NOBODY, NOBODY)

    def as_nobody() -> int:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        return main(
            [verb, "rooted", "plain", "--grace", "0.3", "--json", "--registry", str(real.registry)]
        )

    try:
        answer = Child(as_nobody).answer()
        rooted, plain = answer.json["results"]
        assert (answer.exit, rooted["error"]["code"]) == (5, "permission_denied")
        assert ([one["pid"] for one in rooted["survivors"]], alive(root)) == ([root], True)
        assert (plain["error"], plain["status"], alive(pids["plain"])) == (None, "stopped", False)
        assert (rooted["status"], real.row("rooted")["status"], alive(pids["rooted"])) == (
            "running",
            "running",
            False,
        )
    finally:
        os.kill(root, 9)
        until("the end", lambda: not alive(root))
    again = real.stop("rooted").results[0].as_json()
    assert (again["outcome"], again["stopped_by"]) == ("stopped", "already_gone")
    shutil.rmtree(folder)
