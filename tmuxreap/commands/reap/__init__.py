"""Owns the choice of what `reap` ends: `candidates` collects sessions and processes, `verdicts`
judges, `reap` shows and ends; `leaks` names what no row has."""
