"""The command line: `main` knows the verbs, `boundary` turns words into requests and failures into
answers, `verbs` declares the flags of each, `parameters` reads plain lines, `program` has typer
read the rest."""
