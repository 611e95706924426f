"""All SQL of the program: one file per noun, plain functions, session first.

Every function validates its arguments before it writes anything. Results are frozen
dataclasses; no ORM object leaves this package. Unless a docstring says that the function commits,
the caller's `with store.writing()` does.

Building an expression takes SQLAlchemy several times as long as SQLite needs to answer it. A
statement that runs at every key press or for every pair of a job is therefore built once, as a
constant of its module with a `bindparam` for each value, and executed by `statements.run` with the
values. One that depends on what its reader may see comes from a function that is decorated with
`blind_review.built_once`.
"""
