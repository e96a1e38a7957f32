"""The project's benchmark: the same work by tmuxreap, by its alternatives and by a floor; ratios of
one run."""
