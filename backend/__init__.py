"""Scores, trajectories, detection, correction and review; independent of the user interface."""

from backend.engine.threads import let_waiting_threads_sleep

let_waiting_threads_sleep()  # must run before torch is imported
