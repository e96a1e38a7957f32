"""Runs an agent's own command that ends a session of its daemon, in the store of that session, or
tells its server. The words are the profile's; only a checked ID is put into them. Never reads what
came of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Thread

from tmuxreap.agents.conversations.jobs import Job, filled, own_way
from tmuxreap.agents.conversations.lists import end_served
from tmuxreap.agents.conversations.records import store_of
from tmuxreap.agents.profiles import Profile
from tmuxreap.core.ports import Processes
from tmuxreap.sessions.conversation import store_environment
from tmuxreap.system.programs import run

# What the command needs: nothing of the caller's own session, which may be the agent's as well.
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR")


class OwnEnd:
    """One run of the agent's own way, in a thread: many sessions end at the same time. `end`:
    returns why it failed, in its own words."""

    def __init__(self, end: Callable[[], str | None], line: str) -> None:
        self.line = line  # as one does it by hand
        self.reason: str | None = None
        self._run = end
        self._thread = Thread(target=self._end, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def _end(self) -> None:
        self.reason = self._run()


def begin_own_end(
    profile: Profile,
    job: Job,
    processes: Processes,
    environ: Mapping[str, str],
    home: Path | None,
    limit_s: float,
) -> OwnEnd:
    background = profile.background
    assert background is not None  # noqa: S101 - it has a list
    if background.server is not None:
        told = partial(end_served, profile, job, processes, limit_s)
        return OwnEnd(told, own_way(profile, job))
    passed = {name: environ[name] for name in PASSED if name in environ}
    if home is not None:
        passed["HOME"] = str(home)
    environment = {**passed, **own_environment(profile, job, home)}
    words = background.end

    def told_by_command() -> str | None:
        return run(filled(words, job), environment, limit_s)[1]

    return OwnEnd(told_by_command, own_line(words, profile, job, home))


def own_environment(profile: Profile, job: Job, home: Path | None) -> Mapping[str, str]:
    """Return the variables that select the store of the session; none for the default one."""
    if job.store == store_of(profile, {}, None, home):
        return {}
    return store_environment(profile, str(job.store))


def own_line(words: tuple[str, ...], profile: Profile, job: Job, home: Path | None) -> str:
    """Return a command of the profile for this session, as one types it."""
    own = own_environment(profile, job, home).items()
    before = [f"{name}={shlex.quote(value)}" for name, value in own]
    return " ".join([*before, shlex.join(filled(words, job))])
