"""Owns one look at the world and what it says of each row: alive or not, its pane, its agent, its
processes, its conversation.

Never changes anything, and judges from one look only: what could not be seen is unknown.

Doors: `context` (what a command has at hand), `look`, `sight`, `conversation`, `results`, and the
facts below them: `observe`, `world`, `ownership`, `panes`, `identity`. Main types: `Context`,
`World`, `Sight`."""
