"""Killed programs, full disks and jumping clocks, tried for real.

`python -m tests.faults --times 100` kills each kind of work that many times at random moments and
prints the table of RESULTS.md; `make nightly` does so ten times each.
"""
