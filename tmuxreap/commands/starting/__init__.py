"""Owns what start, resume and adopt share: a launch is announced, made, confirmed and recorded."""
