"""All SQL of the program: one file a noun, plain functions, session first.

Every function validates what it is given before it writes anything. Results are frozen
dataclasses; no ORM object leaves this package. Unless a docstring says that the function commits,
the caller's `with store.writing()` does.
"""
