"""How the registry is brought into agreement with what runs: `drift` finds, `reconcile` writes what
is certain."""
