"""What a shell is offered at TAB, answered without building a command line."""
