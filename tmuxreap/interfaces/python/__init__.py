"""Owns `import tmuxreap`: the verbs as methods, in `registry`, `stopping` and `watching`. `api`
lists all public names."""
