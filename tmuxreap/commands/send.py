"""`send`: gives an agent one prompt, as soon as it is idle. Reads the text and checks it; never
types it twice."""

from __future__ import annotations

from tmuxreap.commands.endings import ender_of
from tmuxreap.commands.targets import choose_rows, not_chosen
from tmuxreap.commands.wait import SCREENS_EVERY_S, AnyWaiter, pause
from tmuxreap.core.answers import Sent
from tmuxreap.core.errors import Code, Failure, LockIsHeld, could_not
from tmuxreap.core.model import Row
from tmuxreap.core.results import Problem, Result
from tmuxreap.core.text import visible, would_be_obeyed
from tmuxreap.core.values import frozen, replace
from tmuxreap.ending.send import send_prompt
from tmuxreap.registry.targets import Wanted, selects_many
from tmuxreap.sessions.context import Context

CONFIRM_S = 3.0
MOST_BYTES = 100_000


@frozen
class SendRequest:
    name: str
    text: str
    when_idle_s: float = 0.0  # how long the agent may take to become idle
    confirm_s: float = CONFIRM_S
    dry_run: bool = False


def run(context: Context, request: SendRequest, waiter: AnyWaiter | None = None) -> Result:
    text = checked_text(request.text)
    if selects_many(request.name):
        hint = "see the names with: tmuxreap list"
        raise could_not("send to", request.name, "it takes the name of one session", hint)
    look = context.registry.look()
    chosen = choose_rows(context, look, [request.name], Wanted.RUNNING)
    items = not_chosen(look, chosen, Sent)
    if context.lock_held:
        raise LockIsHeld(f"send to {request.name}")
    items += [_sent(context, row, text, request, waiter) for row in chosen.rows]
    return context.result("send", items)


def checked_text(text: str) -> str:
    """Return the text as it is pasted: with plain line ends, and none at its end. Raise a Failure
    for one that must not reach a terminal."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise _unfit("it is not UTF-8") from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if would_be_obeyed(text):
        raise _unfit("it contains a control character, which a terminal would act on")
    if not visible(text):
        raise _unfit("it is blank")
    if size > MOST_BYTES:
        raise _unfit(f"it has more than {MOST_BYTES // 1000} kB")
    return text.strip("\n")


def _unfit(reason: str) -> Failure:
    hint = "send plain text of up to 100 kB, or put it into a file and send its name"
    return Failure(Code.USAGE, f"could not send the text: {reason}", hint)


def _sent(
    context: Context, row: Row, text: str, request: SendRequest, waiter: AnyWaiter | None
) -> Sent:
    """Try until it was typed, or until the time is up; what was typed is never typed again."""
    clock = context.clock
    began = clock.monotonic()
    until = began + request.when_idle_s
    while True:
        attempt = send_prompt(
            ender_of(context),
            context.states,
            row,
            text,
            request.confirm_s,
            dry_run=request.dry_run,
        )
        item = attempt.item
        left_s = until - clock.monotonic()
        waited_ms = round((clock.monotonic() - began) * 1000) - item.duration_ms
        item = replace(item, waited_ms=max(waited_ms, 0) if request.when_idle_s else 0)
        if not (request.when_idle_s and attempt.may_repeat) or request.dry_run:
            return item
        if left_s <= 0:
            return _too_late(item, request.when_idle_s)
        pause(context, waiter, min(left_s, SCREENS_EVERY_S))
        row = context.registry.look().named(row.name) or row


def _too_late(item: Sent, seconds: float) -> Sent:
    error = item.error
    assert error is not None  # noqa: S101 - it was not sent
    message = f"{error.message}; it was waited for {seconds:g} s"
    return replace(item, error=Problem(error.code, message, error.hint))
