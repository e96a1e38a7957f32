"""Owns the choice of what `reap` ends: `candidates` and `leftovers` collect sessions and processes,
`children` sorts an agent's child processes, `verdicts` judges."""
