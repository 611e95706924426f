"""Two captioners side by side: what is compared, what is not, and each difference as a queue."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from backend.errors import SettingsError, UnknownPictures
from backend.features.side_by_side import page
from backend.features.side_by_side.comparison import (
    FEWEST,
    Counts,
    SideBySide,
    captioners_in,
    compare,
    scored_since,
    tags_of,
)
from backend.workspace import QueueFilter, Workspace
from db.models import Dataset, Pair
from db.queries import job_queries
from db.queries.dataset_queries import UNFAMILIAR
from tests.cli.invoking import as_json
from tests.datasets.folders import unlike_pictures
from tests.hostile.markup import check_escaping
from tests.jobs.opening import opened

PICTURES, WITHOUT = 60, 20
#: The second one has no caption of a third of the pictures.
BOTH = PICTURES - WITHOUT


def import_rows(folder: Path, rows: list[dict[str, Any]]) -> Workspace:
    made = opened(folder.parent / "state")
    made.jobs.import_dataset(unlike_pictures(folder, rows))
    return made


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    rows = [
        {"file_name": f"{n}.png", "id": f"{model}-{n}", "caption": f"A {model} {n}", "model": model}
        for n in range(PICTURES)
        for model in ("qwen", "blip")
        if model == "qwen" or n >= WITHOUT
    ]
    return import_rows(tmp_path / "pairs", rows)


def ids_of(workspace: Workspace) -> dict[str, int]:
    rows = workspace.review.queue_page(QueueFilter(1, "all"), limit=1000).rows
    return {row.external_id: row.pair_id for row in rows}


def set_chances(workspace: Workspace, chances: dict[str, float]) -> None:
    ids = ids_of(workspace)
    with workspace.store.writing() as session:
        for name, p in chances.items():
            row = update(Pair).where(Pair.id == ids[name])
            session.execute(row.values(p_error_even=p, p_error_odd=p))
        session.commit()


def first_wins_in(workspace: Workspace, number: int, alike: int = 0) -> None:
    """Of the pictures with both, `qwen` is likelier right in so many, then alike, else not."""
    chances: dict[str, float] = {}
    for place, picture in enumerate(range(WITHOUT, PICTURES)):
        is_first, is_alike = place < number, number <= place < number + alike
        chances[f"qwen-{picture}"] = 0.5 if is_alike else 0.1 if is_first else 0.9
        chances[f"blip-{picture}"] = 0.52 if is_alike else 0.5
    set_chances(workspace, chances)


def test_the_share_is_of_the_pictures_that_both_have_captioned(workspace: Workspace) -> None:
    first_wins_in(workspace, 24, alike=6)
    report = compare(workspace.store, 1, None)
    assert (report.column, report.first, report.second) == ("writer", "qwen", "blip")
    assert report.likelier == Counts(24, 10, 6)
    share = report.share(report.likelier)
    assert share is not None
    assert share[0] == pytest.approx(24 / BOTH)
    assert share[1] < share[0] < share[2]
    assert (report.without_first, report.without_second) == (0, WITHOUT)
    assert report.unscored == 0


def test_the_names_can_be_exchanged(workspace: Workspace) -> None:
    first_wins_in(workspace, 24)
    report = compare(workspace.store, 1, None, "blip", "qwen")
    assert report.likelier == Counts(16, 24, 0)
    assert (report.without_first, report.without_second) == (WITHOUT, 0)


def test_each_difference_is_a_queue_and_replaces_the_last(workspace: Workspace) -> None:
    first_wins_in(workspace, 24, alike=6)
    report = compare(workspace.store, 1, "ann")
    tags = workspace.review.tags(1)
    assert tags == {report.first_tag: 10, report.second_tag: 24}
    tagged = workspace.review.queue_page(
        QueueFilter(1, "all", tag=report.second_tag), limit=100
    ).rows
    assert {row.external_id.partition("-")[0] for row in tagged} == {"blip"}
    first_wins_in(workspace, BOTH)
    report = compare(workspace.store, 1, "ann")
    assert (report.first_tag, workspace.review.tags(1)) == ("", {report.second_tag: BOTH})


def test_names_that_are_alike_havetags_of_their_own() -> None:
    for names in (("a" * 90 + "b", "a" * 90 + "c"), ("a;b", "a,b"), ("a b", "a  b")):
        tags = tags_of(*names)
        assert len(set(tags)) == 2
        assert all(len(tag) <= 64 and ";" not in tag for tag in tags)


def test_pictures_without_scores_are_said(workspace: Workspace) -> None:
    report = compare(workspace.store, 1, None)
    assert (report.likelier.all, report.unscored) == (0, BOTH)
    assert report.share(report.likelier) is None


def test_no_share_of_fewer_than_thirty_pictures(workspace: Workspace) -> None:
    first_wins_in(workspace, 24)
    report = compare(workspace.store, 1, None)
    fewer = replace(report, likelier=Counts(FEWEST - 1, 0, 0))
    assert fewer.share(fewer.likelier) is None
    assert "%" not in fewer.in_words()
    assert "%" not in page.report_html(fewer, "writer", {}, 1).partition("<ul")[0]
    enough = replace(report, likelier=Counts(FEWEST, 0, 0))
    assert enough.share(enough.likelier) is not None


def test_scores_that_changed_since_the_comparison_are_said(workspace: Workspace) -> None:
    first_wins_in(workspace, 24)
    report = compare(workspace.store, 1, None)
    assert scored_since(workspace.store, 1, report) == []
    shown = page.report_html(report, "writer", {}, 1)
    set_chances(workspace, {"blip-30": 0.7})
    assert scored_since(workspace.store, 1, report) == ["blip"]
    assert page.report_html(report, "writer", {}, 1, ["blip"]).count("blip") > shown.count("blip")
    first_wins_in(workspace, 3)
    set_chances(workspace, {"blip-30": 0.7})
    assert scored_since(workspace.store, 1, report) == ["qwen", "blip"]
    assert scored_since(workspace.store, 1, compare(workspace.store, 1, None)) == []
    # A comparison of an earlier version does not say what it was made of.
    unknown = replace(report, first_chances=(), second_chances=())
    assert scored_since(workspace.store, 1, unknown) == []


def test_verdicts_of_people_are_counted_of_their_own(workspace: Workspace) -> None:
    first_wins_in(workspace, 24)
    ids = ids_of(workspace)
    for name, decision in (
        ("qwen-20", "correct"), ("blip-20", "wrong"), ("qwen-21", "wrong"), ("blip-21", "correct"),
        ("qwen-22", "correct"), ("blip-22", "correct"), ("qwen-23", "correct"),
        ("qwen-24", "unsure"), ("blip-24", "wrong"),
    ):  # fmt: skip
        workspace.review.decide(ids[name], 0, decision)
    assert compare(workspace.store, 1, None).judged == Counts(1, 1, 1)


@pytest.mark.parametrize(
    "names", [{"first": "nobody"}, {"second": "nobody"}, {"first": "qwen", "second": "qwen"},
              {"column": "nothing"}]
)  # fmt: skip
def test_names_that_the_dataset_does_not_have_are_refused(
    workspace: Workspace, names: dict[str, str]
) -> None:
    with pytest.raises(SettingsError):
        compare(workspace.store, 1, None, **names)  # pyrefly: ignore[bad-argument-type]


def test_a_dataset_of_one_captioner_has_nothing_to_compare(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    made = import_rows(folder, [{"file_name": "0.png", "caption": "A dog", "model": "blip"}])
    assert captioners_in(made.store, 1) == ("", {})
    with pytest.raises(SettingsError):
        compare(made.store, 1, None)


def test_chances_that_are_no_figures_are_not_compared(workspace: Workspace) -> None:
    first_wins_in(workspace, 24)
    with workspace.store.writing() as session:
        models = {**session.get_one(Dataset, 1).models, UNFAMILIAR: True}
        session.execute(update(Dataset).values(models=models))
        session.commit()
    with pytest.raises(UnknownPictures):
        compare(workspace.store, 1, None)


def test_the_command_the_job_and_the_page_say_the_same(workspace: Workspace) -> None:
    first_wins_in(workspace, 24, alike=6)
    environment = {"TRACED_DATA_DIRECTORY": str(workspace.settings.data_directory)}
    report = as_json(environment, "side-by-side", workspace.summary(1).name)
    assert Counts(*report["likelier"]) == Counts(24, 10, 6)
    job = workspace.jobs.start("side-by-side", 1, first="qwen", second="blip")
    assert workspace.jobs.background.wait(60)
    assert workspace.jobs.job(job).status == "done"
    shown = page.last_report(workspace, 1)
    assert shown is not None
    assert shown.likelier == Counts(24, 10, 6)
    html = page.report_html(shown, "writer", {}, 1)
    for text in ("60 %", "25 %", "40 pictures", "24 pictures", "10 pictures", "20 pictures"):
        assert text in html
    with workspace.store.writing() as session:
        for status in ("failed", "cancelled", "running"):
            later = job_queries.create_job(session, "side-by-side", 1)
            job_queries.update_job(session, later.id, status=status, result={})
    assert page.last_report(workspace, 1) == shown, "a later job that found nothing"


def test_without_two_captioners_the_page_says_what_brings_them() -> None:
    for names in ({}, {"qwen": 3}):
        html = page.report_html(None, "writer", names, 1)
        assert 'class="empty"' in html
        assert re.findall('data-page="([^"]*)"', html) == ["datasets"]
    assert 'class="empty"' not in page.report_html(None, "writer", {"qwen": 3, "blip": 3}, 1)


def test_hostile_text_is_escaped() -> None:
    def draw(text: str) -> str:
        counts = Counts(20, 15, 5)
        report = SideBySide(text, text, text, counts, counts, 3, 4, 5, text, text)
        return page.report_html(report, text, {}, 1)

    check_escaping("side_by_side.html", draw)
    check_escaping(
        "side_by_side.html", lambda text: page.report_html(None, text, {"a": 1, "b": 1}, 1)
    )
