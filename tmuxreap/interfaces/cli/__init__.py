"""Owns the command line: `main` is typer's program, `verbs` declares the flags of each verb, by
topic, `commands` adds those that most have; `boundary` turns words into requests, and failures into
answers; `complete` completes them in a shell."""
