"""Programs that are killed, disks that are full, clocks that jump: tried for real.

`python -m tests.faults --times 100` kills each kind of work so often at random moments and prints
the table of the README; `make test` does it a few times each.
"""
