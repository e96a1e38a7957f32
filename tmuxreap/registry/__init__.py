"""Owns the source of truth: the registry file, its rows, their state transitions, and the selection
of rows by targets.

Never dumps a document: a write changes only the bytes of the fields concerned, and its result is
parsed again before it replaces the file.

Doors: `file` (and a look at it), `rows` (with their trees, restarts and failures), `transitions`
(and which state of a row is the newer), `targets`, `edits`. Main types: `RegistryFile` (look, lock,
write), `RegistryLook` (the file's content), `RowEvent` (what may happen to a row)."""
