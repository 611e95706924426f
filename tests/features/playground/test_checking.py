"""One picture and a text of several claims are tried claim by claim."""

from dataclasses import replace
from pathlib import Path

from backend.engine.constants.part import ConstantPart
from backend.features.playground.checking import analyse
from backend.features.playground.page import result_html
from backend.features.playground.shared_result import share
from backend.jobs.scoring.dataset_constants import ConstantChoice, remember_constants
from backend.workspace import Workspace
from research.scenes.long_captions import paragraphs
from research.scenes.renderer import render
from tests.checkpoints import drawn_folder


def test_a_paragraph_is_tried_claim_by_claim(workspace: Workspace) -> None:
    (drawn,) = paragraphs(1, 41, sentences=(3,), errors=(1,), pronouns=0.0, vague=0.0)
    first = drawn.text[: drawn.claims[0].end]
    text = f"{drawn.text}\n\n{first}"
    result = analyse(workspace, render(drawn.scene, 96), text)
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
    result = analyse(workspace, render(drawn.scene, 96), drawn.text)
    assert (result.claims, result.claim) == ((), None)
    assert result.trajectory.caption.text == drawn.text


def test_a_text_that_the_model_does_not_read_has_no_chance_of_error(workspace: Workspace) -> None:
    (drawn,) = paragraphs(1, 42, sentences=(1,), errors=(1,), pronouns=0.0, vague=0.0)
    picture = render(drawn.scene, 96)
    result = analyse(workspace, picture, "Ein Hund sitzt neben einem Haus im Regen.")
    assert (result.unread_language, result.suggestions) == ("German", ())
    shared = share(replace(result, p_error=0.9), "0" * 64)
    assert shared is not None
    assert shared.p_error is None
    html = result_html(replace(result, p_error=0.9), "a.png")
    assert "No corrections by a model that does not read German." in html
    assert "likely wrong" not in html
    assert analyse(workspace, picture, drawn.text).unread_language == ""


def test_a_text_is_tried_without_the_constant_parts_of_its_dataset(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset = workspace.find_or_import(str(drawn_folder(tmp_path / "pairs", 2)))
    part = ConstantPart(("ohwx", "style"), "begin", 30, 30)
    workspace.store.write(remember_constants, dataset, ConstantChoice(), (part,))
    (drawn,) = paragraphs(1, 42, sentences=(1,), errors=(1,), pronouns=0.0, vague=0.0)
    picture, before = render(drawn.scene, 96), "Ohwx style, "
    plain = analyse(workspace, picture, drawn.text, dataset)
    result = analyse(workspace, picture, before + drawn.text, dataset)
    assert (result.s_0, result.icc) == (plain.s_0, plain.icc)
    assert [word.start - len(before) for word in result.suspects] == [
        word.start for word in plain.suspects
    ]
    assert result.phrases is not None
    assert plain.phrases is not None
    assert [(each.start - len(before), each.pas) for each in result.phrases] == [
        (each.start, each.pas) for each in plain.phrases
    ]
    assert all(each.caption.startswith(before) for each in result.suggestions)
    assert "ohwx" in analyse(workspace, picture, before + drawn.text).caption.lower()
