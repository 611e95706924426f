"""The engine: scores, trajectories, detection, correction. Knows nothing of the user interface."""

from backend.engine.threads import let_waiting_threads_sleep

let_waiting_threads_sleep()  # whatever of this package is imported first: before torch is
