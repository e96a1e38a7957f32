"""Owns the one path on which sessions end: prepare -> plan -> ladder -> proof -> record.

`stop`, `kill`, `reap` and `start --replace` differ in their policy only. Never names a session to
tmux, only ids that were judged, and never writes an end without proof.

Doors: `end`, `plan`, `results`, and for the verbs beside it `prepare`, `outcome`, `one_at_a_time`,
`delegation`, `handover` and the ladder's `requests` and `execute`. Main types: `Ending`, `Plan`,
`Policy`, `EndResult`."""
