"""What agents' hooks and heartbeats say, answered without building a command line: `speaker` finds
whose it is, `answer` writes it down."""
