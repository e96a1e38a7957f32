"""Owns the agreement of registry and reality: `find` finds what differs, by `drift` for a row and
by `starts` for one that was never written; `reconcile` writes what is certain."""
