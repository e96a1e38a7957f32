"""`skills install`: copies the bundled skills to where a project's agents look for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tmuxreap.commands.skill_files import Comparison, compare, our_skills, write
from tmuxreap.core.answers.base import problem_of
from tmuxreap.core.answers.machine import Skill
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result
from tmuxreap.core.values import frozen
from tmuxreap.sessions.context import Context

COMMON = Path(".agents") / "skills"  # read by codex, gemini, opencode and others
CLAUDE = Path(".claude") / "skills"  # the only place where claude looks


@frozen
class SkillsRequest:
    dest: str | None = None
    dry_run: bool = False
    yes: bool = False


def run(context: Context, request: SkillsRequest) -> Result:
    wanted = _wanted(context.settings.cwd, request.dest)
    items = [_installed(comparison, request) for comparison in wanted]
    return Result("skills", None, context.clock.now(), items)


def _wanted(project: Path, dest: str | None) -> Iterator[Comparison | Failure]:
    skills = our_skills()
    for folder in _destinations(project, dest):
        for skill in skills:
            try:
                yield compare(skill, folder)
            except OSError as error:
                yield _unwritable(folder / skill.name, error)


def _destinations(project: Path, dest: str | None) -> list[Path]:
    """Return .agents/skills and, if .claude exists, .claude/skills; linked folders count once."""
    if dest == "":
        reason = "could not install the skills: --dest was given an empty path"
        raise Failure(Code.USAGE, reason, "name a folder")
    if dest is not None:
        return [project / Path(dest).expanduser()]
    common, claude = project / COMMON, project / CLAUDE
    if not (project / ".claude").is_dir() or claude.resolve() == common.resolve():
        return [common]
    return [common, claude]


def _installed(comparison: Comparison | Failure, request: SkillsRequest) -> Skill:
    if isinstance(comparison, Failure):
        return Skill("skills", "failed", error=problem_of(comparison))
    names = comparison.missing + comparison.old + (comparison.changed if request.yes else ())
    outcome = _outcome(comparison, names)
    try:
        if not request.dry_run:
            write(comparison, names)
    except OSError as error:
        return _item(comparison, "failed", _unwritable(comparison.folder, error))
    kept = None if request.yes or not comparison.changed else _changed(comparison)
    return _item(comparison, f"would be {outcome}" if request.dry_run and names else outcome, kept)


def _outcome(comparison: Comparison, names: tuple[str, ...]) -> str:
    if not names:
        return "kept" if comparison.changed else "unchanged"
    return "updated" if comparison.same or comparison.old or comparison.changed else "installed"


def _item(comparison: Comparison, outcome: str, failure: Failure | None) -> Skill:
    folder = str(comparison.folder)
    return Skill(comparison.skill.name, outcome, folder, problem_of(failure))


def _changed(comparison: Comparison) -> Failure:
    names = ", ".join(comparison.changed)
    where = f"in {comparison.folder} somebody changed {names}"
    hint = "look at the difference; --yes puts ours in its place, --dest DIR installs elsewhere"
    return Failure(Code.USAGE, f"could not install {comparison.skill.name}: {where}", hint)


def _unwritable(folder: Path, error: OSError) -> Failure:
    code = Code.PERMISSION_DENIED if isinstance(error, PermissionError) else Code.USAGE
    reason = f"could not install into {folder}: {error.strerror} ({error.filename})"
    return Failure(code, reason, "choose another folder with --dest DIR")
