"""A folder full of modules that write a file when they are imported, as a cloned project may be."""

from __future__ import annotations

from pathlib import Path

NAMES = (
    *("json", "typing", "signal", "sqlite3", "typer", "yaml", "tmuxreap", "os", "re", "pathlib"),
    *("argparse", "select", "contextlib", "subprocess", "time", "shlex", "fcntl", "click", "anyio"),
    *("mcp", "textual", "rich", "pydantic", "psutil", "libtmux", "filelock", "sitecustomize"),
)
EATEN = """with open({eaten!r}, "a") as file:
    file.write(__name__ + "\\n")
raise ImportError("a module of the working directory")
"""


def poisoned(folder: Path) -> Path:
    made = folder / "project"
    made.mkdir()
    text = EATEN.format(eaten=str(folder / "eaten"))
    for name in NAMES:
        (made / f"{name}.py").write_text(text)
    for package in ("tmuxreap", "tmuxreap/core", "tmuxreap/interfaces"):
        (made / package).mkdir()
        (made / package / "__init__.py").write_text(text)
        (made / package / "__main__.py").write_text(text)
    return made


def was_eaten(folder: Path) -> list[str]:
    """Return the names of the modules that were imported."""
    eaten = folder.parent / "eaten"
    return eaten.read_text().split() if eaten.exists() else []
