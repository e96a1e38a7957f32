"""Owns the look at the world and what it shows of each row: alive or not, its pane, its agent, its
processes, its conversation.

Never changes anything, and judges from one look only: what could not be seen is unknown.

Doors: `context` (what a command works with), `configuration`, `servers` (which socket a row
means); `look`, `see`, `sight`, `state`, `conversation`, `editors`, `results` (what is true of a
row) and the facts below them: `observe`, `world`, `ownership`, `reach`, `panes`, `identity`;
`newcomers` and `elsewhere` (sessions without a row here), `restarts` (pending restarts),
`reverted` (rows that went back in time). Main types: `Context`, `World`, `Sight`."""
