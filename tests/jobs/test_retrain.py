"""The training data of a retraining."""

from db.queries import pairs as pair_queries
from db.queries import suggestions as suggestion_queries
from db.queries.suggestions import NewSuggestion
from tests.fixtures.shared import SharedFolder
from tests.jobs.copied_pictures import score_copies
from tests.jobs.opening import QUICK_CLIP, OpenWorkspace


def test_an_enriched_caption_is_a_correct_one_in_training(
    shared_folder: SharedFolder, open_workspace: OpenWorkspace
) -> None:
    scored = shared_folder("scored-copies", score_copies)
    workspace = open_workspace(copy_of=scored, **QUICK_CLIP)
    accepted = ["boost"] * 3 + ["correction"] * 2
    with workspace.store.writing() as session:
        pairs = list(pair_queries.iterate_pairs(session, 1))
        suggestion_queries.save_suggestions(
            session,
            [
                NewSuggestion(pair.id, kind, f"a {kind}", 0.1, 0.2, kind=kind)
                for pair, kind in zip(pairs, accepted, strict=False)
            ],
        )
    for pair, kind in zip(pairs, accepted, strict=False):
        (suggestion,) = workspace.review.suggestions(pair.id, kind)
        workspace.review.decide(pair.id, 0, "correction", suggestion_id=suggestion.id)
    for pair, decision in zip(pairs[5:], ("correct", "drop", "abstract", "unsure"), strict=False):
        workspace.review.decide(pair.id, 0, decision)
    report = workspace.jobs.run("train", 1).report
    assert (report["verdicts_right"], report["verdicts_wrong"]) == (3 + 1, 2 + 1)
