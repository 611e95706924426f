"""Scores, trajectories, detection, correction and review; independent of the user interface."""

from backend.engine.threads import set_passive_wait

set_passive_wait()  # must run before torch is imported
