"""Declares the flags of each verb, in a file of its own. `commands` does the work, in files of the
same names."""
