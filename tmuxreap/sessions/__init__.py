"""Owns what a command works with, and what it learns of each row: a look, its conversation, its
place in an answer.

Never changes a session. What is true of a row is judged by `proof`.

Doors: `context` (the parts of a command, handed on in `commands` only), `caller` (who calls, and in
which session), `configuration`, `look` (and rows that went back in time), `conversation`,
`results`, `elsewhere` (sessions without a row here, registries of other projects), `one_at_a_time`
(endings and starts under way), `restarts` (pending restarts). Main types: `Context`, `Sights`,
`Finder` (of conversations), `Seats`, `Newcomers`, `RestartLog`."""
