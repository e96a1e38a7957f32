"""What the panes of many sessions show, each tmux server asked once for all of its own. Judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.seams import Question, Tmux
from tmuxreap.sights import Sight
from tmuxreap.values import field, frozen

BANNER_OPTION = "remain-on-exit"
SIBLINGS_OPTION = "synchronize-panes"


@frozen
class Shown:
    """A screen as it stands and with wrapped lines joined, and what is set on its pane."""

    text: str | None = None
    joined: str | None = None
    options: Mapping[str, str | None] = field(default_factory=dict)


def shown_in(tmux: Tmux, sights: Sequence[Sight], options: Sequence[Sequence[str]]) -> list[Shown]:
    """In the order of the sights, each with its options; nothing for those without a pane."""
    shown = [Shown()] * len(sights)
    for socket in dict.fromkeys(sight.socket for sight in sights):
        panes = [(place, sight.pane.id) for place, sight in enumerate(sights) if sight.socket == socket and sight.pane]
        answers = iter(tmux.ask(socket, [one for place, pane in panes for one in _questions(pane, options[place])]))
        for place, _ in panes:
            shown[place] = Shown(next(answers), next(answers), {option: next(answers) for option in options[place]})
    return shown


def _questions(pane: str, options: Sequence[str]) -> list[Question]:
    return [Question(pane), Question(pane, joined=True), *(Question(pane, option) for option in options)]
