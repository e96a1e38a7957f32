"""Runs an agent's own command that ends a session of its daemon, in the store of that session. The
words are the profile's; only a checked ID is put into them. Never reads what came of it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

from tmuxreap.agents.conversations.jobs import Job, filled
from tmuxreap.agents.conversations.records import store_of
from tmuxreap.agents.profiles import Profile
from tmuxreap.sessions.conversation import store_environment
from tmuxreap.system.programs import run

# What the command needs: nothing of the caller's own session, which may be the agent's as well.
PASSED = ("PATH", "HOME", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "TMPDIR")


class OwnEnd:
    """One run of the command, in a thread: many sessions end at the same time."""

    def __init__(
        self, words: tuple[str, ...], environ: Mapping[str, str], limit_s: float, line: str
    ) -> None:
        self.line = line  # as one types it
        self.reason: str | None = None  # why it failed, in its own words
        self._run = (words, environ, limit_s)
        self._thread = Thread(target=self._end, daemon=True)
        self._thread.start()

    @property
    def is_done(self) -> bool:
        return not self._thread.is_alive()

    def _end(self) -> None:
        _, self.reason = run(*self._run)


def begin_own_end(
    profile: Profile, job: Job, environ: Mapping[str, str], home: Path | None, limit_s: float
) -> OwnEnd:
    assert profile.background is not None  # noqa: S101 - it has a list
    passed = {name: environ[name] for name in PASSED if name in environ}
    if home is not None:
        passed["HOME"] = str(home)
    environment = {**passed, **own_environment(profile, job, home)}
    words = profile.background.end
    return OwnEnd(filled(words, job), environment, limit_s, own_line(words, profile, job, home))


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
