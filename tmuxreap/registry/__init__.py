"""Owns the truth: the registry file, its rows, what may happen to a row, and which rows a word
means.

Never dumps a document: a write changes the bytes of the fields that it must, and reads its own
result again before it replaces the file.

Doors: `file`, `rows`, `transitions`, `restarts` (when to start again), `targets`, `trees` (who
began whom), `edits`. Main types: `Registry` (look, lock, write), `RegistryLook` (what the file says
now), `Event` (what may happen to a row)."""
