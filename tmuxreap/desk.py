"""What the popup asks of the program: the same functions as the verbs, each time with an App of its own, so that any
thread may ask. Draws nothing."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from tmuxreap.app import App
from tmuxreap.commands import list as listing
from tmuxreap.commands import resume, stop
from tmuxreap.errors import Code, Failure, command
from tmuxreap.looking import look_at
from tmuxreap.mask import kept_screen
from tmuxreap.model import Live, Row, Server, Verb
from tmuxreap.plan import REASONS, Policy
from tmuxreap.progress import Progress
from tmuxreap.results import Result, SessionResult
from tmuxreap.selectors import RESERVED
from tmuxreap.tmux_commands import switch_client
from tmuxreap.values import frozen

ON_A_SERVER = (Live.ALIVE, Live.AGENT_GONE)


@frozen
class Client:
    """The tmux client that the popup was opened in. Without a name: the one that tmux takes for the current one."""

    socket: str
    name: str | None


@frozen
class Seen:
    """One look at everything, and the screen of the session that is chosen."""

    sessions: tuple[SessionResult, ...] = ()
    screen: str = ""
    warnings: tuple[str, ...] = ()
    failure: Failure | None = None


class Desk:
    def __init__(self, new_app: Callable[[], App], client: Client | None = None) -> None:
        self._new_app = new_app
        self._client = client

    def look(self, chosen: str | None) -> Seen:
        app = self._new_app()
        try:
            result = listing.run(app, listing.ListRequest())
            found = [item for item in result.results if isinstance(item, SessionResult)]
            one = next((one for one in found if one.name == chosen), None)
            screen = _screen(app, one) if one else ""
            return Seen(tuple(sorted(found, key=lambda it: it.status.ended)), screen, result.warnings)
        except Failure as failure:
            return Seen(failure=failure)
        finally:
            app.close()

    def end(self, verb: Verb, names: Sequence[str], progress: Progress) -> Result:
        """Asked and agreed is before this."""

        def work(app: App) -> Result:
            app.progress = progress
            return stop.run(app, stop.EndRequest(_exact(names), Policy(verb, REASONS[verb]), yes=True))

        return self._answer(verb.value, work)

    def resume(self, names: Sequence[str]) -> Result:
        return self._answer("resume", lambda app: resume.run(app, resume.ResumeRequest(_exact(names))))

    def jump(self, name: str) -> Result:
        """Bring the client to that session, if it is still the one that was seen."""

        def work(app: App) -> Result:
            _jump(app, _row(app, name), self._client)
            return Result("jump", app.registry_name, app.clock.now())

        return self._answer("jump", work)

    def _answer(self, command: str, work: Callable[[App], Result]) -> Result:
        app = self._new_app()
        try:
            return work(app)
        except Failure as failure:
            return Result(command, app.registry_name, app.clock.now(), (), tuple(app.warnings), failure)
        finally:
            app.close()


def silent_progress(monotonic: Callable[[], float]) -> Progress:
    """One that is read, not drawn: `at` says on which rung each session is."""
    return Progress(io.StringIO(), monotonic, live=True)


def _exact(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if name in RESERVED:
            reason = f"could not tell what is meant: {name!r} as a target means more than the row of that name"
            raise Failure(Code.ROW_INVALID, reason, "rename the row")
    return tuple(names)


def _row(app: App, name: str) -> Row:
    row = app.registry.look().named(name)
    if row is None:
        reason = f"could not find {name!r}: its row is gone"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, "see all rows with: tmuxreap list")
    return row


def _screen(app: App, one: SessionResult) -> str:
    """As it is now; of an ended session as it was last recorded."""
    row = _row(app, one.name)
    if one.live in ON_A_SERVER and one.pane_id:
        return kept_screen(app.tmux.capture(app.socket_of(row), one.pane_id, joined=True) or "")
    recorded = row.data.get("last_visible_status")
    return kept_screen(recorded) if isinstance(recorded, str) else ""


def _jump(app: App, row: Row, client: Client | None) -> None:
    ((sight, _),) = look_at(app, [row])
    if sight.session is None or not isinstance(sight.server, Server):
        reason = f"could not go to {row.name}: there is no session of it"
        raise Failure(Code.SESSION_NOT_REGISTERED, reason, f"begin it again with: {command('resume', row.name)}")
    attach = f"tmux -S {sight.socket} attach -t '{sight.session.id}'"
    if client is None:
        raise Failure(Code.USAGE, f"could not go to {row.name}: this is no tmux client", f"attach to it: {attach}")
    if client.socket != sight.socket:
        reason = f"could not go to {row.name}: it lives on another tmux server"
        raise Failure(Code.USAGE, reason, f"in another terminal: {attach}")
    pane = sight.pane or sight.session.panes[0]
    if not app.tmux.run(sight.socket, [switch_client(sight.server, sight.session, pane, client.name)]):
        reason = f"could not go to {row.name}: tmux did not take the client there"
        raise Failure(Code.TMUX_UNREACHABLE, reason, "close the popup, then: tmux choose-tree")
