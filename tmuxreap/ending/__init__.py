"""Owns the one path on which sessions end: prepare -> plan -> ladder -> proof -> record.

`stop`, `kill`, `reap` and `start --replace` differ in their policy only. Never names a session to
tmux, only ids that were judged, and never writes an end without proof.

Doors: `end`, `interrupt` (a turn, and no session), `plan`, `outcome`, `results`, `one_at_a_time`
(who is at it), `handover` (to one outside), `unfinished` (what a dead one left). Main types:
`Ending`, `Plan`, `Policy`."""
