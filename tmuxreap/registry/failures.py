"""The failures of reading and writing the registry, and of its rows, with their place and a hint.
Pure."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tmuxreap.core.errors import Code, Failure
from tmuxreap.registry.rows import BadRow

if TYPE_CHECKING:
    from tmuxreap.registry.edits import Unsafe  # it loads YAML


def invalid(path: Path, reason: str, line: int, column: int) -> Failure:
    where = f", line {line}, column {column}" if line else ""
    edit = f"edit line {line}" if line else "edit the file"
    return Failure(
        Code.REGISTRY_INVALID,
        f"could not read the registry {path}{where}: {reason}",
        f"{edit}, or restore it, as from git; nothing was written to it",
    )


def unwritable(path: Path, error: OSError) -> Failure:
    return Failure(
        Code.REGISTRY_UNWRITABLE,
        f"could not write the registry {path}: {error.strerror or error}",
        "make room or fix the permissions of its folder, then run: tmuxreap reconcile",
    )


def row_invalid(path: Path, row: BadRow) -> Failure:
    label = repr(row.name) if row.name else f"number {row.index + 1}"
    return Failure(
        Code.ROW_INVALID,
        f"could not use the row {label}: {row.reason} ({path}, line {row.line}, column"
        f" {row.column})",
        f"edit line {row.line} of {path}, then try again",
    )


def unsafe(path: Path, error: Unsafe) -> Failure:
    place = f"could not edit the registry {path}: line {error.line}, column {error.column}"
    if "surrogate" in error.reason:  # undecodable bytes of a file name
        reason = f"{place}: a word for it is not UTF-8, and the registry is"
        hint = "give it in UTF-8, or rename that folder, then try again"
        return Failure(Code.REGISTRY_UNWRITABLE, reason, hint)
    hint = (
        "write that row plainly (keys before their colons on one line, no tags, and no anchor on a"
        " value that other rows repeat), then try again"
    )
    return Failure(Code.ROW_INVALID, f"{place}: {error.reason}", hint)
