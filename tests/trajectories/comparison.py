"""When are two trajectories the same?"""

import numpy as np

from backend.trajectories.trajectory import Trajectory

#: Scores closer than this may be taken in either order by two ways of rounding.
TIE = 2e-6


def assert_same_trajectory(found: Trajectory, wanted: Trajectory, tolerance: float = 1e-4) -> None:
    """Same captions step by step, scores and similarities within the tolerance.

    Where two candidates score the same to rounding, the two ways may part; from there on only what
    came before can be compared, and the scores up to and with that step must still agree.
    """
    assert (found.caption, found.truncated) == (wanted.caption, wanted.truncated)
    np.testing.assert_allclose(found.first_step_scores, wanted.first_step_scores, atol=tolerance)
    assert (found.second is None) == (wanted.second is None)
    if found.second is not None and wanted.second is not None:
        np.testing.assert_allclose(
            found.second.first_step_scores, wanted.second.first_step_scores, atol=tolerance
        )
    for step in range(max(found.steps, wanted.steps) + 1):
        if found.caption_at(step) != wanted.caption_at(step):
            assert abs(found.scores[step] - wanted.scores[step]) < TIE, f"parted at step {step}"
            return
        assert abs(found.scores[step] - wanted.scores[step]) <= tolerance
        assert abs(found.similarities[step] - wanted.similarities[step]) <= tolerance
        if found.second is not None and wanted.second is not None:
            assert abs(found.second.scores[step] - wanted.second.scores[step]) <= tolerance
