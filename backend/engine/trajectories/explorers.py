"""The registry of explorers by their user-facing names."""

from backend.engine.trajectories import elimination, gcd
from backend.engine.trajectories.exploring import ExplorerKind

EXPLORERS: dict[str, ExplorerKind] = {
    "elimination": elimination.ELIMINATION,
    "gcd": gcd.GCD,
    "fast-gcd": gcd.FAST_GCD,
}
