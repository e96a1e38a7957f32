"""`hooks install` and `hooks remove`: edit only our own hooks in an agent's settings."""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import sys
from enum import Enum
from pathlib import Path

from tmuxreap.agents.conversations.records import store_of
from tmuxreap.agents.hooks import settings_file
from tmuxreap.agents.profiles import Hooks
from tmuxreap.core.answers import Hooked
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import frozen
from tmuxreap.sessions.context import Context
from tmuxreap.system import files
from tmuxreap.system.whereabouts import own_command

TRIES = 3


class HooksAction(Enum):
    INSTALL = "install"
    REMOVE = "remove"


DONE = {HooksAction.INSTALL: "installed", HooksAction.REMOVE: "removed"}


@frozen
class HooksRequest:
    action: HooksAction
    agent: str
    dry_run: bool = False


def run(context: Context, request: HooksRequest) -> Result:
    hooks, path = _place(context, request)
    before, after = _changed(context, request, hooks, path)
    if request.dry_run:
        done = "planned"
    else:
        done = DONE[request.action]
    if request.dry_run:
        diff = _diff(before or "", after or "", path)
    else:
        diff = ()
    item = Hooked(
        name=request.agent,
        file=str(path),
        action="unchanged" if before == after else done,
        events=tuple(hooks.events),
        diff=diff,
    )
    warnings = (*context.warnings, *_warnings(request, path, after))
    return Result("hooks", None, context.clock.now(), [item], warnings)


def _place(context: Context, request: HooksRequest) -> tuple[Hooks, Path]:
    context.profiles.check(request.agent)
    profile = context.profiles.of(request.agent)
    if profile is None:
        reason = f": {request.agent!r} is not a known agent"
        raise _failed(request, reason, "see the agents with: tmuxreap agents")
    if profile.hooks is None:
        supported = ", ".join(name for name, it in context.profiles.agents.items() if it.hooks)
        hint = f"these have: {supported}; others can call `tmuxreap heartbeat` themselves"
        raise _failed(request, f" of {request.agent}: none are known for it", hint)
    store = store_of(profile, context.settings.environ, None, context.settings.home)
    if store is None:
        reason = f" of {request.agent}: HOME is not set"
        raise _failed(request, reason, "set HOME to that of the agent")
    return profile.hooks, store / profile.hooks.file


def _changed(
    context: Context, request: HooksRequest, hooks: Hooks, path: Path
) -> tuple[str | None, str | None]:
    """Return the text before and after, None for no file. Retry if another program writes
    meanwhile."""
    place = f" of {request.agent} in {path}"
    for _ in range(TRIES):
        try:
            content = None
            if os.path.lexists(path):
                content = files.read(path)
            if content is None:
                before = None
            else:
                before = content.data.decode("utf-8")
            after = _edited(context, request, hooks, before)
            if before != after and after is not None and not request.dry_run:
                if content is None:
                    files.create(path, after.encode())
                else:
                    files.replace(path, after.encode(), content.stamp)
        except (files.ChangedMeanwhile, FileExistsError):
            continue
        except ValueError as error:
            reason = f"{place}: it is not plain JSON: {error}"
            raise _failed(request, reason, "fix it; nothing was changed") from None
        except OSError as error:
            reason = f"{place}: {error.strerror or error}"
            hint = "make it readable and writable"
            raise _failed(request, reason, hint, Code.PERMISSION_DENIED) from None
        return before, after
    raise _failed(request, f"{place}: another program writes it again and again", "try again")


def _edited(
    context: Context, request: HooksRequest, hooks: Hooks, before: str | None
) -> str | None:
    if request.action is HooksAction.REMOVE:
        if before is None or not before.strip():
            return before
        return settings_file.removed(before, request.agent)
    if before is not None and before.strip():
        text = before
    else:
        text = "{}\n"
    return settings_file.installed(text, hooks, request.agent, program(context))


def program(context: Context) -> str:
    """Return the absolute command of this program: an agent's PATH may differ from ours."""
    invoked = Path(sys.argv[0])
    if invoked.name == "tmuxreap" and os.access(invoked, os.X_OK):
        return shlex.quote(str(invoked.absolute()))
    path = shutil.which("tmuxreap", path=context.settings.environ.get("PATH"))
    if path:
        return shlex.quote(path)
    return shlex.join(own_command())


def _diff(before: str, after: str, path: Path) -> tuple[str, ...]:
    names = f"{path} (now)", f"{path} (then)"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *names, lineterm="")
    return tuple(lines)


def _warnings(request: HooksRequest, path: Path, after: str | None) -> list[str]:
    if request.action is HooksAction.REMOVE or after is None:
        return []
    switch = settings_file.switched_off_by(after)
    if switch is None:
        return []
    return [f"hooks_switched_off: {switch} is set in {path}: while it is, no hook is called"]


def _failed(request: HooksRequest, reason: str, hint: str, code: Code = Code.USAGE) -> Failure:
    return Failure(code, f"could not {request.action.value} hooks{reason}", hint)
