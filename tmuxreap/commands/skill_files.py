"""The skills that come with the program, and their copies in other people's projects.

A list of what was installed (`sha256sum -c` reads it) stands beside the copies: so a file that a
person changed is told from one that is merely old. What was changed is never replaced unasked, and
no file that is not ours is touched."""

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
    """One skill as it comes with us: what each of its files holds, by its path in the folder of the
    skill."""

    name: str
    files: Mapping[str, bytes]


@frozen
class Comparison:
    """The files of a skill by what a copy needs: nothing, to be written, or a word of the person
    who changed them."""

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
    found: dict[str, list[str]] = {"same": [], "missing": [], "old": [], "changed": []}
    for name, data in skill.files.items():
        found[_standing(dest, f"{skill.name}/{name}", data, installed)].append(name)
    return Comparison(
        skill, dest / skill.name, **{how: tuple(names) for how, names in found.items()}
    )


def _standing(dest: Path, name: str, data: bytes, installed: Mapping[str, str]) -> str:
    path = dest / name
    link = next(
        (
            one
            for one in path.parents
            if one.is_relative_to(dest) and one != dest and one.is_symlink()
        ),
        None,
    )
    if link is not None and not (path.is_file() and path.read_bytes() == data):
        raise OSError(errno.ELOOP, "a folder of it is a link to somewhere else", str(link))
    if not os.path.lexists(path):
        return "missing"
    if path.is_symlink() or not path.is_file():
        return "changed"
    there = path.read_bytes()
    if there == data:
        return "same"
    return "old" if installed.get(name) == _digest(there) else "changed"


def write(comparison: Comparison, names: tuple[str, ...]) -> None:
    """Each file whole or not at all. Listed last: after a copy that was cut short the same files
    are the same still."""
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
    """What we put there, and the digest that it had; a list that cannot be read names nothing."""
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
