"""Owns one look at the world and what it says of each row: alive or not, its pane, its agent, its
processes, its conversation.

Never changes anything, and judges from one look only: what could not be seen is unknown.

Doors: `context` (what a command has at hand), `configuration`, `servers` (which socket a row
means); `look`, `sight`, `state`, `conversation`, `editors`, `results` (what is true of a row) and
the facts below them: `observe`, `world`, `ownership`, `panes`, `identity`; `newcomers` and
`elsewhere` (who has no row here), `restarts` (whose turn it is to come back). Main types:
`Context`, `World`, `Sight`."""
