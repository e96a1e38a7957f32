"""Declares the flags of each verb, a file each; files of the same names in `commands` do the
work."""
