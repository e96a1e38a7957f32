"""Owns the checks of `doctor` outside the registry: tmux and its sockets, installed agents,
unregistered sessions; and what a finding is. Asks programs for their version in a temporary
environment, so that no file of the user is touched, and never starts a tmux server."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.reap.leaks import find_leaks
from tmuxreap.core.answers import Finding
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import ProcessId, Server, ServerLook, Terminal, Unreachable
from tmuxreap.core.values import Word, frozen
from tmuxreap.proof.daemons import Stale, record_path, stale_record
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.file import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.registries import project_of
from tmuxreap.system.tmux.sockets import lost_servers, socket_path


class Level(Word):
    OK = "ok"
    NOTE = "note"  # worth knowing; nothing is broken
    PROBLEM = "problem"


def ok(message: str) -> Finding:
    return Finding("", Level.OK, message)


def note(message: str, hint: str | None = None, *, name: str = "") -> Finding:
    return Finding(name, Level.NOTE, message, hint)


def problem(message: str, hint: str | None = None, *, name: str = "") -> Finding:
    return Finding(name, Level.PROBLEM, message, hint)


def failed(failure: Failure) -> Finding:
    return problem(failure.message, failure.hint or None)


TIMEOUT_S = 8.0
VERSIONS_AT_ONCE = 4
LOOK_S = 0.02
ANSWER_BYTES = 10_000
XDG = ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME", "RUNTIME_DIR")
PLACES = ("HOME", "TMPDIR", *(f"XDG_{it}" for it in XDG))
SILENT = ("NO_COLOR", "CI", "DISABLE_AUTOUPDATER", "NO_UPDATE_NOTIFIER")
CALM = {"TERM": "dumb", **dict.fromkeys(SILENT, "1")}
_VERSION = re.compile(r"\d+\.\d+[0-9A-Za-z.+-]*")


@frozen
class Probe:
    path: str
    version: str | None
    reason: str | None = None  # why there is no version


def find_program(name: str, environ: Mapping[str, str]) -> str | None:
    """Return the program's path on the caller's PATH, never one in the working directory."""
    path = shutil.which(name, path=environ.get("PATH", ""))
    return path if path and path.startswith("/") else None


def ask_all(commands: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> dict[str, Probe]:
    """Run each command (the first word is an absolute path), except those of a single word."""
    from concurrent.futures import ThreadPoolExecutor

    with tempfile.TemporaryDirectory(prefix="tmuxreap-", ignore_cleanup_errors=True) as folder:
        world = _world(environ, folder)
        with ThreadPoolExecutor(VERSIONS_AT_ONCE) as pool:
            probes = pool.map(lambda words: _ask(words, world, folder), commands.values())
            return dict(zip(commands, probes, strict=True))


def _world(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    inherited = {}
    for name in ("PATH", "LANG", "LC_ALL"):
        if name in environ:
            inherited[name] = environ[name]
    return {**inherited, **dict.fromkeys(PLACES, folder), **CALM}


def _ask(words: Sequence[str], world: Mapping[str, str], folder: str) -> Probe:
    if len(words) < 2:
        return Probe(words[0], None, "it was not asked")
    try:
        with tempfile.TemporaryFile(dir=folder) as answer:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=answer,
                stderr=subprocess.STDOUT,
                env=dict(world),
                cwd=folder,
                start_new_session=True,
            )
            in_time = _over(process.pid)
            _end_group(process)
            answer.seek(0)
            said = answer.read(ANSWER_BYTES).decode("utf-8", "replace")
            return _probe(words[0], said, process.returncode, in_time)
    except OSError as error:
        return Probe(words[0], None, error.strerror or str(error))


def _probe(path: str, said: str, status: int, in_time: bool) -> Probe:
    match = _VERSION.search(said)
    if match and status == 0:
        return Probe(path, match[0])
    if status == 0:
        silent = "it named no version"
    else:
        silent = f"exit {status}"
    return Probe(path, None, silent if in_time else f"no answer in {TIMEOUT_S:g} s")


def _over(pid: int) -> bool:
    """Tell whether the process exits in time. It is not reaped: its pid must not be reused."""
    deadline = time.monotonic() + TIMEOUT_S
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def _end_group(asked: subprocess.Popen[bytes]) -> None:
    """Kill everything in the session that was created for the process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(asked.pid, signal.SIGKILL)
    asked.wait()


OLDEST_TMUX = (3, 2)
TOGETHER = 8
OPEN_TO_OTHERS = 0o007
BUSY_PERCENT = 90.0  # of one processor: no agent waits like that


class Setup:
    """What the checks look at: each item is read once, on first use."""

    def __init__(self, context: Context, look: RegistryLook | None) -> None:
        self.app = context
        self.look = look
        self.rows = look.usable if look is not None else ()

    @cached_property
    def folder(self) -> str:
        """Return the folder where tmux creates the sockets of `-L`."""
        return os.path.dirname(socket_path(None, self.app.settings.environ, self.app.settings.uid))  # noqa: PTH120

    @cached_property
    def sights(self) -> dict[str, Sight]:
        if self.look is None:
            return {}
        names = [row.name for row in self.rows]
        return dict(zip(names, self.app.sights.of(self.rows), strict=True))

    @cached_property
    def used(self) -> dict[str, list[str]]:
        """Map each socket that running rows name to the names of these rows."""
        names: dict[str, list[str]] = {}
        for row in self.rows:
            if not row.status.ended and row.terminal is Terminal.TMUX:
                names.setdefault(self.app.servers.of(row), []).append(row.name)
        return names

    @cached_property
    def servers(self) -> Mapping[str, ServerLook]:
        """Look at all known servers concurrently: one that hangs must not delay the rest."""
        paths = sorted(Path(self.folder).glob("*"))  # none if it cannot be listed
        found = (str(path) for path in paths if stat.S_ISSOCK(path.lstat().st_mode))
        sockets = list(dict.fromkeys([*self.used, *found]))
        with ThreadPoolExecutor(TOGETHER) as pool:
            return dict(zip(sockets, pool.map(self.app.tmux.look, sockets), strict=True))

    @cached_property
    def programs(self) -> dict[str, str]:
        """Map each agent to its program, except the demo agent with its absolute path."""
        profiles = self.app.profiles.agents.values()
        commands = {}
        for profile in profiles:
            if profile.command:
                commands[profile.name] = profile.command[0]
        return {name: word for name, word in commands.items() if not word.startswith("/")}

    @cached_property
    def installed(self) -> dict[str, str]:
        """Map each agent that is on the PATH to the path of its program."""
        environ = self.app.settings.environ
        found = {name: find_program(word, environ) for name, word in self.programs.items()}
        return {name: path for name, path in found.items() if path is not None}


def check_tmux(setup: Setup) -> Iterator[Finding]:
    environ = setup.app.settings.environ
    path = find_program("tmux", environ)
    if path is None:
        hint = "install tmux 3.2 or later with your package manager"
        yield problem("there is no tmux on the PATH", hint)
        return
    probe = ask_all({"tmux": [path, "-V"]}, environ)["tmux"]
    number = re.match(r"(\d+)\.(\d+)", probe.version or "")
    if number and (int(number[1]), int(number[2])) < OLDEST_TMUX:
        message = f"{path} is {probe.version}; 3.2 is the oldest supported"
        yield problem(message, "install a later one")
    elif probe.version:
        yield ok(f"{probe.version}, {path}")
    else:
        yield note(f"{path} -V failed: {probe.reason}", f"see: {path} -V")


def check_sockets(setup: Setup) -> Iterator[Finding]:
    yield from _folder(setup)
    for socket, server in setup.servers.items():
        users = setup.used.get(socket, [])
        if users:
            named = f" ({', '.join(users)} should be there)"
        else:
            named = ""
        if isinstance(server, Server):
            count = len(server.sessions)
            yield ok(f"{socket}: {count} session{'s' * (count != 1)}, server {server.pid}")
        elif isinstance(server, Unreachable):
            yield problem(f"{socket}: {server.reason}{named}", server.hint)
        elif users:
            yield note(f"{socket}: no server listens{named}", "tmuxreap reconcile")
    for socket, pid in lost_servers(setup.folder):
        if socket not in setup.servers:
            hint = "send its server a SIGUSR1: that makes the socket again"
            if pid:
                hint = f"kill -USR1 {pid}"
            yield problem(
                f"{socket} was deleted while its server runs: no client can reach it", hint
            )


def _folder(setup: Setup) -> Iterator[Finding]:
    tmpdir = setup.app.settings.environ.get("TMUX_TMPDIR")
    if tmpdir and not Path(tmpdir).is_dir():
        message = f"TMUX_TMPDIR is {tmpdir}, which is no folder: tmux uses /tmp in its place"
        yield problem(message, f"mkdir -p {shlex.quote(tmpdir)}, or unset TMUX_TMPDIR")
    try:
        info = os.stat(setup.folder)  # noqa: PTH116
    except OSError:
        yield ok(f"no tmux server has been started in {setup.folder}")
        return
    if info.st_uid != setup.app.settings.uid:
        message = f"{setup.folder} belongs to uid {info.st_uid}: tmux will not use it"
        yield problem(message, "have it removed, or set TMUX_TMPDIR to a folder of yours")
    elif info.st_mode & OPEN_TO_OTHERS:
        message = f"{setup.folder} is open to others: tmux will not use it"
        yield problem(message, f"chmod 700 {setup.folder}")
    moved = sorted(
        row.name
        for row in setup.rows
        if not row.status.ended
        and row.tmux_server is None
        and row.tmux.socket
        and os.path.basename(row.tmux.socket) == "default"  # noqa: PTH119
        and row.tmux.socket != f"{setup.folder}/default"
    )
    if moved:
        message = (
            f"started under another TMUX_TMPDIR, and still looked for there: {', '.join(moved)}"
        )
        yield note(message)


def check_unregistered(setup: Setup) -> Iterator[Finding]:
    """Report agents in unregistered sessions on any server that answers."""
    sights = list(setup.sights.values())
    context = setup.app
    for newcomer in context.newcomers.without_row(setup.rows, sights, setup.servers):
        message = f"{newcomer.name}: a {newcomer.agent} runs in it and is not registered"
        yield note(message, newcomer.command, name="sessions")


def check_leaks(setup: Setup) -> Iterator[Finding]:
    """Report agents that live on without a terminal, and that no row holds, and old daemons."""
    for leak in find_leaks(setup.app, setup.sights.values()):
        yield note(f"{leak}: {leak.why}", leak.way_out)


def check_daemons(setup: Setup) -> Iterator[Finding]:
    """Report the files of agents' own daemons that name a process which is none."""
    settings = setup.app.settings
    for profile in setup.app.profiles.agents.values():
        if profile.own_daemon is None:
            continue
        stores = {row.store for row in setup.rows if setup.app.agents.of(row) == profile.name}
        paths = [record_path(profile, settings.environ, None, settings.home)]
        paths += [
            record_path(profile, None, store, settings.home)
            for store in sorted(filter(None, stores))
        ]
        for path in dict.fromkeys(filter(None, paths)):
            stale = stale_record(profile.own_daemon, path, setup.app.processes)
            if stale is not None:
                yield _stale(profile, stale)


def _stale(profile: Profile, stale: Stale) -> Finding:
    daemon = profile.own_daemon
    assert daemon is not None  # noqa: S101 - it has a record
    mend = shlex.join(word.replace("{file}", str(stale.path)) for word in daemon.mend)
    said = f"{stale.path}: the daemon of {profile.name} that it names (pid {stale.pid}) is gone"
    if stale.reused is None:
        return note(said, mend or None)
    return problem(
        f"{said}, and another process has that pid: a new one may not start", mend or None
    )


def check_load(setup: Setup) -> Iterator[Finding]:
    """Report the processes of living sessions that keep a processor busy, or listen on a port."""
    owned = {name: sight.owned.own for name, sight in setup.sights.items() if sight.owned.own}
    everyone: list[ProcessId] = []
    for belongings in owned.values():
        everyone += [it.process.id for it in belongings]
    if not everyone:
        return
    usage = setup.app.processes.usage(everyone)
    for name, belongings in owned.items():
        for process in (it.process for it in belongings if it.process.id in usage):
            used = usage[process.id]
            who = f"{name}: {process.comm} (pid {process.pid})"
            if used.cpu_percent >= BUSY_PERCENT:
                message = f"{who} uses {used.cpu_percent:.0f} % of a processor"
                yield note(message, f"tmuxreap show {shlex.quote(name)}")
            if used.ports:
                yield ok(f"{who} listens on {' '.join(map(str, used.ports))}")


def check_registries(setup: Setup) -> Iterator[Finding]:
    """Name the registries of other projects that are known."""
    ours = setup.app.own_registry
    others = [path for path in setup.app.known_registries if path != ours]
    for path in others:
        shown = f"tmuxreap list --registry {shlex.quote(str(path))}"
        yield ok(f"{project_of(path)} has a registry: {shown}")


def check_agents(setup: Setup) -> Iterator[Finding]:
    """Report which agents are installed, and whether our profile was tried with their versions."""
    profiles = setup.app.profiles.agents
    if not setup.installed:
        yield note(f"none of the known agents is on the PATH: {', '.join(setup.programs)}")
        return
    # An untried program might take --version for a task.
    words = {
        name: [path, *(["--version"] if _tried_on(profiles[name]) else [])]
        for name, path in setup.installed.items()
    }
    for name, probe in ask_all(words, setup.app.settings.environ).items():
        yield _agent(profiles[name], probe)


def _agent(profile: Profile, probe: Probe) -> Finding:
    tried = _tried_on(profile)
    subject = f"{profile.name} {probe.version or ''}".strip() + f", {probe.path}: its profile was "
    if tried is None:
        if profile.has_keys:
            keys = ""
        else:
            keys = "; it gets no exit keys, a stop begins with SIGHUP"
        return note(f"{subject}never tested on the program{keys}")
    if probe.version is None:
        return note(
            f"{subject}tested with {tried}; `{profile.name} --version` failed ({probe.reason})"
        )
    if not _same_version(probe.version, tried):
        return note(f"{subject}tested with {tried}")
    return ok(f"{subject}tested with this version")


def _tried_on(profile: Profile) -> str | None:
    """Return the version at the beginning of the profile's `verified` text."""
    match = re.match(r"\d[\w.]*", profile.verified or "")
    return match[0] if match else None


def _same_version(one: str, other: str) -> bool:
    return one == other or one.startswith(other + ".")
