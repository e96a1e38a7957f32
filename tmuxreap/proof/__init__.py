"""Owns the judgment of one look at the world: which session, pane and processes are a row's,
whether they live, and what the agent is doing.

Never changes anything, and judges from one look only: what could not be seen is unknown.

Doors: `observe` (one look at servers and processes), `ownership` (what was seen, and the evidence
of whose it is), `servers` (which server and agent a row means), `identity`, `panes`, `reach`,
`sight` (what a look says of a row), `see` (the judge), `daemons` (which of an agent's own is in
use), `state`.
Main types: `World`, `Sight`, `States`."""
