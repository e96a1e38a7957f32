"""`import tmuxreap`: the verbs as methods, for programs in Python. What is public stands in `api`
and nowhere else."""
