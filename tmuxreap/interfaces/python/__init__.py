"""Owns `import tmuxreap`: the verbs as methods, for Python programs. `api` lists all public
names."""
