"""All tests with hostile files, rows and servers in one command: `python -m tests.hostile`.

The tests are next to those of the code that they attack; `attacks` lists them by what is tried.
"""
