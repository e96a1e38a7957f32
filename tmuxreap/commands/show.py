"""`show`: one session with all that is known of it, each process with the reason why it is the session's."""

from __future__ import annotations

from collections.abc import Sequence

from tmuxreap.app import App
from tmuxreap.choosing import choose_rows, not_chosen
from tmuxreap.looking import look_at
from tmuxreap.results import Item, Result
from tmuxreap.selectors import Wanted
from tmuxreap.sessions import facts_of, session_result


def run(app: App, targets: Sequence[str]) -> Result:
    look = app.registry.look()
    chosen = choose_rows(app, look, targets, Wanted.ALL)
    beats = app.books.heartbeats()
    items: list[Item] = [
        session_result(app, row, sight, beats.get(row.name), facts_of(app, row, sight))
        for row, (sight, _) in zip(chosen.rows, look_at(app, chosen.rows), strict=True)
    ]
    items += not_chosen(look, chosen)
    return Result("show", app.registry_name, app.clock.now(), items, tuple(app.warnings))
