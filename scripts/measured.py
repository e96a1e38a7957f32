"""Says when and on which commit something was measured, for the pages that tell of it."""

from __future__ import annotations

import datetime
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def date() -> str:
    return datetime.date.today().isoformat()


def commit() -> str:
    """Return the short name of the commit, with `-dirty` where files differ from it."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
