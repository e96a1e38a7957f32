"""Edits YAML by the marks of its events: `parse` reads, `places` and `rows` tell where things
stand, `splice` and `fields` change bytes, `scalars` says how a value is written."""
