"""What the panes of many sessions show, each tmux server asked once for all of its own. Judges
nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tmuxreap.core.ports import Question, Tmux
from tmuxreap.core.values import field, frozen
from tmuxreap.sessions.sight import Sight

BANNER_OPTION = "remain-on-exit"
SIBLINGS_OPTION = "synchronize-panes"


@frozen
class Shown:
    """A screen as it stands and with wrapped lines joined, and what is set on its pane."""

    text: str | None = None
    joined: str | None = None
    options: Mapping[str, str | None] = field(default_factory=dict)
    environment: str | None = None  # of its session


def shown_in(tmux: Tmux, sights: Sequence[Sight], options: Sequence[Sequence[str]]) -> list[Shown]:
    """In the order of the sights, each with its options; nothing for those without a session."""
    shown = [Shown()] * len(sights)
    for socket in dict.fromkeys(sight.socket for sight in sights):
        places = [
            place for place, sight in enumerate(sights) if sight.socket == socket and sight.session
        ]
        asked = [one for place in places for one in _questions(sights[place], options[place])]
        answers = iter(tmux.ask(socket, asked))
        for place in places:
            environment = next(answers)
            screens = (next(answers), next(answers)) if sights[place].pane else (None, None)
            shown[place] = Shown(
                *screens, {option: next(answers) for option in options[place]}, environment
            )
    return shown


def _questions(sight: Sight, options: Sequence[str]) -> list[Question]:
    """Options are those of its pane: without one there are none."""
    asked = [Question(sight.session.id, environment=True)] if sight.session else []
    if sight.pane is None:
        return asked
    pane = sight.pane.id
    return [
        *asked,
        Question(pane),
        Question(pane, joined=True),
        *(Question(pane, option) for option in options),
    ]
