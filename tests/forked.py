"""Workers that are forks of a process which has imported all tests: else each of eight spends two
seconds on that."""

from __future__ import annotations

import contextlib
import os
import sys

import pytest

from tests import warm
from tests.warm import Warm

_forked: list[Warm] = []


def begin(config: pytest.Config, specs: list[object]) -> None:
    """Let execnet begin workers by the caller of these forks, which is called as Python is."""
    if os.name != "posix" or not sys.platform.startswith("linux"):
        return
    there = ["-c", str(config.inipath), "--rootdir", str(config.rootpath)]
    plugins = [word for name in config.option.plugins for word in ("-p", name)]
    words = [*there, *plugins, "-n0", "--collect-only", "-qqq", *config.args]

    def prepare() -> None:
        warm.forget()
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            pytest.main(words)

    _forked.append(Warm(prepare, _work))
    for spec in specs:
        spec.python = str(_forked[-1].program)  # type: ignore[attr-defined]


def end() -> None:
    while _forked:
        _forked.pop().close()


def _work() -> None:
    """Do what the words say: `-u -c "import sys;exec(eval(sys.stdin.readline()))"`."""
    exec(sys.argv[-1], {"__name__": "__main__"})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
