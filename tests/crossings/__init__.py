"""Crossings with programs that are packages of their own, in their pinned versions.

What they write is imported, and what is exported is read by them. `make weekly` runs them; each has
an environment of its own below `.cache/crossings`, which the first run fills.
"""
