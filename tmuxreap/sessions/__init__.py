"""Owns what a command works with, and what it learns of each row: a look, its conversation, its
place in an answer.

Never changes a session. What is true of a row is judged by `proof`.

Doors: `context` (the parts of a command, handed on in `commands` only), `caller` (who calls, and in
which session), `configuration`, `look` (and rows that went back in time), `conversation`, `editors`
(what has an agent's terminal), `results`, `elsewhere` (sessions without a row here), `registries`
(of all the user's projects), `under_way` (endings, starts, and pending restarts). Main types:
`Context`, `Sights`, `Finder` (of conversations), `Seats`, `Newcomers`, `RestartLog`."""
