"""The project's benchmark: the same work by tmuxreap, by what people do otherwise, by a floor;
ratios of one run."""
