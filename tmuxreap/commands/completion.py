"""`completion`: the script that teaches a shell our words. What it offers is found out by `tmuxreap.completion`."""

from __future__ import annotations

from pathlib import Path

from tmuxreap.app import App
from tmuxreap.errors import Code, Failure
from tmuxreap.results import PlainResult, Result

SCRIPTS = Path(__file__).parent.parent / "shells"
SHELLS = ("bash", "zsh", "fish")


def run(app: App, shell: str) -> Result:
    if shell not in SHELLS:
        raise Failure(Code.USAGE, f"could not complete for {shell!r}: it is not known", f"give {', '.join(SHELLS)}")
    script = (SCRIPTS / f"tmuxreap.{shell}").read_text(encoding="utf-8").splitlines()
    return Result("completion", None, app.clock.now(), [PlainResult(shell, {"script": script})])
