"""An agent that has given its terminal to another program: a person's editor, a pager."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.real import Real, alive, answer, until
from tmuxreap.commands import start

pytestmark = pytest.mark.live

# It shows a prompt, passes its draft to a program of the person's on Ctrl-G, and takes it back.
PEN = r"""
import os, subprocess, sys, termios, tty
draft, program, file, log = "", *sys.argv[1:4]
cooked = termios.tcgetattr(0)
while True:
    tty.setraw(0, termios.TCSANOW)
    os.write(1, b"\x1b[2J\x1b[H> " + draft.encode())
    key = os.read(0, 1)
    with open(log, "ab") as heard:
        heard.write(key)
    if key == b"\x07":
        open(file, "w").write(draft)
        termios.tcsetattr(0, termios.TCSADRAIN, cooked)
        subprocess.call([program, file])
        draft = open(file).read().strip()
    elif key == b"\x03":
        draft = ""
    elif key == b"q":
        break
    else:
        draft += key.decode()
"""
BLOCK = {
    "process": ["pen"],
    "screens": {"idle": r"^>\s*\Z", "draft": r"^> (?P<draft>\S.*)\Z"},
    "keys": {"idle": ["q"], "safe": ["C-c", 0.3, "q"], "empty": ["C-c"]},
}


def started(real: Real, program: str) -> None:
    own = Path(os.environ["XDG_CONFIG_HOME"], "tmuxreap")
    own.mkdir()
    (own / "agents.yaml").write_text(json.dumps({"agents": {"pen": BLOCK}}))
    script = real.folder / "pen"
    script.write_text(PEN)
    words = (str(script), program, str(real.folder / "draft.md"), str(heard(real)))
    line = ("env", f"EDITOR={program}", sys.executable, *words)
    request = start.StartRequest("acme", "pen", str(real.folder), server=real.socket, command=line)
    with real.app() as app:
        start.run(app, request)
    until("its prompt", lambda: real.screen().strip() == ">")
    real.keys("acme", "-l", "half")
    real.shows("acme", "> half")
    real.keys("acme", "C-g")


def heard(real: Real) -> Path:
    return real.folder / "heard"


def kept(real: Real) -> list[str]:
    return [event["text"] for event in real.events("draft")]


@pytest.mark.skipif(shutil.which("vi") is None, reason="there is no vi")
def test_a_persons_editor_gets_no_key_and_what_is_in_it_is_kept(real: Real) -> None:
    started(real, "vi")
    real.shows("acme", "~")
    real.keys("acme", "A", " and whole")
    real.shows("acme", "half and whole")
    result = answer(real.stop())
    assert result["stopped_by"] == "exit_keys"
    assert any("half and whole" in text for text in kept(real))
    assert any(text.startswith("draft_lost") and "not saved" in text for text in result["warnings"])
    assert (real.folder / "draft.md").read_text().strip() == "half"


@pytest.mark.skipif(shutil.which("vi") is None, reason="there is no vi")
def test_a_saved_draft_is_kept_without_a_warning(real: Real) -> None:
    started(real, "vi")
    real.shows("acme", "~")
    real.keys("acme", "A", " and whole", "Escape", ":w", "Enter")
    until("the file", lambda: "whole" in (real.folder / "draft.md").read_text())
    result = answer(real.stop())
    assert (result["stopped_by"], result["warnings"]) == ("exit_keys", [])
    assert kept(real)[-1] == "half and whole"


def test_a_program_that_has_the_terminal_gets_no_key_and_is_named(real: Real) -> None:
    reader = real.folder / "reader"
    reader.write_text(f"#!/bin/sh\necho shown; read line && echo $line >{heard(real)}.reader\n")
    reader.chmod(0o755)
    started(real, str(reader))
    real.shows("acme", "shown")
    before = heard(real).read_bytes()
    plan = rungs(answer(real.stop(dry_run=True)))
    assert plan["keys"].endswith("has its terminal, and would take the keys")
    pid = real.pid()
    result = answer(real.stop())
    assert (result["outcome"], result["stopped_by"]) == ("stopped", "hangup")
    assert rungs(result)["keys"] == plan["keys"]
    assert not alive(pid)
    assert heard(real).read_bytes() == before
    assert not Path(f"{heard(real)}.reader").exists()


def rungs(result: dict[str, Any]) -> dict[str, str]:
    listed = result.get("rungs") or result["plan"]["rungs"]
    return {rung["name"]: rung["skipped"] or "" for rung in listed}
