"""The tests that SECURITY.md names, in one command: `python -m tests.hostile`.

They are next to those of the code that they attack.
"""
