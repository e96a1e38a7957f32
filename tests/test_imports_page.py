"""The page of what a stop imports: whose each module is, and what its table adds up."""

from __future__ import annotations

import pytest

from tests.scripts import script

imports = script("imports")


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("tmuxreap", "`tmuxreap`"),
        ("tmuxreap.core.text", "`tmuxreap.core`"),
        ("typer._click.core", "typer"),
        ("_yaml", "yaml"),
        ("json.decoder", "the standard library"),
    ],
)
def test_each_module_belongs_to_one_part(module: str, part: str) -> None:
    assert imports.part_of(module) == part


def test_the_table_adds_up_the_modules_of_a_part() -> None:
    table = imports.table({"typer": 1.0, "typer.main": 2.5, "json": 0.5}).splitlines()
    assert table[2:] == [
        "| typer | 2 | 3.5 | `typer.main` 2.5, `typer` 1.0 |",
        "| the standard library | 1 | 0.5 | `json` 0.5 |",
        "| all | 3 | 4.0 | |",
    ]


def test_the_page_has_the_parts_of_this_program() -> None:
    page = imports.PAGE.read_text(encoding="utf-8")
    for part in ("typer", "yaml", "`tmuxreap.core`", "`tmuxreap.ending`", "the standard library"):
        assert f"| {part} |" in page


def test_a_program_that_does_not_run_is_not_measured() -> None:
    with pytest.raises(SystemExit, match="No module named 'nothing_of_that_name'"):
        imports.measured("-c", "import nothing_of_that_name", status=3)
