"""Owns `skills`: the bundled skills, and their copies in the user's projects. A list beside the
copies, readable by `sha256sum -c`, tells what the user changed from what is outdated. Never
replaces a changed file unasked, and never touches other files."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from tmuxreap.core import answers
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result, problem_of
from tmuxreap.core.values import frozen
from tmuxreap.sessions.context import Context

LISTED = ".tmuxreap-skills"
PACKED = Path(__file__).parents[1] / "_skills"  # in a wheel
CHECKOUT = Path(__file__).parents[2] / "skills"


@frozen
class BundledSkill:
    """A bundled skill: the content of its files, by their paths in its folder."""

    name: str
    files: Mapping[str, bytes]


@frozen
class Comparison:
    """A skill's files, each with the state of its copy: same, missing, old, or changed by somebody,
    who has to consent."""

    skill: BundledSkill
    folder: Path
    states: Mapping[str, str]

    def names(self, *states: str) -> tuple[str, ...]:
        return tuple(name for name, state in self.states.items() if state in states)


def our_skills() -> list[BundledSkill]:
    home = PACKED if PACKED.is_dir() else CHECKOUT
    folders = (folder for folder in sorted(home.iterdir()) if (folder / "SKILL.md").is_file())
    return [BundledSkill(folder.name, _files(folder)) for folder in folders]


def _files(folder: Path) -> dict[str, bytes]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def compare(skill: BundledSkill, dest: Path) -> Comparison:
    installed = _listed(dest)
    states = {}
    for name, data in skill.files.items():
        states[name] = _standing(dest, f"{skill.name}/{name}", data, installed)
    return Comparison(skill, dest / skill.name, states)


def _standing(dest: Path, name: str, data: bytes, installed: Mapping[str, str]) -> str:
    path = dest / name
    folders = path.parents[: len(path.relative_to(dest).parts) - 1]
    link = next((folder for folder in folders if folder.is_symlink()), None)
    if link is not None and not (path.is_file() and path.read_bytes() == data):
        raise OSError(errno.ELOOP, "a folder of it is a link to somewhere else", str(link))
    if not os.path.lexists(path):
        return "missing"
    if path.is_symlink() or not path.is_file():
        return "changed"
    current = path.read_bytes()
    if current == data:
        return "same"
    if installed.get(name) == _digest(current):
        return "old"
    return "changed"


def write(comparison: Comparison, names: tuple[str, ...]) -> None:
    """Write the files, each atomically, then the list: after an interruption, the files written so
    far still count as unchanged."""
    dest = comparison.folder.parent
    skill = comparison.skill
    installed = _listed(dest)
    ours = (*names, *comparison.names("same"))
    listed = installed | {f"{skill.name}/{name}": _digest(skill.files[name]) for name in ours}
    if listed == installed and not names:
        return
    text = "".join(f"{digest}  {name}\n" for name, digest in sorted(listed.items()))
    for name in names:
        mode = 0o755 if name.startswith("scripts/") else 0o644
        _put(comparison.folder / name, skill.files[name], mode)
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
    if not (dest / LISTED).is_file():
        return {}
    try:
        lines = (dest / LISTED).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    found: dict[str, str] = {}
    for digest, _, name in (line.partition("  ") for line in lines):
        if name:
            found[name] = digest
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


COMMON = Path(".agents") / "skills"  # read by codex, gemini, opencode and others
CLAUDE = Path(".claude") / "skills"  # the only place where claude looks


@frozen
class SkillsRequest:
    dest: str | None = None
    dry_run: bool = False
    yes: bool = False


def run(context: Context, request: SkillsRequest) -> Result:
    skills = our_skills()
    items: list[answers.Skill] = []
    for folder in _destinations(context.settings.cwd, request.dest):
        items += [_installed(skill, folder, request) for skill in skills]
    return Result("skills", None, context.clock.now(), items)


def _destinations(project: Path, dest: str | None) -> list[Path]:
    """Return .agents/skills and, if .claude exists, .claude/skills; linked folders count once."""
    if dest == "":
        reason = "could not install the skills: --dest was given an empty path"
        raise Failure(Code.USAGE, reason, "name a folder")
    if dest is not None:
        return [project / Path(dest).expanduser()]
    common = project / COMMON
    claude = project / CLAUDE
    if not (project / ".claude").is_dir() or claude.resolve() == common.resolve():
        return [common]
    return [common, claude]


def _installed(skill: BundledSkill, dest: Path, request: SkillsRequest) -> answers.Skill:
    folder = dest / skill.name
    try:
        comparison = compare(skill, dest)
    except OSError as error:
        return answers.Skill("skills", "failed", error=problem_of(_unwritable(folder, error)))
    changed = comparison.names("changed")
    names = comparison.names("missing", "old") + (changed if request.yes else ())
    outcome = _outcome(comparison, names)
    try:
        if not request.dry_run:
            write(comparison, names)
    except OSError as error:
        problem = problem_of(_unwritable(folder, error))
        return answers.Skill(skill.name, "failed", str(folder), error=problem)
    if request.dry_run and names:
        outcome = f"would be {outcome}"
    kept = None
    if changed and not request.yes:
        kept = _changed(comparison)
    return answers.Skill(skill.name, outcome, str(folder), error=problem_of(kept))


def _outcome(comparison: Comparison, names: tuple[str, ...]) -> str:
    if not names:
        if comparison.names("changed"):
            return "kept"
        return "unchanged"
    if comparison.names("same", "old", "changed"):
        return "updated"
    return "installed"


def _changed(comparison: Comparison) -> Failure:
    names = ", ".join(comparison.names("changed"))
    where = f"in {comparison.folder} somebody changed {names}"
    hint = "compare them; --yes replaces them with ours, --dest DIR installs elsewhere"
    return Failure(Code.USAGE, f"could not install {comparison.skill.name}: {where}", hint)


def _unwritable(folder: Path, error: OSError) -> Failure:
    if isinstance(error, PermissionError):
        code = Code.PERMISSION_DENIED
    else:
        code = Code.USAGE
    reason = f"could not install into {folder}: {error.strerror} ({error.filename})"
    return Failure(code, reason, "choose another folder with --dest DIR")
