"""Owns what a command works with, and what it learns of each row: a look, its conversation, its
place in an answer.

Never changes a session. What is true of a row is judged by `proof`.

Doors: `context` (the parts of a command, handed on in `commands` only), `caller` (who calls, and in
which session), `configuration`, `look`, `conversation`, `results`, `registries` (of all projects),
`elsewhere` (sessions without a row here), `one_at_a_time` (endings and starts under way),
`restarts` (pending restarts), `reverted` (rows that went back in time). Main types: `Context`,
`Sights`, `Finder` (of conversations), `Seats`, `Newcomers`, `RestartLog`."""
