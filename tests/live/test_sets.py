"""A stop by set in the evening and a resume in the morning, with real tmux; and the breaker."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.real import CONFIRM_S, Real
from tmuxreap.commands import resume
from tmuxreap.core.results import Result

pytestmark = pytest.mark.live

WORKS = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n'
SETTLED_S = 0.5  # for the exec of the program by its shell
FAILS = "#!/bin/sh\necho no licence\nsleep 0.2\nexit 1\n"


def resumed(real: Real, *targets: str, **more: Any) -> Result:
    with real.app() as app:
        return resume.run(
            app, resume.ResumeRequest(targets, confirm_s=more.pop("confirm_s", CONFIRM_S), **more)
        )


def agents(real: Real, *names: str, program: Path | None = None) -> None:
    command = (str(program), "-m", "tmuxreap.demo_agent") if program else ()
    for name in names:
        real.start(name, command=command, confirm_s=SETTLED_S if program else CONFIRM_S)
        real.submit("hello", name)


def test_sessions_stopped_in_the_evening_are_resumed_in_the_morning(real: Real) -> None:
    agents(real, "a", "b", "c")
    real.stop("c", set_name="noon")
    real.stop("all", set_name="evening")
    assert real.sessions() == set()
    result = resumed(real, set_name="evening")
    assert (int(result.exit), [item.name for item in result.results]) == (0, ["a", "b"])
    assert real.sessions() == {"a", "b"}
    again = resumed(real, set_name="evening")
    assert (int(again.exit), list(again.results)) == (0, [])
    real.stop("all")


@pytest.mark.parametrize(("limit", "tried"), [(2, 2), (0, 5)])
def test_a_resume_of_several_halts_when_starts_fail(real: Real, limit: int, tried: int) -> None:
    program = real.folder / "python3"
    program.write_text(WORKS)
    program.chmod(0o755)
    names = [f"s{number}" for number in range(5)]
    agents(real, *names, program=program)
    real.stop("all", set_name="evening")
    program.write_text(FAILS)
    result = resumed(real, "all", max_failures=limit, confirm_s=10.0)
    answer = result.as_json()
    codes = [item.error.code for item in result.results if item.error]
    assert codes == ["start_failed"] * tried
    assert int(result.exit) == 1
    if limit:
        assert answer["error"]["code"] == "resume_halted"
        assert answer["not_tried"] == names[tried:]
        assert str(answer).count("no licence") == 1
    else:
        assert answer["error"] is None
    program.write_text(WORKS)
    back = resumed(real, set_name="evening", confirm_s=SETTLED_S)
    assert int(back.exit) == 0
    assert real.sessions() == set(names)
    real.stop("all")
