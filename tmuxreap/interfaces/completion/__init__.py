"""What a shell is offered at TAB, answered without building a command line: `vocabulary` was
written from the flags, `sketch` reads the names of rows."""
