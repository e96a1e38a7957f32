"""Owns what start, resume, adopt and restart share: a launch is announced, made, confirmed and
recorded."""
