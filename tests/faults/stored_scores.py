"""What a scoring job has stored so far."""

from sqlalchemy import text

from backend.workspace import Workspace


def stored(workspace: Workspace) -> dict[int, bytes]:
    """The scores of each pair of the only dataset that has a trajectory, by pair."""
    with workspace.store.reading() as session:
        rows = session.execute(text("SELECT pair_id, scores FROM trajectories")).all()
    scores = {pair_id: bytes(content) for pair_id, content in rows}
    assert len(scores) == len(rows), "a pair was stored twice"
    return scores
