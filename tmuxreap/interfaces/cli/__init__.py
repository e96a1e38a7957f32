"""Owns the command line: `main` knows the verbs, `verbs` declares their flags, `parameters` parses
plain lines, `program` parses the others with typer, `boundary` turns words into requests and
failures into answers."""
