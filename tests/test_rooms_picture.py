"""The picture of the rooms matches the imports, and ARCHITECTURE.md names existing files."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py|\.yaml)?)`", PAGE)))


def test_the_picture_is_what_the_imports_say() -> None:
    ran = subprocess.run(
        [sys.executable, "scripts/rooms", "--check"], cwd=ROOT, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


def test_the_picture_of_other_imports_is_another(tmp_path: Path) -> None:
    package = tmp_path / "tmuxreap"
    (package / "core").mkdir(parents=True)
    (package / "core" / "__init__.py").write_text("")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "rooms"
    script.write_text((ROOT / "scripts" / "rooms").read_text())
    (tmp_path / "docs" / "pictures").mkdir(parents=True)
    (tmp_path / "docs" / "pictures" / "rooms.svg").write_text(
        (ROOT / "docs/pictures/rooms.svg").read_text()
    )
    ran = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, check=False)
    assert ran.returncode == 1


def is_there(place: str) -> bool:
    folders = [ROOT, ROOT / "tmuxreap", *(ROOT / "tmuxreap").glob("*/"), ROOT / "tests"]
    return any((folder / place).exists() for folder in folders)


def test_a_place_that_the_page_names_is_there() -> None:
    assert [place for place in NAMED if not is_there(place)] == []


def test_the_page_names_every_room() -> None:
    rooms = [path.parent.name for path in (ROOT / "tmuxreap").glob("*/__init__.py")]
    assert rooms
    assert [room for room in rooms if f"`{room}/`" not in PAGE] == []
