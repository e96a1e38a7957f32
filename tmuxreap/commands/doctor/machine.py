"""Owns the checks of `doctor` outside the registry: tmux and its sockets, installed agents,
unregistered sessions. Never starts a server, and writes only into a temporary folder."""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

from tmuxreap.agents.profiles import Profile
from tmuxreap.commands.doctor.findings import note, ok, problem
from tmuxreap.commands.doctor.versions import Probe, ask_all, find_program
from tmuxreap.core.answers import Finding
from tmuxreap.core.model import Server, ServerLook, Terminal, Unreachable
from tmuxreap.proof.sight import Sight
from tmuxreap.registry.look import RegistryLook
from tmuxreap.sessions.context import Context
from tmuxreap.sessions.elsewhere import without_row
from tmuxreap.sessions.look import sights_of
from tmuxreap.system.tmux.sockets import lost_servers, socket_path

OLDEST_TMUX = (3, 2)
TOGETHER = 8
OPEN_TO_OTHERS = 0o007


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
        return dict(zip(names, sights_of(self.app, self.rows), strict=True))

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
        commands = {profile.name: profile.command[0] for profile in profiles if profile.command}
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
        yield note(f"{path} did not tell its version: {probe.reason}", f"see: {path} -V")


def check_sockets(setup: Setup) -> Iterator[Finding]:
    yield from _folder(setup)
    for socket, server in setup.servers.items():
        users = setup.used.get(socket, [])
        named = f" ({', '.join(users)} should be there)" if users else ""
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
            yield problem(f"{socket} was deleted, and its server lives: nobody can reach it", hint)


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
    sights, context = list(setup.sights.values()), setup.app
    for newcomer in without_row(context, setup.rows, sights, setup.servers):
        message = f"{newcomer.name}: a {newcomer.agent} runs in it and is not registered"
        yield note(message, newcomer.command, name="sessions")


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
        keys = "" if profile.has_keys else "; it gets no exit keys, a stop begins with SIGHUP"
        return note(f"{subject}never tried on the program{keys}")
    if probe.version is None:
        return note(f"{subject}tried on {tried}, and it did not tell its version: {probe.reason}")
    if not _same_version(probe.version, tried):
        return note(f"{subject}tried on {tried}")
    return ok(f"{subject}tried on this version")


def _tried_on(profile: Profile) -> str | None:
    """Return the version at the beginning of the profile's `verified` text."""
    match = re.match(r"\d[\w.]*", profile.verified or "")
    return match[0] if match else None


def _same_version(one: str, other: str) -> bool:
    return one == other or one.startswith(other + ".")
