"""Edits YAML by the marks of its events: `parse` reads, `places` and `rows` have positions,
`splice` and `fields` change bytes, `scalars` formats values."""
