"""What `--self` handed over, done by the finisher outside of the session. Nobody reads its answer but the ledger."""

from __future__ import annotations

from tmuxreap.app import App
from tmuxreap.ending import finish
from tmuxreap.handover import caller_has_left, from_text
from tmuxreap.results import Item, Result


def run(app: App, number: int, policy: str) -> Result:
    app.observer.stand_outside()
    intent = caller_has_left(app, number)
    items: list[Item] = finish(app, intent, from_text(policy)) if intent is not None else []
    return Result("finish", app.registry_name, app.clock.now(), items, tuple(app.warnings))
