"""A fake tmux with fake processes, and a transcript of its commands. Knows only the commands that
we build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from signal import Signals

from tests.fake_processes import FakeProcesses
from tests.fake_server import FakePane, FakeServer, FakeSession
from tests.tmux_language import holds, words_of
from tmuxreap.agents.screens import unstyled
from tmuxreap.core.model import (
    Created,
    Deed,
    NewSession,
    NoServer,
    Pane,
    ProcessId,
    Server,
    ServerLook,
    ServerSession,
    SetStatus,
    Unreachable,
)
from tmuxreap.core.ports import PaneQuestion, Surroundings
from tmuxreap.core.values import replace
from tmuxreap.system.tmux.client import (
    GROUPED,
    HOLDS,
    STATUS,
    STATUS_ASKED,
    STATUS_OF,
    command_of,
    creation_of,
)

FIRST_TTY = 34816  # /dev/pts/0


class FakeTmux:
    """Servers by socket. `answers` overrides a look's result there; in `hung` every question times
    out."""

    TIMEOUT_S = 5.0

    def __init__(self, processes: FakeProcesses) -> None:
        self.processes = processes
        self.clock = processes.clock
        self.servers: dict[str, FakeServer] = {}
        self.answers: dict[str, Unreachable] = {}
        self.hung: set[str] = set()
        self.tells_pid_of_dead = True  # until 3.7
        self.programs: dict[
            str, dict[str, object]
        ] = {}  # behavior of what `create` starts, by name
        self.transcript: list[tuple[str, tuple[str, ...]]] = []
        self.within: list[Surroundings | None] = []  # of each created session
        self.told_status: list[tuple[str, str | None]] = []
        self.buffers: dict[str, str] = {}
        self.notices: list[tuple[str, str]] = []
        self.when_created: list[Callable[[str, FakeSession], None]] = []
        self.on_respawn: Callable[[FakePane], None] | None = None
        self._ttys = count(FIRST_TTY)
        processes.when_gone.append(self._process_gone)

    # Setting up a history

    def open(self, socket: str, name: str, comm: str, *argv: str, **process: object) -> FakeSession:
        """Open a session with one pane led by the program; other arguments as for
        FakeProcesses.add."""
        server = self.servers.get(socket) or self._start(socket)
        created = int(self.clock.now())
        session = FakeSession(f"${next(server.session_ids)}", name, created, activity=created)
        session.environment = dict(process.pop("environ", None) or {})  # type: ignore[call-overload]
        server.sessions.append(session)
        self.split(socket, session, comm, *argv, **process)
        return session

    def split(
        self, socket: str, session: FakeSession, comm: str, *argv: str, **process: object
    ) -> FakePane:
        server = self.servers[socket]
        tty, pane_id = next(self._ttys), f"%{next(server.pane_ids)}"
        alone = process.pop("window", False) or not session.panes
        environ = {
            **session.environment,
            **(process.pop("environ", None) or {}),  # type: ignore[dict-item]
            "TMUX": f"{socket},{server.process.pid},{session.id[1:]}",
            "TMUX_PANE": pane_id,
        }
        leader = self.processes.add(
            comm,
            *argv,
            parent=server.process,
            tty=tty,
            new_session=True,
            environ=environ,
            **process,  # type: ignore[arg-type]
        )
        window = f"@{pane_id[1:]}" if alone else session.panes[0].now.window_id
        seen = Pane(
            id=pane_id,
            pid=leader.pid,
            tty=f"/dev/pts/{tty - FIRST_TTY}",
            dead=False,
            in_mode=False,
            synchronized=False,
            input_off=False,
            window_id=window,
            linked=False,
            remain_on_exit="off",
        )
        pane = FakePane(seen, leader, tty)
        session.panes.append(pane)
        return pane

    def join(self, pane: FakePane, to: FakeSession) -> None:
        """Act like join-pane, or like move-window for the only pane of its window."""
        self._remove(pane)
        to.panes.append(pane)
        self.change(pane, window_id=to.panes[0].now.window_id)

    def swap(self, one: FakePane, other: FakePane) -> None:
        both = {id(one): other, id(other): one}
        windows = one.now.window_id, other.now.window_id
        for session in [session for server in self.servers.values() for session in server.sessions]:
            session.panes = [both.get(id(pane), pane) for pane in session.panes]
        self.change(one, window_id=windows[1])
        self.change(other, window_id=windows[0])

    def respawn(self, pane: FakePane, comm: str, *argv: str, **process: object) -> ProcessId:
        """Act like respawn-pane -k: the process is gone, the pane stays."""
        environ, parent = self.processes.environ(pane.process), self._server_of(pane).process
        old, pane.process = pane.process, ProcessId(0, 0)
        self.processes.hang_up(old)
        self.processes.die(old)
        pane.process = self.processes.add(
            comm,
            *argv,
            parent=parent,
            tty=pane.tty,
            new_session=True,
            environ=environ,
            **process,  # type: ignore[arg-type]
        )
        self.change(pane, pid=pane.process.pid, dead=False)
        pane.on_key = None
        return pane.process

    def _respawn(self, pane: FakePane, command: list[str]) -> bool:
        """Act like respawn-pane without -k."""
        if not pane.now.dead:
            return False
        split = command.index("--")
        flags, program = command[:split], command[split + 1 :]
        marks = dict(flags[at + 1].split("=", 1) for at, word in enumerate(flags) if word == "-e")
        program = program[1:] if program[0] == "env" else program
        behaviour = dict(self.programs.get(program[0], {}))
        server = self._server_of(pane).process
        comm = program[0].rpartition("/")[2]
        socket = next(it for it, one in self.servers.items() if one.process == server)
        session = next(it for it in self.servers[socket].sessions if pane in it.panes)
        environ = {
            **session.environment,
            **marks,
            "TMUX": f"{socket},{server.pid},{session.id[1:]}",
            "TMUX_PANE": pane.now.id,
        }
        pane.process = self.processes.add(
            comm,
            *program[1:],
            parent=server,
            tty=pane.tty,
            new_session=True,
            environ=environ,
            cwd=flags[flags.index("-c") + 1],
            **behaviour,  # type: ignore[arg-type]
        )
        self.change(pane, pid=pane.process.pid, dead=False)
        pane.screen, pane.on_key = "", None
        if self.on_respawn is not None:
            self.on_respawn(pane)
        return True

    def _server_of(self, pane: FakePane) -> FakeServer:
        every = (
            (server, session) for server in self.servers.values() for session in server.sessions
        )
        return next(server for server, session in every if pane in session.panes)

    def change(self, pane: FakePane, **facts: object) -> None:
        """Change fields of a pane: `change(pane, in_mode=True)`."""
        pane.now = replace(pane.now, **facts)  # type: ignore[arg-type]

    # The interface

    def look(self, socket: str) -> ServerLook:
        if socket in self.hung:
            self.processes.wait((), self.TIMEOUT_S)
            return Unreachable(socket, "no answer in 5 s", "the server may be stopped or busy")
        if socket in self.answers:
            return self.answers[socket]
        server = self.servers.get(socket)
        if server is None:
            return NoServer(socket)
        sessions = tuple(self._seen(session) for session in server.sessions)
        return Server(socket, server.process.pid, server.started, sessions)

    def do(self, socket: str, deeds: Sequence[Deed]) -> bool:
        for deed in deeds:
            if isinstance(deed, SetStatus):
                self._show(socket, deed)
        rest = [command_of(deed) for deed in deeds if not isinstance(deed, SetStatus)]
        return self.run(socket, rest) if rest or not deeds else self._reachable(socket)

    def _show(self, socket: str, status: SetStatus) -> None:
        self.told_status.append((socket, status.text))
        options = self.servers[socket].options if socket in self.servers else {}
        of = options.get(STATUS_OF, "")
        if options.get(STATUS_ASKED) == "on" and of in ("", status.registry):
            options.pop(STATUS, None)
            options.update({} if status.text is None else {STATUS: status.text})

    def run(self, socket: str, commands: Sequence[Sequence[str]]) -> bool:
        self.transcript += [(socket, tuple(command)) for command in commands]
        if not self._reachable(socket):
            return not commands
        done = [self._do(socket, list(command)) for command in commands]  # also after failures
        return all(done)

    def ask(
        self, socket: str, questions: Sequence[PaneQuestion], first: Sequence[Deed] = ()
    ) -> Sequence[str | None]:
        if first:
            self.do(socket, first)
        return [self._answer(socket, one) for one in questions]

    def _answer(self, socket: str, one: PaneQuestion) -> str | None:
        if one.environment:
            return self._environment(socket, one.pane)
        if one.option is not None:
            return self._option(socket, one.pane, one.option)
        found = self._pane(socket, one.pane) if one.styled and self._reachable(socket) else None
        return found.screen if found else self.capture(socket, one.pane, joined=one.joined)

    def _environment(self, socket: str, session: str) -> str | None:
        found = self._session(socket, session) if self._reachable(socket) else None
        return (
            "\n".join(f"{name}={value}" for name, value in found.environment.items())
            if found
            else None
        )

    def capture(self, socket: str, pane: str, *, joined: bool = False) -> str | None:
        found = self._pane(socket, pane) if self._reachable(socket) else None
        return unstyled(found.screen).rstrip("\n ") if found else None

    def _option(self, socket: str, pane: str, option: str) -> str | None:
        found = self._pane(socket, pane) if self._reachable(socket) else None
        return found.options.get(option) if found else None

    def create(
        self, socket: str, new: NewSession, *, within: Surroundings | None = None
    ) -> Created | str:
        """Run commands up to the first failure."""
        commands = creation_of(new)
        self.transcript += [(socket, tuple(command)) for command in commands]
        if socket in self.hung or socket in self.answers:
            return "no answer"
        self.within.append(within)
        made = self._create(socket, commands[0])
        for command in commands[1:] if isinstance(made, Created) else ():
            if not self._do(socket, list(command)):
                break
        return made

    def _create(self, socket: str, command: Sequence[str]) -> Created | str:
        words = list(command)
        split = words.index("--")
        flags, program = words[:split], words[split + 1 :] or ["bash"]
        name = flags[flags.index("-s") + 1]
        if socket in self.servers and any(
            session.name == name for session in self.servers[socket].sessions
        ):
            return f"duplicate session: {name}"
        marks = dict(flags[at + 1].split("=", 1) for at, word in enumerate(flags) if word == "-e")
        program = program[1:] if program[0] == "env" else program
        behaviour = dict(self.programs.get(program[0], {}))
        cwd = flags[flags.index("-c") + 1]
        comm = program[0].rpartition("/")[2]
        session = self.open(socket, name, comm, *program[1:], cwd=cwd, environ=marks, **behaviour)
        for told in self.when_created:
            told(socket, session)
        pane = session.panes[0].now
        return Created(session.id, pane.id, pane.pid or 0)

    def notify(self, socket: str, server: Server, session: ServerSession, text: str) -> None:
        self.notices.append((session.id, text))

    # What the server does

    def _start(self, socket: str) -> FakeServer:
        process = self.processes.add("tmux: server", new_session=True, ignores={Signals.SIGHUP})
        self.servers[socket] = FakeServer(process, int(self.clock.now()))
        return self.servers[socket]

    def _reachable(self, socket: str) -> bool:
        if socket in self.hung:
            self.processes.wait((), self.TIMEOUT_S)
        return socket in self.servers and socket not in self.hung and socket not in self.answers

    def _seen(self, session: FakeSession) -> ServerSession:
        return ServerSession(
            id=session.id,
            name=session.name,
            created=session.created,
            activity=session.activity,
            attached=session.attached,
            grouped=session.grouped,
            panes=tuple(replace(pane.now, pid=self._told_pid(pane)) for pane in session.panes),
        )

    def _told(self, pane: FakePane) -> str:
        return f"<{pane.now.id}.{self._told_pid(pane) or ''}{'L' if pane.now.linked else ''}>"

    def _told_pid(self, pane: FakePane) -> int | None:
        return pane.now.pid if self.tells_pid_of_dead or not pane.now.dead else None

    def _session(self, socket: str, target: str) -> FakeSession | None:
        server = self.servers.get(socket)
        return (
            next((one for one in server.sessions if one.id == target.rstrip(":")), None)
            if server
            else None
        )

    def _pane(self, socket: str, target: str) -> FakePane | None:
        sessions = self.servers[socket].sessions if socket in self.servers else []
        panes = ((session, pane) for session in sessions for pane in session.panes)
        return next(
            (pane for session, pane in panes if target in (pane.now.id, f"={session.name}:")), None
        )

    def _do(self, socket: str, command: list[str]) -> bool:
        if command[0] == "set-buffer":
            self.buffers[command[2]] = command[4]
            return True
        verb, target = command[0], command[command.index("-t") + 1]
        if verb == "if-shell":
            if target.startswith("$") and self._session(socket, target) is None:
                return False
            same = self._holds(socket, target, command[4])
            return self._line(
                socket, command[5] if same else command[6] if len(command) > 6 else ""
            )
        if verb == "kill-session":
            return self._kill_session(socket, target)
        pane = self._pane(socket, target)
        if pane is None:
            return False
        if verb == "send-keys":
            self._send(socket, pane, command[command.index("--") + 1 :])
        elif verb == "paste-buffer":
            self._paste(pane, self.buffers.pop(command[command.index("-b") + 1]))
        elif verb == "copy-mode" and "-q" in command:
            self.change(pane, in_mode=False)
        elif verb == "set-option":
            self._set(pane, command)
        elif verb == "respawn-pane":
            return self._respawn(pane, command)
        elif verb == "kill-pane":
            self.processes.hang_up(pane.process)
            self._remove(pane)
        else:
            raise AssertionError(f"the fake does not know {command}")
        return True

    def _line(self, socket: str, line: str) -> bool:
        """Run a line of commands up to the first failure."""
        words, commands = words_of(line), list[list[str]]([[]])
        for word in words:
            commands.append([]) if word == ";" else commands[-1].append(word)
        return all(self._do(socket, command) for command in commands if command)

    def _holds(self, socket: str, target: str, condition: str) -> bool:
        """Evaluate the comparisons used by the compare-and-kill commands."""
        server, session, pane = (
            self.servers.get(socket),
            self._session(socket, target),
            self._pane(socket, target),
        )
        facts: dict[str, object] = {
            "pid": server and server.process.pid,
            "start_time": server and server.started,
        }
        if session:
            facts |= {"session_id": session.id, "session_created": session.created}
            facts |= {GROUPED: int(session.grouped), HOLDS: "".join(map(self._told, session.panes))}
        if pane:
            told = self._told_pid(pane)
            facts |= {"pane_id": pane.now.id, "pane_pid": "" if told is None else told}
            facts |= {"pane_in_mode": int(pane.now.in_mode), "pane_dead": int(pane.now.dead)}
            facts |= {
                "pane_input_off": int(pane.now.input_off),
                "pane_synchronized": int(pane.now.synchronized),
            }
        return holds(condition, facts)

    def _send(self, socket: str, pane: FakePane, keys: list[str]) -> None:
        together = [other for session in self.servers[socket].sessions for other in session.panes]
        reached = [
            other
            for other in together
            if other.now.window_id == pane.now.window_id and other.now.synchronized
        ]
        for one in reached if pane.now.synchronized else [pane]:
            if one.now.dead or one.now.input_off or one.now.in_mode:
                continue  # dropped, with exit status 0
            for key in keys:
                one.typed.append(key)
                if one.on_key:
                    one.on_key(key)
                self.processes.type(one.tty, key)

    def _paste(self, pane: FakePane, text: str) -> None:
        pane.typed.append(text)
        if pane.on_key:
            pane.on_key(text)
        self.processes.type(pane.tty, text)

    def _set(self, pane: FakePane, command: list[str]) -> None:
        option, *value = command[command.index("--") + 1 :]
        if "-u" in command:
            pane.options.pop(option, None)
        else:
            pane.options[option] = value[0]
        if option == "remain-on-exit":
            self.change(pane, remain_on_exit=pane.options.get(option, "off"))
        if option == "synchronize-panes":
            self.change(pane, synchronized=pane.options.get(option) == "on")

    def _kill_session(self, socket: str, target: str) -> bool:
        session = self._session(socket, target)
        if session is None:
            return False
        self.servers[socket].sessions.remove(session)
        for pane in session.panes:
            if not pane.now.linked and not session.grouped:
                self.processes.hang_up(pane.process)
        self._leave_when_empty()
        return True

    def _remove(self, pane: FakePane) -> None:
        for server in self.servers.values():
            for session in server.sessions:
                session.panes = [other for other in session.panes if other is not pane]
            server.sessions = [session for session in server.sessions if session.panes]
        self._leave_when_empty()

    def _leave_when_empty(self) -> None:
        for socket, server in list(self.servers.items()):
            if not server.sessions:
                del self.servers[socket]
                self.processes.die(server.process)

    def _process_gone(self, process: ProcessId) -> None:
        for socket, server in list(self.servers.items()):
            if server.process == process:
                del self.servers[socket]
                for session in server.sessions:
                    for pane in session.panes:
                        self.processes.hang_up(pane.process)
                return
            for pane in [
                pane
                for session in server.sessions
                for pane in session.panes
                if pane.process == process
            ]:
                if pane.now.remain_on_exit in ("on", "failed"):
                    self.change(pane, dead=True)
                else:
                    self._remove(pane)
