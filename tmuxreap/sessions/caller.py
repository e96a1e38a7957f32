"""The caller: its user, host, tool, and the registered session that it runs in. Looks at no
process."""

from __future__ import annotations

import pwd

from tmuxreap.core.values import frozen
from tmuxreap.ledger.books import Books
from tmuxreap.proof.observe import Place
from tmuxreap.system.environment import Settings, pane_word


@frozen
class Caller:
    settings: Settings
    place: Place
    tool: str

    def as_recorded(self, books: Books) -> dict[str, object]:
        """Return the caller in the form that is recorded with an ending."""
        uid = self.settings.uid
        try:
            user = pwd.getpwuid(uid).pw_name
        except KeyError:
            user = str(uid)
        return {
            "user": user,
            "host": self.place.host,
            "tool": self.tool,
            "session": self.session(books),
        }

    def session(self, books: Books) -> str | None:
        """Return the running row that the caller is in: by its session's mark, else by its pane."""
        mark = self.settings.mark
        own_pane = self.settings.pane
        if mark is None and own_pane is None:
            return None
        look = books.registry.look()
        if mark is not None and (name := books.name_of(mark)) is not None:
            row = look.named(name)
            if row is not None and not row.status.ended:
                return name
            return None
        panes = (
            (pane_word(row.tmux.server_pid, row.pane.id), row.name)
            for row in look.usable
            if not row.status.ended and row.tmux.server_pid and row.pane.id
        )
        return next((name for pane, name in panes if pane == own_pane), None)
