"""`skills install`: copies the bundled skills to where a project's agents look for them."""

from __future__ import annotations

from pathlib import Path

from tmuxreap.commands.skill_files import Comparison, Skill, compare, our_skills, write
from tmuxreap.core import answers
from tmuxreap.core.errors import Code, Failure
from tmuxreap.core.results import Result, problem_of
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
    common, claude = project / COMMON, project / CLAUDE
    if not (project / ".claude").is_dir() or claude.resolve() == common.resolve():
        return [common]
    return [common, claude]


def _installed(skill: Skill, dest: Path, request: SkillsRequest) -> answers.Skill:
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
    kept = _changed(comparison) if changed and not request.yes else None
    return answers.Skill(skill.name, outcome, str(folder), error=problem_of(kept))


def _outcome(comparison: Comparison, names: tuple[str, ...]) -> str:
    if not names:
        return "kept" if comparison.names("changed") else "unchanged"
    return "updated" if comparison.names("same", "old", "changed") else "installed"


def _changed(comparison: Comparison) -> Failure:
    names = ", ".join(comparison.names("changed"))
    where = f"in {comparison.folder} somebody changed {names}"
    hint = "look at the difference; --yes puts ours in its place, --dest DIR installs elsewhere"
    return Failure(Code.USAGE, f"could not install {comparison.skill.name}: {where}", hint)


def _unwritable(folder: Path, error: OSError) -> Failure:
    code = Code.PERMISSION_DENIED if isinstance(error, PermissionError) else Code.USAGE
    reason = f"could not install into {folder}: {error.strerror} ({error.filename})"
    return Failure(code, reason, "choose another folder with --dest DIR")
