"""Hostile files, rows and servers, all of them by one command: `python -m tests.hostile`.

The tests lie beside those of what they attack; `attacks` names them by what is tried.
"""
