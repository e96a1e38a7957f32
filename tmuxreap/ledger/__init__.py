"""Owns the SQLite file next to the registry: intents, events, heartbeats, and a mirror of the rows.

Never decides what is true of a session: where they disagree, the registry wins and the mirror is
rebuilt.

Doors: `books` (writes registry and ledger together), `records` (the values in it), `requests` and
`surroundings` (tables that few registries have), `database` (the file, also read without write
access), `schema` (how it is made). Main types: `Books`, `Intent`, `RecordedEvent`."""
