"""Owns the command line: `words` knows the verbs, `verbs` declares the flags of each, by topic, and
`commands` adds those that most have; `parameters` parses plain lines, `program` the others with
typer; `boundary` turns words into requests, and failures into answers."""
