"""`forget`: the row of an ended session goes; its conversation and its events stay unless they are named too."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.choosing import choose_rows, not_chosen
from tmuxreap.edits import Unsafe, remove_row
from tmuxreap.errors import Code, Failure, command
from tmuxreap.joining import owner_alive
from tmuxreap.ledger_records import NewEvent
from tmuxreap.model import Row
from tmuxreap.registry import RegistryLook, unsafe
from tmuxreap.results import Item, PlainResult, Result
from tmuxreap.selectors import Wanted
from tmuxreap.values import frozen


@frozen
class ForgetRequest:
    targets: tuple[str, ...]
    history: bool = False
    force: bool = False
    dry_run: bool = False
    reason: str | None = None


def run(app: App, request: ForgetRequest) -> Result:
    look = app.registry.look()
    chosen = choose_rows(app, look, request.targets, Wanted.ALL if request.force else Wanted.ENDED)
    items: list[Item] = [_forgotten(app, row, request) for row in chosen.rows]
    items += not_chosen(look, chosen)
    return Result("forget", app.registry_name, app.clock.now(), items, tuple(app.warnings))


def _forgotten(app: App, row: Row, request: ForgetRequest) -> Item:
    try:
        _check(app, row, request)
        if not request.dry_run:
            _forget(app, row.name, request)
    except Failure as failure:
        return PlainResult(row.name, {"forgotten": False}, failure)
    return PlainResult(row.name, {"forgotten": not request.dry_run, "history": request.history})


def _check(app: App, row: Row, request: ForgetRequest) -> None:
    if not row.status.ended and not request.force:
        raise Failure(
            Code.SESSION_ALIVE,
            f"could not forget {row.name}: its row says that it is running",
            f"stop it first: {command('stop', row.name)}, or forget it all the same with --force",
        )
    intent = app.books.open_intents().get(row.name)
    if intent is not None and owner_alive(app, intent) and not request.force:
        raise Failure(
            Code.SESSION_ALIVE,
            f"could not forget {row.name}: it is just being ended",
            "wait for that, or forget it all the same with --force",
        )


def _forget(app: App, name: str, request: ForgetRequest) -> None:
    def edit(look: RegistryLook) -> str:
        row = look.named(name)
        if row is None:
            return look.document.text
        _check(app, row, request)
        try:
            return remove_row(look.document, row.index)
        except Unsafe as error:
            raise unsafe(look.path, error) from None

    before, after = app.registry.change(edit)
    row = before.named(name)
    image = before.text_of(row) if isinstance(row, Row) else None
    said = {} if request.reason is None else {"reason": request.reason}
    app.books.follow(after, [] if request.history else [NewEvent(name, "forgotten", said, image)])
    if request.history:
        app.books.drop_events(name)
