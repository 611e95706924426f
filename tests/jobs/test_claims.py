"""Captions of several claims: scored claim by claim, and corrected in one of them alone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from backend.jobs.stored_rows import latest_batches
from backend.workspace import Workspace
from db.queries import claim_queries, detections, pairs, suggestions
from db.queries.pairs import PairRow
from research.scenes.long_captions import LongCaption, paragraphs
from research.scenes.renderer import render
from tests.jobs.opening import OpenWorkspace

COUNT, VAGUE = 14, "What a wonderful time to be alive!"


@pytest.fixture
def drawn(tmp_path: Path) -> list[LongCaption]:
    """Paragraphs of drawn scenes in tmp_path / "long", each with a vague sentence at its end and
    its first sentence twice."""
    folder = tmp_path / "long"
    (folder / "images").mkdir(parents=True)
    captions = list(
        paragraphs(COUNT, seed=5, sentences=(2, 3), errors=(0, 1), pronouns=0.5, vague=0.0)
    )
    rows = []
    for number, caption in enumerate(captions):
        render(caption.scene, 96).save(folder / "images" / f"{number:02}.png")
        first = caption.text[: caption.claims[0].end]
        text = f"{caption.text} {VAGUE}\n\n{first}"
        captions[number] = replace(caption, text=text)
        rows.append({"file_name": f"images/{number:02}.png", "id": str(number), "caption": text})
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "metadata.jsonl").write_text(lines, encoding="utf-8")
    return captions


def of(workspace: Workspace, dataset: int) -> list[PairRow]:
    with workspace.store.reading() as session:
        return list(pairs.iterate_pairs(session, dataset))


def test_claims_are_scored_and_judged_with_their_caption(
    workspace: Workspace, drawn: list[LongCaption], tmp_path: Path
) -> None:
    dataset = workspace.find_or_import(str(tmp_path / "long"))
    report = workspace.jobs.score(dataset)
    assert (report.scored, report.truncated) == (COUNT, 0)
    rows = of(workspace, dataset)
    with workspace.store.reading() as session:
        claims = claim_queries.claims_of(session, [row.id for row in rows])
        judged = detections.detections_of(session, [row.id for row in rows])
        counts = claim_queries.count_claims(session, dataset)
        offered = {row.id: suggestions.list_suggestions(session, row.id) for row in rows}
    assert (counts.several, counts.vague) == (COUNT, COUNT)
    for row, caption in zip(rows, drawn, strict=True):
        *sentences, vague, again = claims[row.id]
        assert [(c.start, c.end) for c in sentences] == [(c.start, c.end) for c in caption.claims]
        assert row.caption[vague.start : vague.end] == VAGUE
        assert (again.repeats, again.s_0, again.p_error) == (True, None, None)
        assert row.s_0 == min(c.s_0 for c in (*sentences, vague) if c.s_0 is not None)
        assert row.p_error is not None
        assert all(c.p_error is not None for c in sentences)
        words = {row.caption[start:end] for start, end, _ in judged[row.id].suspects}
        assert words <= set(caption.text[: vague.start].replace(".", "").split())
        # A correction replaces one claim, and leaves every other character.
        for suggestion in offered[row.id]:
            start, end = (suggestion.provenance or {})["claim"]
            assert (start, end) in {(c.start, c.end) for c in sentences}
            assert suggestion.caption.startswith(row.caption[:start])
            assert suggestion.caption.endswith(row.caption[end:])
    assert any(offered.values())
    again = workspace.jobs.score(dataset)
    assert (again.scored, again.skipped) == (0, COUNT), "nothing is left to do"


@pytest.mark.usefixtures("drawn")
def test_another_division_is_scored_anew_and_remembered(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    whole = open_workspace(claims="whole")
    dataset = whole.find_or_import(str(tmp_path / "long"))
    whole.jobs.score(dataset, suggestions=False)

    def numbers(workspace: Workspace) -> list[int]:
        batches = latest_batches(workspace.store, dataset)
        return [len(caption.claims) for _, captions in batches for caption in captions]

    assert numbers(whole) == [1] * COUNT
    plain = open_workspace()
    assert plain.jobs.score(dataset, suggestions=False).scored == 0, "as it was"
    divided = open_workspace(claims="sentences")
    report = divided.jobs.score(dataset, suggestions=False)
    assert report.scored == COUNT
    assert min(numbers(divided)) > 1
    assert all(row.p_error is not None for row in of(divided, dataset))
    assert open_workspace().jobs.score(dataset, suggestions=False).scored == 0
