"""The comparison of two trajectories."""

import numpy as np

from backend.engine.trajectories.trajectory import Trajectory

#: Scores closer than this may be ordered either way by rounding.
TIE = 2e-6


def assert_same_trajectory(actual: Trajectory, wanted: Trajectory, tolerance: float = 1e-4) -> None:
    """Same captions step by step, scores and similarities within the tolerance.

    Where two candidates score the same up to rounding, the trajectories may diverge; from there on
    nothing is compared, but the scores up to and including that step must still agree.
    """
    assert (actual.caption, actual.truncated) == (wanted.caption, wanted.truncated)
    np.testing.assert_allclose(actual.first_step_scores, wanted.first_step_scores, atol=tolerance)
    assert (actual.auxiliary is None) == (wanted.auxiliary is None)
    if actual.auxiliary is not None and wanted.auxiliary is not None:
        np.testing.assert_allclose(
            actual.auxiliary.first_step_scores, wanted.auxiliary.first_step_scores, atol=tolerance
        )
    for step in range(max(actual.steps, wanted.steps) + 1):
        if actual.caption_at(step) != wanted.caption_at(step):
            assert abs(actual.scores[step] - wanted.scores[step]) < TIE, f"diverged at step {step}"
            return
        assert abs(actual.scores[step] - wanted.scores[step]) <= tolerance
        assert abs(actual.similarities[step] - wanted.similarities[step]) <= tolerance
        if actual.auxiliary is not None and wanted.auxiliary is not None:
            assert abs(actual.auxiliary.scores[step] - wanted.auxiliary.scores[step]) <= tolerance
