"""`doctor`: checks everything that could be wrong, and reports each finding with the command that
fixes it.

Changes nothing. A check that fails becomes a finding, and the others still run."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from tmuxreap.agents.load import Profiles, load_profiles
from tmuxreap.commands import hooks
from tmuxreap.commands.doctor import machine, registry
from tmuxreap.commands.doctor.machine import Level, Setup, failed, note, ok, problem
from tmuxreap.core.answers import Finding, Hooked
from tmuxreap.core.errors import Exit, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import replace
from tmuxreap.ledger.books import Books
from tmuxreap.ledger.database import copy_of, ledger_path
from tmuxreap.registry.file import RegistryFile
from tmuxreap.sessions.context import Context


def run(context: Context) -> Result:
    findings = list(examine(context))
    well = all(finding.level != Level.PROBLEM for finding in findings)
    return context.result("doctor", findings, status=Exit.OK if well else Exit.FAILED)


def examine(context: Context) -> Iterator[Finding]:
    findings, profiles = _profiles(context)
    yield from findings
    with contextlib.ExitStack() as held:
        inspected = context.with_own(profiles=profiles)
        look = None
        trouble = None
        folder = Path(os.devnull, "nowhere")
        try:
            made = tempfile.TemporaryDirectory(prefix="tmuxreap-", ignore_cleanup_errors=True)
            folder = Path(held.enter_context(made))
        except OSError as error:
            message = f"no file can be made for a moment: {error}"
            yield problem(message, "make room, or set TMPDIR to a folder of yours", name="place")
        try:
            # read the file itself, not the ledger's cached copy
            own = RegistryFile(context.registry.path)
            copy, trouble = _copied(own, folder)
            books = Books(own, context.clock, context.warnings, copy)
            held.callback(books.close)  # `context` closes what it opened itself
            inspected = inspected.with_own(profiles=profiles, registry=own, books=books)
            look = own.look()
        except Failure as failure:
            yield registry.registry_trouble(inspected, failure)
        setup = Setup(inspected, look)
        for name, check in CHECKS.items():
            yield from _guarded(name, partial(check, setup))
        yield from _guarded("ledger", partial(registry.check_ledger, setup, trouble))


def check_hooks(setup: Setup) -> Iterator[Finding]:
    """Check for each installed agent with hooks whether `hooks install` would change anything."""
    profiles = setup.app.profiles.agents
    for agent in (name for name in setup.installed if profiles[name].hooks is not None):
        request = hooks.HooksRequest(hooks.HooksAction.INSTALL, agent, dry_run=True)
        try:
            (answer,) = hooks.run(setup.app, request).results
        except Failure as failure:
            yield failed(failure)
            continue
        if not isinstance(answer, Hooked):
            continue
        if answer.action == "unchanged":
            yield ok(f"{agent}: installed in {answer.file}")
        else:
            message = (
                f"{agent}: our hooks are not installed in {answer.file}; its state is read from its"
                " screen only"
            )
            yield note(message, f"tmuxreap hooks install {agent}")


CHECKS: dict[str, Callable[[Setup], Iterable[Finding]]] = {
    "tmux": machine.check_tmux,
    "sockets": machine.check_sockets,
    "registry": registry.check_registry,
    "lock": registry.check_lock,
    "intents": registry.check_intents,
    "sessions": registry.check_sessions,
    "unregistered": machine.check_unregistered,
    "leaks": machine.check_leaks,
    "daemons": machine.check_daemons,
    "load": machine.check_load,
    "projects": machine.check_registries,
    "agents": machine.check_agents,
    "hooks": check_hooks,
}


def _guarded(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Run one check, and turn its failure into a finding so that the others still run."""
    try:
        findings = list(check())
    except Failure as failure:
        findings = [failed(failure)]
    except Exception as error:  # noqa: BLE001 - a failing check must not stop the rest
        message = f"could not look at this: {type(error).__name__}: {error}"
        findings = [problem(message, "this may be a bug: please report it with the message")]
    return [finding if finding.name else replace(finding, name=name) for finding in findings]


def _profiles(context: Context) -> tuple[list[Finding], Profiles]:
    """Reload the profiles, and find what is wrong in the user's files."""
    settings = context.settings
    profiles = load_profiles(settings.user_profiles, state_folder=settings.state_folder)
    faults = (*context.faults, *profiles.faults)
    findings = [failed(fault.failure) for fault in faults]
    return [replace(finding, name="profiles") for finding in findings], profiles


def _copied(own: RegistryFile, folder: Path) -> tuple[Path, str | None]:
    """Copy the ledger: opening the real one may leave SQLite files, or set it aside as broken."""
    ledger = ledger_path(own.resolved)
    if ledger.is_file():
        return copy_of(ledger, folder)
    return (folder / "none.db", None)
