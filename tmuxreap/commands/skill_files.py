"""Owns the bundled skills and their copies in the user's projects.

A list of installed files, readable by `sha256sum -c`, lies beside the copies: it tells a file that
the user changed from an outdated one. Never replaces changed files unasked, and never touches other
files."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from tmuxreap.core.values import frozen

LISTED = ".tmuxreap-skills"
PACKED = Path(__file__).parents[1] / "_skills"  # in a wheel
CHECKOUT = Path(__file__).parents[2] / "skills"


@frozen
class Skill:
    """A bundled skill: the content of its files, by their paths in its folder."""

    name: str
    files: Mapping[str, bytes]


@frozen
class Comparison:
    """A skill's files by the state of their copies; changed ones need the user's consent."""

    skill: Skill
    folder: Path
    same: tuple[str, ...]
    missing: tuple[str, ...]
    old: tuple[str, ...]
    changed: tuple[str, ...]


def our_skills() -> list[Skill]:
    home = PACKED if PACKED.is_dir() else CHECKOUT
    return [
        Skill(
            folder.name,
            {str(path.relative_to(folder)): path.read_bytes() for path in _files(folder)},
        )
        for folder in sorted(home.iterdir())
        if (folder / "SKILL.md").is_file()
    ]


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def compare(skill: Skill, dest: Path) -> Comparison:
    installed = _listed(dest)
    names_by_state: dict[str, list[str]] = {"same": [], "missing": [], "old": [], "changed": []}
    for name, data in skill.files.items():
        names_by_state[_standing(dest, f"{skill.name}/{name}", data, installed)].append(name)
    return Comparison(
        skill, dest / skill.name, **{how: tuple(names) for how, names in names_by_state.items()}
    )


def _standing(dest: Path, name: str, data: bytes, installed: Mapping[str, str]) -> str:
    path = dest / name
    link = next(
        (
            parent
            for parent in path.parents
            if parent.is_relative_to(dest) and parent != dest and parent.is_symlink()
        ),
        None,
    )
    if link is not None and not (path.is_file() and path.read_bytes() == data):
        raise OSError(errno.ELOOP, "a folder of it is a link to somewhere else", str(link))
    if not os.path.lexists(path):
        return "missing"
    if path.is_symlink() or not path.is_file():
        return "changed"
    current = path.read_bytes()
    if current == data:
        return "same"
    return "old" if installed.get(name) == _digest(current) else "changed"


def write(comparison: Comparison, names: tuple[str, ...]) -> None:
    """Write the files, each atomically, then the list: after an interruption, the files written so
    far still count as unchanged."""
    dest, skill = comparison.folder.parent, comparison.skill
    installed = _listed(dest)
    listed = {
        **installed,
        **{f"{skill.name}/{n}": _digest(skill.files[n]) for n in (*names, *comparison.same)},
    }
    if listed == installed and not names:
        return
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
    for name in names:
        _put(
            comparison.folder / name,
            skill.files[name],
            0o755 if name.startswith("scripts/") else 0o644,
        )
    _put(dest / LISTED, text.encode(), 0o644)


def _put(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _listed(dest: Path) -> dict[str, str]:
    """Return the files that we installed, with their digests; nothing if the list is unreadable."""
    try:
        lines = (
            (dest / LISTED).read_text(encoding="utf-8").splitlines()
            if (dest / LISTED).is_file()
            else []
        )
    except (OSError, ValueError):
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
