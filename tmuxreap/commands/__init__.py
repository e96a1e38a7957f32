"""Owns the verbs: one file each (a folder where one needs more), `run(context, request) -> Result`.

Never prints and never reads the command line; every other room is above it, only the interfaces
below.

Main types: each verb's request, and `core`'s answer to it.
"""
