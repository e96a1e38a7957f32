"""What every verb answers, field by field.

These types are the one source: a verb makes its results of them, `--json` tells their fields, and
the JSON Schema, the schemas of the MCP tools and the results of the Python interface are derived
from them. A field is added, never renamed or given another type.

`base` tells and reads them all, `shapes` says which verb answers with which; the other files hold
the types. None of them makes an answer or decides anything."""
