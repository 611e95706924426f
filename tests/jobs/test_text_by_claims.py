"""One picture and a text of several claims are tried claim by claim."""

from backend.workspace import Workspace
from research.scenes.long_captions import paragraphs
from research.scenes.renderer import render


def test_a_paragraph_is_tried_claim_by_claim(workspace: Workspace) -> None:
    (drawn,) = paragraphs(1, 41, sentences=(3,), errors=(1,), pronouns=0.0, vague=0.0)
    first = drawn.text[: drawn.claims[0].end]
    text = f"{drawn.text}\n\n{first}"
    result = workspace.review.playground(render(drawn.scene, 96), text)
    assert [(claim.start, claim.end) for claim in result.claims[:3]] == [
        (claim.start, claim.end) for claim in drawn.claims
    ]
    again = result.claims[3]
    assert (again.repeats, again.s_0, again.can_be_wrong) == (True, None, False)
    claim = result.claim
    assert claim is not None
    assert claim.gain == max(each.gain or 0.0 for each in result.claims)
    assert result.trajectory.caption.text == text[claim.start : claim.end]
    assert all(word.end <= drawn.claims[-1].end for word in result.suspects)
    assert result.suggestions
    for suggestion in result.suggestions:
        assert suggestion.caption.startswith(text[: claim.start])
        assert suggestion.caption.endswith(text[claim.end :])


def test_a_sentence_is_tried_as_it_stands(workspace: Workspace) -> None:
    (drawn,) = paragraphs(1, 42, sentences=(1,), errors=(1,), pronouns=0.0, vague=0.0)
    result = workspace.review.playground(render(drawn.scene, 96), drawn.text)
    assert (result.claims, result.claim) == ((), None)
    assert result.trajectory.caption.text == drawn.text
