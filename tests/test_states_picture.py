"""The picture of the states matches the tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tmuxreap.core.model import AgentState, Status

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "pictures" / "states.svg"


def check(root: Path) -> int:
    words = [sys.executable, str(root / "scripts" / "states"), "--check"]
    return subprocess.run(words, cwd=ROOT, capture_output=True, check=False).returncode


def test_the_picture_is_what_the_tables_say() -> None:
    assert check(ROOT) == 0
    shown = PICTURE.read_text(encoding="utf-8")
    states = [one.value for one in (*AgentState, *Status) if one is not Status.ARCHIVED]
    assert [state for state in states if state not in shown] == []
    assert "href" not in shown


def test_the_picture_of_other_tables_is_another(tmp_path: Path) -> None:
    for folder in ("scripts", "docs/pictures"):
        (tmp_path / folder).mkdir(parents=True)
    script = (ROOT / "scripts" / "states").read_text(encoding="utf-8")
    (tmp_path / "scripts" / "states").write_text(script, encoding="utf-8")
    copy = tmp_path / "docs" / "pictures" / "states.svg"
    copy.write_text(PICTURE.read_text(encoding="utf-8"), encoding="utf-8")
    assert check(tmp_path) == 0
    copy.write_text(PICTURE.read_text(encoding="utf-8").replace("limited", "limits"))
    assert check(tmp_path) == 1
