"""`evaluate long-captions` goes the user's way, and compares with the truth."""

from backend.settings import MODELS
from db.queries.claim_queries import ClaimRow
from research.evaluation import several_claims
from research.scenes.long_captions import DrawnClaim, LongCaption, paragraphs


def test_paragraphs_are_scored_judged_and_learnt_from() -> None:
    report = several_claims.evaluate_long_captions(
        several_claims.LEAST, 1, 3, [MODELS], worlds=["six sentences"]
    )
    divided, whole = report.results
    assert (divided.captions, divided.claims) == (several_claims.LEAST, 6 * several_claims.LEAST)
    assert (whole.claims, whole.of_claims.auc) == (several_claims.LEAST, None)
    assert divided.auc > whole.auc
    assert divided.verdicts == several_claims.LEAST // 2
    assert divided.calibration_learnt != divided.calibration
    assert several_claims.markdown(report).count("six sentences") == 7


def test_claims_are_compared_by_where_they_stand() -> None:
    (scene,) = (caption.scene for caption in paragraphs(1, 3))
    drawn = LongCaption(
        scene, "a b c d", (DrawnClaim(0, 1), DrawnClaim(2, 3, "colour"), DrawnClaim(4, 5),
                           DrawnClaim(6, 7, is_vague=True)),
    )  # fmt: skip
    run = several_claims._Run("", "auto", 0, [drawn])  # type: ignore[arg-type]
    rows = [
        ClaimRow(1, start, start + 1, "sentence", p_error=p)
        for start, p in ((0, 0.1), (2, 0.8), (4, 0.2), (6, 0.9))
    ]
    figures = run._of_claims([rows])
    assert (figures.auc, figures.first) == (1.0, 1.0)
    assert figures.by_position["1st, 2nd"] == 1.0
    assert figures.by_position["3rd, 4th"] is None
