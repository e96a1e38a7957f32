"""Owns the single path on which sessions end: prepare -> plan -> ladder -> proof -> record.

`stop`, `kill`, `reap`, `restart` and `start --replace` differ only in their policy. Never passes
tmux a session name, only ids that were checked, and never records an end without proof.

Doors: `end` (with the handover to a finisher outside the session, and endings whose owner died),
`interrupt` (ends a turn, not a session), `hold` (ends, and keeps the pane), `send` (gives a
prompt), `policy`, `ending_state`, `own_ends` (agents' own commands). Main types: `Ender`,
`EndingState`, `Plan`, `Policy`."""
