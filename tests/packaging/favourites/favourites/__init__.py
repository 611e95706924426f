"""Pairs that people like, to show in a talk."""
