"""The work a session has done, in units that do not depend on the machine.

Counted where the work happens; tests compare it with the lower bounds implied by the candidates
(`tests/research/bench/lower_bounds.py`).
"""

from dataclasses import dataclass


@dataclass
class Work:
    """Units of work of a text tower.

    * `images`: images whose keys and values were computed, once per image for all layers;
    * `sequences`: distinct texts scored; the last layer is computed for one token of each;
    * `tokens`: tokens that passed through all layers but the last;
    * `projections`: distinct (token, position) whose first projection was computed;
    * `attended`: (query, key) pairs of self-attention in a layer before the last;
    * `attended_last`: the same in the last layer;
    * `seen`: (query, patch) pairs of cross-attention in a layer before the last;
    * `seen_last`: the same in the last layer.
    """

    images: int = 0
    sequences: int = 0
    tokens: int = 0
    projections: int = 0
    attended: int = 0
    attended_last: int = 0
    seen: int = 0
    seen_last: int = 0
