"""`interrupt`: ends the current turn of the targeted sessions, never a session."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.stop import is_inside
from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.core.answers import Interrupted
from tmuxreap.core.errors import Code, Failure, declined
from tmuxreap.core.model import Row
from tmuxreap.core.results import Item, Result
from tmuxreap.core.values import frozen
from tmuxreap.ending.interrupt import interrupt_rows
from tmuxreap.registry.targets import Wanted
from tmuxreap.sessions.context import Context


@frozen
class InterruptRequest:
    targets: tuple[str, ...]
    dry_run: bool = False
    yes: bool = False
    # set on a terminal: shows the plan and asks
    ask: Callable[[Result], bool] | None = None


def run(context: Context, request: InterruptRequest) -> Result:
    look = context.registry.look()
    chosen = choose_rows(context, look, request.targets, Wanted.RUNNING)
    rest = not_chosen(look, chosen, Interrupted)
    if (
        chosen.sweeping
        and chosen.rows
        and not (request.dry_run or request.yes)
        and not _agreed(context, request, chosen.rows, rest)
    ):
        return context.result("interrupt", [], failure=declined("interrupt"))
    items = interrupt_rows(ender_of(context), chosen.rows, dry_run=request.dry_run)
    return context.result("interrupt", [*items, *rest])


def _agreed(
    context: Context, request: InterruptRequest, rows: Sequence[Row], rest: Sequence[Item]
) -> bool:
    """Decide as for a stop: ask the user, allow scripts, require --yes of registered agents."""
    if request.ask is not None:
        plan = interrupt_rows(ender_of(context), rows, dry_run=True)
        return request.ask(context.result("interrupt", [*plan, *rest]))
    if is_inside(context):
        reason = "for more than named sessions an agent has to confirm"
        hint = "look at the plan with --dry-run, then add --yes"
        targets = " ".join(request.targets)
        raise Failure(Code.USAGE, f"could not interrupt {targets}: {reason}", hint)
    return True
