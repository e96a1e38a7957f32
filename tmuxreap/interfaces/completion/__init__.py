"""The answers to a shell's TAB, without building a command line: `vocabulary` has the words, which
are generated from the flags, `sketch` reads the rows."""
