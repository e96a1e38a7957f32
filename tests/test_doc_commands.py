"""Every command named in the pages, the skills and the help is valid: the real command line parses
it.

`live/test_skill_workflows.py` also runs the blocks of the skills; nothing is run here."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.test_docs import commands
from tmuxreap.core.verbs import CALLED, PUBLIC

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(ROOT.glob("skills/*/SKILL.md")),
]
COMMANDS = commands()
CALL = re.compile(
    r"(?<![\w./-])tmuxreap(?! +-- )((?: +(?:'[^']*'|\"[^\"]*\"|[^\s`|;&()<>'\"]+|\|(?=\w)))+)"
)
SAID = re.compile(r"tmuxreap: |^(error|warning|hint|Usage): ")  # printed by the program itself
# Not verbs: the program's own flags, and words passed on by shell completion.
OTHERS = {"--version", "--help", "VERB"}


def named(text: str) -> list[str]:
    """Return the commands in code only: between backticks, indented by four, or in a block."""
    parts = re.findall(r"```\w*\n(.*?)```", text, flags=re.DOTALL)
    rest = re.sub(r"```\w*\n.*?```", "", text, flags=re.DOTALL)
    parts += re.findall(r"`([^`\n]+)`", rest) + re.findall(r"^    .*$", rest, flags=re.MULTILINE)
    code = [
        re.sub(r"(?:^|\s)#.*$", "", line)
        for part in parts
        for line in part.replace("\\\n", " ").splitlines()
    ]
    return [call.strip() for line in code if not SAID.search(line) for call in CALL.findall(line)]


def words_of(call: str) -> list[str]:
    """Split a command; of a synopsis keep optional parts, and the first of alternatives."""
    return [
        word.split("|")[0]
        for word in shlex.split(re.sub(r"\[|\]|\.\.\.", " ", call))
        if word.strip("|")
    ]


def trouble(call: str) -> str | None:
    words = words_of(call)
    if not words or words[0] in OTHERS:
        return None
    verb = CALLED[words[0]].name if words[0] in CALLED else words[0]
    if verb not in PUBLIC:
        return f"{words[0]} is no verb"
    try:
        COMMANDS[verb].make_context(verb, words[1:])
    except Exception as error:
        if type(error).__name__ == "Exit":  # --help
            return None
        if type(error).__name__ == "MissingParameter" and len(words) == 1:
            return None  # a verb alone is just its name in a sentence
        return str(error)
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists(page: Path) -> None:
    calls = named(page.read_text(encoding="utf-8"))
    wrong = {call: why for call in calls if (why := trouble(call))}
    assert not wrong


def test_every_example_of_the_help_is_a_command() -> None:
    examples = [
        call for command in COMMANDS.values() for call in named(f"```\n{command.help}\n```")
    ]
    assert len(examples) >= 8
    assert not {call: why for call in examples if (why := trouble(call))}


def test_commands_are_found_and_mistakes_seen() -> None:
    assert sum(len(named(page.read_text(encoding="utf-8"))) for page in PAGES) > 60
    page = (
        "Do `tmuxreap stop NAME --nosuch`, and\n\n```bash\nx=1 tmuxreap nosuch a | cat # tmuxreap"
        " off\n```\n"
    )
    assert named(page) == ["nosuch a", "stop NAME --nosuch"]
    assert [bool(trouble(call)) for call in named(page)] == [True, True]
    assert trouble("stop 'acme-*' tag:x --reason 'two words' --yes") is None
