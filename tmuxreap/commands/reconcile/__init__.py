"""Owns bringing registry and reality into agreement: `drift` finds what differs, `reconcile` writes
what is certain."""
