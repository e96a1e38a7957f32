"""Owns the agreement of registry and reality: `drift` tells what differs for a row, `held` for a
pane that a restart holds; `reconcile` finds all that differs, and writes what is certain."""
