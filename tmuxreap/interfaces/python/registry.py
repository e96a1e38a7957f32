"""Owns the registry for Python: a method for each verb, with typed answers.

Turns arguments into requests, and answers into values; `commands` does the work."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, overload

from tmuxreap.core.answers import Forgotten, Reconciled
from tmuxreap.core.errors import Failure
from tmuxreap.core.results import Result, read
from tmuxreap.interfaces.python.calls import (
    Session,
    Target,
    answers_of,
    check_free,
    listed,
    run_verb,
    words_of,
)
from tmuxreap.interfaces.python.options import error_of, seconds
from tmuxreap.interfaces.python.stopping import Stopping
from tmuxreap.interfaces.python.watching import Watching
from tmuxreap.registry.file import RegistryFile
from tmuxreap.sessions.context import Context
from tmuxreap.system.environment import Settings, registry_or_new, registry_path

if TYPE_CHECKING:
    from tmuxreap.system.lock import BaseFileLock


def open_registry(path: str | os.PathLike[str] | None = None, *, create: bool = False) -> Registry:
    """Open the registry at `path`, or the one that the command line would use: that of the
    environment, or the nearest `.hermes/agent-sessions.yaml` here or in a parent folder.

    `create` makes an empty one if there is none. Raises RegistryError."""
    given = None if path is None else os.fspath(path)
    settings = Settings.from_environment()
    try:
        if create:
            location = registry_or_new(settings, given)
        else:
            location = registry_path(settings, given)
        if create and not os.path.lexists(location):
            RegistryFile(location).create()
    except Failure as failure:
        raise error_of(failure) from None
    return Registry(location)


class Registry(Stopping, Watching):
    """A registry of agent sessions. Every call looks again and keeps nothing, so it may stay open
    for days. Any thread may call, several at the same time.

    A `target` is a target of the command line (a name, `'acme-*'`, `tag:X`, `agent:A`, `task:ID`,
    `pid:N`, `all`), a Session, a libtmux.Session or a libtmux.Pane. A single target returns one
    result, a list of targets a list; a word that may mean several sessions must be in a list."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Registry({str(self.path)!r})"

    def sessions(
        self,
        *targets: Target,
        status: str | None = None,
        state: str | Sequence[str] = (),
        live: bool = False,
        sort: str | None = None,
    ) -> list[Session]:
        """List sessions; without targets, all of them. `live`: only those whose tmux session
        exists; `status`: `running`, `stopped` or `terminated`; `state`: one or more of `working`,
        `waiting`, `limited`, `idle` and `unknown`; `sort`: `name`, `status`, `live`, `agent`,
        `state`, `idle`, `memory` or `server`."""
        from tmuxreap.commands import list as verb

        def work(context: Context) -> Result:
            words = words_of(context, targets) if targets else ()
            states = verb.states_of([state] if isinstance(state, str) else state)
            request = verb.ListRequest(words, status, live, sort, states=states)
            return verb.run(context, request)

        return self._sessions(work)

    def session(self, target: Target) -> Session:
        """Return one session. Raises NotFoundError if there is none."""
        (wanted,), _ = listed(target)
        return self.sessions(wanted)[0]

    @overload
    def resume(self, target: Target, /, *, confirm: float | str | None = ...) -> Session: ...
    @overload
    def resume(
        self,
        target: None = None,
        /,
        *,
        set: str,
        confirm: float | str | None = ...,
        max_failures: int = ...,
    ) -> list[Session]: ...
    def resume(
        self,
        target: Target | None = None,
        /,
        *,
        set: str | None = None,  # noqa: A002 - named like the flag
        confirm: float | str | None = None,
        max_failures: int = 3,
    ) -> Session | list[Session]:
        """Continue the captured conversation of an ended session, in its folder and with its flags;
        with `set` those of all sessions that one stop, kill or reap ended (`last`: the newest stop
        or kill). Raises the reason if it cannot (`not_resumable`, `session_exists`, ...)."""
        from tmuxreap.commands import resume as verb
        from tmuxreap.commands.starting.row import CONFIRM_S

        if confirm is None:
            confirm_s = CONFIRM_S
        else:
            confirm_s = seconds(confirm) or 0.0

        def work(context: Context) -> Result:
            check_free(self.path, "resume a session")
            words: tuple[str, ...] = ()
            if target is not None:
                words = words_of(context, listed(target)[0])
            request = verb.ResumeRequest(
                words, confirm_s=confirm_s, set_name=set, max_failures=max_failures
            )
            return verb.run(context, request)

        resumed = self._sessions(work)
        return resumed if set is not None else resumed[0]

    def adopt(
        self,
        name: str,
        *,
        agent: str | None = None,
        server: str | None = None,
        tags: Iterable[str] = (),
        force: bool = False,
        pane: str | None = None,
        background: str | None = None,
    ) -> Session:
        """Register a session that already exists. `pane`: one of several panes, as %3;
        `background`: a session that the agent's own daemon runs, as claude:1a2b3c4d."""
        from tmuxreap.commands import adopt as verb

        request = verb.AdoptRequest(
            name, agent, server, tuple(tags), force=force, pane=pane, background=background
        )
        return self._sessions(lambda context: verb.run(context, request))[0]

    def start(
        self,
        name: str,
        *,
        agent: str | None = None,
        command: Iterable[str] = (),
        cwd: str | os.PathLike[str] | None = None,
        tags: Iterable[str] = (),
        task_id: str | None = None,
        ttl: str | None = None,
        server: str | None = None,
        confirm: float | str | None = None,
        replace: bool = False,
        terminal: str | None = None,
        worktree: str | os.PathLike[str] | None = None,
        restart: str | None = None,
        restart_limit: str | None = None,
    ) -> Session:
        """Start an agent in a new tmux session, or with `terminal="none"` without tmux, and
        register it. `restart` ("on-failure", "always", "never") needs a running watch. Raises
        EndingError with the code `start_failed` if the agent does not live, `session_exists` if it
        already runs."""
        from tmuxreap.commands import start as verb
        from tmuxreap.commands.starting.row import CONFIRM_S

        request = verb.StartRequest(
            name=name,
            agent=agent,
            cwd=None if cwd is None else os.fspath(cwd),
            tags=tuple(tags),
            task_id=task_id,
            ttl=ttl,
            server=server,
            confirm_s=CONFIRM_S if confirm is None else seconds(confirm) or 0.0,
            replace=replace,
            command=tuple(command),
            terminal=terminal,
            worktree=None if worktree is None else os.fspath(worktree),
            restart=restart,
            restart_limit=restart_limit,
        )

        def work(context: Context) -> Result:
            check_free(self.path, f"start {name}")
            return verb.run(context, request)

        return self._sessions(work)[0]

    def forget(
        self, *targets: Target, history: bool = False, force: bool = False
    ) -> list[Forgotten]:
        """Drop the rows of ended sessions (`force`: of any); with `history` their events too.
        Raises EndingError with the code `session_alive`, and the answers in `results`."""
        from tmuxreap.commands import forget as verb

        def work(context: Context) -> Result:
            request = verb.ForgetRequest(words_of(context, targets), history, force)
            return verb.run(context, request)

        return answers_of(self.path, Forgotten, work)

    def reconcile(self, *, dry_run: bool = False) -> Reconciled:
        """Bring registry, ledger and tmux into agreement; what is not certain is reported. Raises
        TmuxError, with the answer in `results`, if a server could not be asked."""
        from tmuxreap.commands.reconcile import reconcile as verb

        result = run_verb(self.path, lambda context: verb.run(context, dry_run=dry_run))
        answer = read(Reconciled, result.as_json())
        if result.failure is not None:
            raise error_of(result.failure, [answer])
        return answer

    def lock(self, timeout: float = 10.0) -> BaseFileLock:
        """Return the lock that every command takes, as a filelock.BaseFileLock: for workflows that
        write the file themselves. It is reentrant, and raises filelock.Timeout.

        The thread that holds it can still end sessions that are already gone; a call that would
        have to wait for processes raises LockHeld."""
        from tmuxreap.system.lock import lock

        return lock(self.path.resolve(), timeout)

    def _sessions(self, work: Callable[[Context], Result]) -> list[Session]:
        return answers_of(self.path, Session, work)
