"""This program run again: from any folder, whatever lies there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.poison import poisoned, was_eaten
from tmuxreap.system.whereabouts import own_command


def run(folder: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        words, cwd=folder, env={**kept, **environ}, capture_output=True, text=True, check=False
    )


def test_the_program_imports_no_module_of_the_folder_it_runs_in(tmp_path: Path) -> None:
    folder = poisoned(tmp_path)
    done = run(folder, *own_command("agents", "--json"))
    assert (done.returncode, was_eaten(folder)) == (0, [])


def test_package_modules_hide_no_standard_module() -> None:
    program = Path(own_command()[1])
    names = {path.stem for path in program.parent.iterdir()}
    assert names & sys.stdlib_module_names == {"__init__", "__main__"} & sys.stdlib_module_names
