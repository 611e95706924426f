"""All SQL of the program: one file per noun, plain functions, session first.

Every function validates its arguments before it writes anything. Results are frozen
dataclasses; no ORM object leaves this package. Unless a docstring says that the function commits,
the caller's `with store.writing()` does.
"""
