"""The zoo: sessions with the nastiest process trees, and neighbors that resemble them.

A member is a shell script for a pane: `$MINE prog...` runs a program that must be gone after the
ending, and `$OTHERS prog...` one that must live. Both first record their pid and start, so that all
remain identifiable: pids are reused within minutes on a busy machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests import plain_yaml
from tests.real import Real, alive, until
from tmuxreap.commands import adopt
from tmuxreap.core.model import ProcessId
from tmuxreap.sessions.context import Context
from tmuxreap.system.processes.linux import LinuxProcesses

DEMO = f"{sys.executable} -m tmuxreap.demo_agent"
FOREVER = "sleep 600"
AGENT = f"exec $MINE {DEMO}"
NOTE = """#!/bin/sh
read -r x x x x x x x x x x x x x x x x x x x x x start x < /proc/$$/stat
echo $$ $start >> "$1"
"""
TAG = f"""{NOTE}
shift
exec "$@"
"""
CHAIN = f"""{NOTE}
trap '' HUP TERM
[ "$2" -gt 0 ] || exit
sleep PACE
"$0" "$1" $(($2 - 1)) &
"""
PROGRAMS = ("ssh-agent", "firefox", "demo-daemon")  # stand-ins: `sh` under other names
PROFILES = "agents: {demo: {spare: [demo-daemon]}}\n"


@dataclass(frozen=True)
class Member:
    name: str
    script: str
    stop: str  # what ends it, as `stopped_by`
    kill: str
    doomed: int = 1
    neighbours: int = 0
    agent: str = "beast"  # an unknown agent: the ladder starts with the hangup
    refused: str | None = None  # the code of the error
    spared: bool = False  # the neighbors are listed
    swept: str | None = None  # a program listed among what the agent left behind
    ready: Callable[[Zoo], None] = lambda zoo: None  # before it is registered
    later: Callable[[Zoo], None] = lambda zoo: None  # afterwards


def demo(name: str, script: str, **more: object) -> Member:
    """The agent itself exits by its keys, or on the first signal; what it leaves behind is the
    member."""
    given = {"stop": "exit_keys", "kill": "sigterm", "doomed": 2, **more}
    return Member(name, f"{script}\n{AGENT}", agent="demo", **given)  # type: ignore[arg-type]


@dataclass
class Zoo:
    """All members on one server, and two more servers for confusion."""

    real: Real
    folder: Path
    processes: LinuxProcesses = field(default_factory=LinuxProcesses)
    strangers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "bin").mkdir()
        for name, text in (("tag", TAG), ("chain", CHAIN.replace("PACE", f"{self.pace_s():.2f}"))):
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)
        for name in PROGRAMS:
            shutil.copy("/bin/sh", self.folder / "bin" / name)
        config = Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap"
        config.mkdir()
        (config / "agents.yaml").write_text(PROFILES)

    def pace_s(self) -> float:
        """Return a chain's pace: as fast as we look, however busy the machine is."""
        began = time.monotonic()
        self.processes.look()
        return max(0.05, 3 * (time.monotonic() - began))

    def other(self, name: str) -> str:
        return f"{self.real.socket}-{name}"

    def enter(self, member: Member, socket: str | None = None) -> None:
        words = {
            "MINE": f"{self.folder}/bin/tag {self.file(member.name, 'mine')}",
            "OTHERS": f"{self.folder}/bin/tag {self.file(member.name, 'others')}",
            "CHAIN": f"{self.folder}/bin/chain {self.file(member.name, 'mine')}",
            "BIN": f"{self.folder}/bin",
            "TMUXREAP_ID": str(uuid.uuid4()),
        }
        marks = [word for key, value in words.items() for word in ("-e", f"{key}={value}")]
        self.open(member.name, "sh", "-c", member.script, marks=marks, socket=socket)

    def open(
        self, name: str, *words: str, marks: list[str] | None = None, socket: str | None = None
    ) -> None:
        self.real.tmux(
            "new-session", "-d", "-s", name, "-c", "/", *(marks or []), *words, socket=socket
        )

    def neighbour(self, member: str, session: str, socket: str | None = None) -> None:
        """An unrelated session."""
        words = [f"{self.folder}/bin/tag", str(self.file(member, "others")), *FOREVER.split()]
        self.open(session, *words, socket=socket)
        until(f"the neighbour of {member}", lambda: self.pids(member, "others"))

    def stranger(self, member: str) -> int:
        """An unrelated program outside tmux."""
        one = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.strangers.append(one)
        with self.file(member, "others").open("a") as file:
            file.write("{} {}\n".format(*self.processes.identify(one.pid)))
        return one.pid

    def is_ready(self, member: Member) -> bool:
        """Tell whether all have recorded themselves, and the agent waits for keys."""
        others = member.neighbours if "$OTHERS" in member.script else 0
        if (
            len(self.pids(member.name, "mine")) < member.doomed
            or len(self.pids(member.name, "others")) < others
        ):
            return False
        return member.agent != "demo" or self.agent_of(member.name) is not None

    def agent_of(self, name: str) -> int | None:
        reported = [
            pid
            for pid in self.pids(name, "mine")
            if (self.real.store / "sessions" / f"{pid}.json").exists()
        ]
        return reported[0] if reported else None

    def register(self, app: Context, member: Member, server: str | None = None) -> None:
        adopt.run(app, adopt.AdoptRequest(member.name, member.agent, server or self.real.socket))

    def file(self, name: str, kind: str) -> Path:
        return self.folder / f"{name}.{kind}"

    def noted(self, name: str, kind: str) -> list[ProcessId]:
        """Return the processes that recorded themselves in a complete line."""
        file = self.file(name, kind)
        text = file.read_text() if file.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()
        return [ProcessId(*map(int, line.split())) for line in lines]

    def pids(self, name: str, kind: str) -> list[int]:
        return [one.pid for one in self.noted(name, kind)]

    def known(self, name: str, kind: str) -> set[ProcessId]:
        """Return those that live now."""
        return {one for one in self.noted(name, kind) if self.processes.refresh(one)}

    def end(self, name: str) -> None:
        """Close it from outside: the session, and its last process."""
        self.real.tmux("kill-session", "-t", f"={name}")
        for one in self.known(name, "mine"):
            self.processes.signal(one, signal.SIGKILL)
        until(f"the end of {name}", lambda: not self.known(name, "mine"))

    def close(self) -> None:
        """End everything of it that still lives."""
        for one in self.strangers:
            one.kill()
            one.wait()
        for member in MEMBERS:
            for kind in ("mine", "others"):
                for one in self.known(member.name, kind):
                    self.processes.signal(one, signal.SIGKILL)


# Preparations of some members


def is_stopped(zoo: Zoo) -> None:
    mine = zoo.pids("stopped", "mine")
    until("the stopped one", lambda: "T" in {zoo.processes.look()[pid].state for pid in mine})


def respawns(zoo: Zoo) -> None:
    zoo.real.tmux("set-option", "-p", "-t", "=respawning:", "remain-on-exit", "on")
    zoo.real.tmux("set-hook", "-p", "-t", "=respawning:", "pane-died", "respawn-pane")


def is_shared(zoo: Zoo) -> None:
    zoo.real.tmux("new-session", "-d", "-t", "=grouped", "-s", "grouped-view")


def is_linked(zoo: Zoo) -> None:
    zoo.neighbour("linked", "linked-home")
    zoo.real.tmux("link-window", "-d", "-s", "=linked:0", "-t", "=linked-home:5")


def dies_and_remains(zoo: Zoo) -> None:
    zoo.real.tmux("set-option", "-p", "-t", "=dead_pane:", "remain-on-exit", "on")
    os.kill(zoo.pids("dead_pane", "mine")[0], signal.SIGKILL)
    until("the dead pane", lambda: zoo.real.ask("dead_pane", "#{pane_dead}") == "1")


def leaves_its_shell(zoo: Zoo) -> None:
    agent = zoo.agent_of("shell_left")
    assert agent is not None
    os.kill(agent, signal.SIGTERM)
    until("the agent's leaving", lambda: not alive(agent))
    until("the shell", lambda: zoo.real.ask("shell_left", "#{pane_current_command}") == "bash")


def goes_behind(zoo: Zoo) -> None:
    agent = zoo.agent_of("behind")
    assert agent is not None
    os.kill(agent, signal.SIGSTOP)
    until("the shell in front", lambda: zoo.real.ask("behind", "#{pane_current_command}") == "bash")
    zoo.real.keys("behind", f"exec $MINE sh -c 'stty raw; exec cat > {zoo.folder}/typed'", "Enter")
    until("the other program", (zoo.folder / "typed").exists)


def pid_is_a_stranger_s(zoo: Zoo) -> None:
    was = zoo.real.pid("reused_pid")
    zoo.end("reused_pid")
    zoo.real.edit(f"pid: {was}\n", f"pid: {zoo.stranger('reused_pid')}\n")


def another_tool_wrote_it(zoo: Zoo) -> None:
    zoo.end("foreign_row")
    text = zoo.real.registry.read_text()
    indent = text.partition("- name")[0].rpartition("\n")[2]
    pane = f"{{pid: {zoo.stranger('foreign_row')}, cwd: /}}"
    row = (
        f"- {{name: foreign_row, status: running, tmux_server: {zoo.real.socket}, pane: {pane}}}\n"
    )
    zoo.real.registry.write_text(text + indent + row)


def only_its_longer_name_lives(zoo: Zoo) -> None:
    zoo.end("a")
    zoo.neighbour("a", "a-2")


def has_a_twin(zoo: Zoo) -> None:
    zoo.neighbour("twin", "twin", socket=zoo.other("b"))


def server_is_another(zoo: Zoo) -> None:
    zoo.real.tmux("kill-server", socket=zoo.other("c"))
    until("the end of the server", lambda: not zoo.real.sessions(zoo.other("c")))
    zoo.neighbour("restarted", "new", socket=zoo.other("c"))
    told = zoo.real.tmux(
        "list-panes", "-a", "-F", "#{session_id} #{pane_id}", socket=zoo.other("c")
    )
    assert told == "$0 %0"


def is_made_anew(zoo: Zoo) -> None:
    zoo.end("made_anew")
    zoo.neighbour("made_anew", "made_anew")


BASH = "bash --norc --noprofile"

MEMBERS = (
    Member("ignores_hangup", f"trap '' HUP; exec $MINE {FOREVER}", "hangup", "sigterm"),
    Member(
        "ignores_hangup_and_term", f"trap '' HUP TERM; exec $MINE {FOREVER}", "sigkill", "sigkill"
    ),
    Member(
        "stopped",  # not the pane's own process: tmux continues that
        f"trap '' HUP; $MINE sh -c 'kill -STOP $$; exec {FOREVER}' & exec $MINE {FOREVER}",
        "hangup",
        "sigterm",
        doomed=2,
        ready=is_stopped,
    ),
    demo("nohup", f"nohup $MINE {FOREVER} >/dev/null 2>&1 &", swept="sleep"),
    demo("setsid", f"setsid $MINE {FOREVER} </dev/null >/dev/null 2>&1 &", swept="sleep"),
    demo(
        "daemon", f"(setsid sh -c '$MINE {FOREVER} &' </dev/null >/dev/null 2>&1 &)", swept="sleep"
    ),
    demo("own_group", f"set -m; $MINE {FOREVER} </dev/null & set +m"),
    demo("cleared_environment", f"env -i $MINE {FOREVER} &"),
    demo("cleared_daemon", f"(setsid env -i $MINE {FOREVER} &)"),
    demo(
        "group_ignores_term",
        f"(trap '' HUP TERM; exec $MINE {FOREVER}) &",
        kill="sigkill",
        swept="sleep",
    ),
    demo("fork_chain", "$CHAIN 2000 &", doomed=4, kill="sigkill"),
    Member(
        "zombie",  # sleep never waits for its child
        f"$MINE {DEMO} </dev/tty & exec $MINE {FOREVER}",
        "exit_keys",
        "sigterm",
        doomed=2,
        agent="demo",
        swept="sleep",
    ),
    demo("respawning", "", doomed=1, ready=respawns),
    demo("grouped", "", doomed=1, ready=is_shared),
    demo("linked", "", doomed=1, neighbours=1, ready=is_linked),
    Member(
        "dead_pane", f"exec $MINE {FOREVER}", "already_gone", "already_gone", later=dies_and_remains
    ),
    Member(
        "shell_left",
        f"$MINE {DEMO}; exec $MINE {BASH} -i",
        "already_gone",
        "already_gone",
        agent="demo",
        later=leaves_its_shell,
        swept="bash",
    ),
    Member(
        "behind",
        f"""exec {BASH} -ic '$MINE {DEMO}; exec {BASH} -i'""",
        "hangup",
        "sigterm",
        agent="demo",
        later=goes_behind,
    ),
    Member(
        "reused_pid",
        f"exec $MINE {FOREVER}",
        "already_gone",
        "already_gone",
        neighbours=1,
        later=pid_is_a_stranger_s,
    ),
    Member(
        "foreign_row",
        f"exec $MINE {FOREVER}",
        "already_gone",
        "already_gone",
        neighbours=1,
        later=another_tool_wrote_it,
    ),
    Member(
        "a",
        f"exec $MINE {FOREVER}",
        "already_gone",
        "already_gone",
        neighbours=1,
        later=only_its_longer_name_lives,
    ),
    demo("twin", "", doomed=1, neighbours=1, later=has_a_twin),
    Member(
        "restarted",
        f"trap '' HUP; exec $MINE {FOREVER}",
        "hangup",
        "sigterm",
        neighbours=1,
        later=server_is_another,
    ),
    Member(
        "made_anew",
        f"exec $MINE {FOREVER}",
        "",
        "",
        neighbours=1,
        refused="session_replaced",
        later=is_made_anew,
    ),
    demo(
        "ssh_agent",
        f"setsid $OTHERS $BIN/ssh-agent -c '$OTHERS {FOREVER}; :' </dev/null >/dev/null 2>&1 &",
        doomed=1,
        neighbours=2,
        spared=True,
    ),
    demo(
        "browser",
        f"setsid $OTHERS $BIN/firefox -c '$OTHERS {FOREVER}; :' </dev/null >/dev/null 2>&1 &",
        doomed=1,
        neighbours=2,
        spared=True,
    ),
    demo(
        "shared_daemon",
        f"setsid $OTHERS $BIN/demo-daemon -c '$OTHERS {FOREVER}; :' </dev/null >/dev/null 2>&1 &",
        doomed=1,
        neighbours=2,
        spared=True,
    ),
    demo(
        "nested_server",
        f"TMUX= tmux -f /dev/null -L nested new-session -d $OTHERS {DEMO}",
        doomed=1,
        neighbours=1,
    ),
)
UNREGISTERED = {"foreign_row"}
SERVERS = {"restarted": "c"}


OURS_ONLY = {"restarted"}  # without its identity, its process is a pid from a file


def as_others_write(registry: Path) -> None:
    """Return the rows as existing workflows write them: no identity, only a pid."""
    rows = plain_yaml.load(registry.read_text())["tmux_sessions"]
    plain = [{key: row[key] for key in ("name", "status", "agent")} for row in rows]
    for row, full in zip(plain, rows, strict=True):
        row["tmux_server"] = full["tmux"]["socket"]
        row["pane"] = {key: full["pane"][key] for key in ("pid", "cmd", "cwd")}
    registry.write_text(yaml.safe_dump({"tmux_sessions": plain}, sort_keys=False, indent=2))


def open_zoo(zoo: Zoo, *, others_rows: bool = False) -> None:
    for member in MEMBERS:
        zoo.enter(member, zoo.other(SERVERS[member.name]) if member.name in SERVERS else None)
    for member in MEMBERS:
        until(f"{member.name} is ready", lambda member=member: zoo.is_ready(member))  # type: ignore[misc]
        member.ready(zoo)
    with zoo.real.app() as app:
        for member in MEMBERS:
            if member.name not in UNREGISTERED:
                zoo.register(
                    app, member, zoo.other(SERVERS[member.name]) if member.name in SERVERS else None
                )
    if others_rows:
        as_others_write(zoo.real.registry)
    for member in MEMBERS:
        member.later(zoo)
