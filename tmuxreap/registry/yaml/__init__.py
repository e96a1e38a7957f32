"""Edits YAML by the marks of its events: `parse` reads, with positions, `splice` changes bytes,
`scalars` formats values."""
