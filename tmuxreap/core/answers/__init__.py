"""The answer of every verb, field by field.

These types are the single source: verbs return them as results, `--json` prints their fields, and
the JSON Schema, the MCP tools' schemas and the results of the Python interface are derived from
them. Fields may be added, never renamed or given another type.

`base` converts them to JSON and back, `shapes` maps verbs to types; the other files define the
types. They never create an answer or decide anything."""
