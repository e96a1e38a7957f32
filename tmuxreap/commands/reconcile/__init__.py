"""Owns the agreement of registry and reality: `drift` finds what differs, `disturbed` what changed
during the look, `reconcile` writes what is certain."""
