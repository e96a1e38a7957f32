"""Owns `import tmuxreap`: the verbs as methods. `api` lists all public names."""
