"""Owns the SQLite file beside the registry: intents, events, heartbeats, and a mirror of the rows.

Never decides what is true of a session: where the two disagree, the registry wins and the mirror is
made anew.

Doors: `books` (registry and ledger written together), `records` (what is written), `database` and
`schema` (where the file lies and what stands in it), `copy` (for who may not write). Main types:
`Books`, `Intent`, `Event`."""
