"""`protect` and `unprotect`: set whether patterns, tags and `all` may end or forget a row."""

from __future__ import annotations

from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers import Protected
from tmuxreap.core.errors import Failure
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item, Result, problem_of
from tmuxreap.core.values import frozen
from tmuxreap.ledger.records import NewEvent
from tmuxreap.registry.file import RegistryLook, edited_where_safe
from tmuxreap.registry.rows import is_protected
from tmuxreap.registry.targets import Wanted
from tmuxreap.registry.transitions import Remove
from tmuxreap.sessions.context import Context


@frozen
class ProtectRequest:
    targets: tuple[str, ...]
    keep: bool = True
    dry_run: bool = False


def run(context: Context, request: ProtectRequest) -> Result:
    look = context.registry.look()
    chosen = choose_rows(context, look, request.targets, Wanted.ALL)
    wanted = set()
    for row in chosen.rows:
        if is_protected(row) is not request.keep:
            wanted.add(row.name)
    if wanted and not request.dry_run:
        refused = _written(context, wanted, request)
    else:
        refused = {}
    items: list[Item] = []
    for row in chosen.rows:
        items.append(_item(row, request, row.name in wanted, refused.get(row.name)))
    items += not_chosen(look, chosen, Protected)
    verb = "protect" if request.keep else "unprotect"
    return context.result(verb, items)


def _written(context: Context, wanted: set[str], request: ProtectRequest) -> dict[str, Failure]:
    """Write the rows that still differ, under the lock; return the failures by row."""
    refused: dict[str, Failure] = {}
    changed: list[Row] = []
    value = True if request.keep else Remove.KEY

    def edit(look: RegistryLook) -> str:
        nonlocal changed, refused
        named = (row for row in look.usable if row.name in wanted)
        changed = [row for row in named if is_protected(row) is not request.keep]
        text, refused = edited_where_safe(look, {row.name: {("keep",): value} for row in changed})
        return text

    before, after = context.registry.change(edit)
    kind = "protected" if request.keep else "unprotected"
    done = [row for row in changed if row.name not in refused]
    context.books.follow(after, [NewEvent(row.name, kind, {}, before.text_of(row)) for row in done])
    return refused


def _item(row: Row, request: ProtectRequest, changes: bool, failure: Failure | None) -> Item:
    done = changes and not request.dry_run and failure is None
    if done or not changes:
        keep = request.keep
    else:
        keep = not request.keep
    return Protected(row.name, keep, done, error=problem_of(failure))
