"""The documentation can be followed: its commands are valid, the recipe for a new agent works, and
the page of the command line is what --help prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

from tests.real import Real
from tests.test_docs import commands

ROOT = Path(__file__).parents[3]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")),
]
PARROT = """#!/bin/sh
while printf 'parrot> ' && read -r line; do
    [ "$line" = /bye ] && exit 0
    printf '%s\\n' "$line"
done
"""


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text(page), flags=re.MULTILINE | re.DOTALL)


def told_commands(page: str) -> Iterator[str]:
    """Yield the commands in code: tmuxreap and a lower-case word; capitals stand for names."""
    whole = text(page).replace("\\\n", " ")
    for line in re.findall(r"\btmuxreap ([a-z_]+(?: [^`|;)\n]*)?)", "\n".join(_code(whole))):
        line = line.split(" >")[0].split("  #")[0].strip()
        yield line if line.count("'") % 2 == 0 else line.rstrip("'")


def _code(whole: str) -> Iterator[str]:
    for language, block in re.findall(
        r"^```(\w+)\n(.*?)^```", whole, flags=re.MULTILINE | re.DOTALL
    ):
        if language in ("sh", "console", "crontab", "ini"):
            yield from (
                line
                for line in block.splitlines()
                if language != "console" or line.startswith("$ ")
            )
    yield from re.findall(
        r"`(tmuxreap [a-z][^`\n]*)`",
        re.sub(r"^```.*?^```", "", whole, flags=re.MULTILINE | re.DOTALL),
    )


TOLD = [(page, line) for page in PAGES for line in dict.fromkeys(told_commands(page))]


def test_commands_are_found_in_the_pages() -> None:
    assert len([line for page, line in TOLD if page == "docs/recipes.md"]) > 10


@pytest.mark.parametrize(("page", "line"), TOLD)
def test_each_command_in_the_pages_parses(page: str, line: str) -> None:
    verb, *words = shlex.split(line)
    if verb.isupper() or "--help" in words:
        return
    known = commands()
    assert verb in known, line
    command = known[verb]
    with command.make_context(f"tmuxreap {verb}", words) as context:
        assert context.params is not None


@pytest.mark.parametrize("page", PAGES)
def test_each_script_in_the_pages_can_be_read_by_a_shell(page: str) -> None:
    for block in blocks(page, "sh"):
        assert subprocess.run(["sh", "-n"], input=block, text=True, check=False).returncode == 0, (
            block
        )


def test_the_page_of_the_command_line_is_what_help_says() -> None:
    loader = SourceFileLoader("pages", str(ROOT / "scripts" / "pages"))
    spec = spec_from_loader("pages", loader)
    assert spec is not None
    pages = module_from_spec(spec)
    loader.exec_module(pages)
    assert text("docs/cli.md") == pages.text(), "run: python scripts/pages"


@pytest.mark.live
def test_the_recipe_for_a_new_agent_makes_one(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = blocks("CONTRIBUTING.md", "yaml")
    own = Path(os.environ["XDG_CONFIG_HOME"]) / "tmuxreap" / "agents.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(block)
    program = real.folder / "bin" / "parrot"
    program.parent.mkdir()
    program.write_text(PARROT)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    begun = start_parrot(real)
    assert (begun["agent"], begun["live"]) == ("parrot", "alive")
    real.shows("polly", "parrot>")
    assert real.show("polly")["pane_state"] == "idle"
    (ended,) = real.stop("polly").results
    assert ended.as_json()["stopped_by"] == "exit_keys"
    assert "polly" not in real.sessions()


def start_parrot(real: Real) -> dict[str, object]:
    from tests.real import CONFIRM_S, answer
    from tmuxreap.commands import start

    with real.app() as app:
        return answer(
            start.run(
                app, start.StartRequest("polly", "parrot", server=real.socket, confirm_s=CONFIRM_S)
            )
        )
