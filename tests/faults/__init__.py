"""Programs that are killed, disks that are full, clocks that jump: tried for real.

`python -m tests.faults --times 100` kills each kind of work so often at random moments and prints
the table of BENCHMARKS.md; `make test` does it a few times each.
"""
