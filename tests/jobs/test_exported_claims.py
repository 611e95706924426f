"""What an export does with claims that are wrong, or look so."""

from collections.abc import Sequence

import pytest

from backend.engine.claims.claim import Claim
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_decisions import decide_export
from backend.jobs.scoring.stored_claims import KnownClaim

CAPTION = "A dog runs. It is red. A cat sleeps."
SPANS = ((0, 11), (12, 22), (23, 36))


def claims(
    chances: Sequence[float], labels: Sequence[bool | None], icc: float = 0.9
) -> tuple[KnownClaim, ...]:
    return tuple(
        KnownClaim(Claim(*span), {"p_error": p, "icc": icc, "s_0": 0.1}, label)
        for span, p, label in zip(SPANS, chances, labels, strict=True)
    )


@pytest.mark.parametrize(
    ("choice", "decision", "labels", "caption", "kind"),
    [
        ({}, "wrong", (True, False, None), CAPTION, "human"),
        ({"wrong_claims": "leave out"}, "wrong", (True, False, None),
         "A dog runs. A cat sleeps.", "shortened"),
        ({"wrong_claims": "leave out"}, "wrong", (None, None, None), CAPTION, "human"),
        ({"wrong_claims": "leave out"}, "correction", (None, False, None), CAPTION, "corrected"),
        ({"drop_claims_above": 0.8}, None, (None, None, None), "A dog runs. It is red.",
         "shortened"),
        ({"drop_claims_above": 0.8}, None, (None, None, True), CAPTION, "human"),
        ({"drop_claims_above": 0.8}, "correct", (None, None, None), CAPTION, "human"),
        ({"drop_claims_above": 0.8, "drop_above": 0.5}, None, (None, None, None),
         "A dog runs. It is red.", "shortened"),
    ],
)  # fmt: skip
def test_claims_that_are_wrong_or_look_so_can_be_left_out(
    choice: dict[str, object],
    decision: str | None,
    labels: Sequence[bool | None],
    caption: str,
    kind: str,
) -> None:
    known = claims((0.1, 0.4, 0.9), labels)
    decided = decide_export(ExportChoice.parse(choice), CAPTION, decision, None, 0.9, claims=known)
    assert (decided.caption, decided.kind) == (caption, kind)


def test_a_caption_of_which_nothing_would_stay_is_left_out() -> None:
    choice = ExportChoice(drop_claims_above=0.2)
    decided = decide_export(
        choice, CAPTION, None, None, 0.9, claims=claims((0.9, 0.9, 0.9), (None,) * 3)
    )
    assert decided.left_out_because
    vague = claims((0.9, 0.9, 0.9), (None,) * 3, icc=0.1)
    assert decide_export(choice, CAPTION, None, None, 0.9, claims=vague).caption == CAPTION


def test_an_edited_caption_loses_them_too() -> None:
    decided = decide_export(
        ExportChoice(drop_claims_above=0.8), CAPTION, None, None, 0.9,
        edit="Photo: A dog runs. It is red. A cat sleeps.",
        claims=claims((0.1, 0.4, 0.9), (None,) * 3),
    )  # fmt: skip
    assert decided.caption == "Photo: A dog runs. It is red."
