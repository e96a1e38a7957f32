"""The answers to a shell's TAB, without building a command line: `vocabulary` is generated from the
flags, `sketch` reads the rows."""
