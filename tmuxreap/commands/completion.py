"""`completion`: prints a shell's completion script. `interfaces.completion` finds candidates."""

from __future__ import annotations

from pathlib import Path

from tmuxreap.core.answers import Script
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.sessions.context import Context

SCRIPTS = Path(__file__).parents[1] / "interfaces" / "completion" / "shells"
SHELLS = ("bash", "zsh", "fish")


def run(context: Context, shell: str) -> Result:
    if shell not in SHELLS:
        reason = f"could not complete for {shell!r}: it is not known"
        raise Failure(Code.USAGE, reason, f"give {', '.join(SHELLS)}")
    script = (SCRIPTS / f"tmuxreap.{shell}").read_text(encoding="utf-8").splitlines()
    return Result("completion", None, context.clock.now(), [Script(shell, tuple(script))])
