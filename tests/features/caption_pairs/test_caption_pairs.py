"""Pairs of captions to learn from: which verdicts give one, and who reads the files."""

import ast
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pytest
from PIL import Image

from backend.errors import ExportError
from backend.jobs.export_choice import ExportChoice
from backend.workspace import Workspace
from db.authors import RULE
from db.queries import claim_queries
from db.queries import suggestion_queries as suggestions
from db.queries.claim_queries import ClaimRow
from db.queries.suggestion_queries import NewSuggestion
from tests.datasets.folders import image_folder
from tests.db.building import decide
from tests.jobs.opening import OpenWorkspace

LONG = "A dog runs. A cat sleeps. It rains."
DOG, CAT, RAIN = (0, 11), (12, 25), (26, 35)
#: By picture and id.
CAPTIONS = [
    ("a.png", "colour", "A red dog on the beach."),
    ("b.png", "left", "Two cats sit."),
    ("c.png", "right", "Three people in a park."),
    ("c.png", "other", "A park at night."),
    ("c.png", "wrong", "Four people in a park."),
    ("d.png", "long", LONG),
    ("e.png", "long too", LONG),
    ("f.png", "rule", "A man with a hat."),
    ("g.png", "waiting", "A big boat."),
    ("h.png", "typo", "A dog , running."),
    ("i.png", "copy", "A lamp."),
]


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    workspace = open_workspace()
    rows = [{"file_name": picture, "id": name, "caption": caption}
            for picture, name, caption in CAPTIONS]  # fmt: skip
    image_folder(tmp_path / "pairs", rows, tuple({row["file_name"]: 0 for row in rows}))
    workspace.jobs.import_dataset(tmp_path / "pairs")
    store = workspace.store.opened
    pair = ids(workspace)
    with store.writing() as session:
        long = {pair[name]: [ClaimRow(pair[name], *span, "sentence") for span in (DOG, CAT, RAIN)]
                for name in ("long", "long too")}  # fmt: skip
        claim_queries.save_claims(session, long)
        claim_queries.save_numbers(
            session, {(p, span[0]): {"icc": 0.9} for p in long for span in (DOG, CAT, RAIN)}
        )
        suggestions.save_suggestions(
            session,
            [NewSuggestion(pair["waiting"], "rules", "A small boat.", 0.1, 0.5, 0.9, 0.1)],
        )
    decide(store, pair["colour"], "correction", caption="A black dog on the beach.")
    decide(store, pair["left"], "drop")
    for name, decision in (("right", "correct"), ("other", "correct"), ("wrong", "drop")):
        decide(store, pair[name], decision, "Bea")
    for span, is_right in ((DOG, True), (CAT, False), (RAIN, None)):
        if is_right is not None:
            workspace.review.label_claim(pair["long"], _version(workspace, pair), span, is_right)
    decide(store, pair["long too"], "correction", caption=LONG.replace("A cat", "A fox"))
    decide(store, pair["rule"], "correction", f"{RULE}p <= 0.2", caption="A woman with a hat.")
    decide(store, pair["typo"], "correction", caption="A dog, running.")
    decide(store, pair["copy"], "drop", f"{RULE}near duplicate, by Ada")
    return workspace


def ids(workspace: Workspace) -> dict[str, int]:
    rows = workspace.review.queue_page(workspace.review.filter_of(1, {"review": "all"})).rows
    return {row.external_id: row.pair_id for row in rows}


def _version(workspace: Workspace, pair: dict[str, int]) -> int:
    return workspace.review.open_pair(pair["long"]).verdict.version


def exported(workspace: Workspace, out: Path, format: str, **choice: Any) -> Path:
    workspace.jobs.export(1, ExportChoice.parse(choice), out, format)
    return out


def text_of(turns: list[dict[str, Any]]) -> str:
    """What an answer says, in the form that TRL documents."""
    (turn,) = turns
    assert turn["role"] == "assistant"
    (part,) = turn["content"]
    assert part["type"] == "text"
    return str(part["text"])


def preferences(folder: Path, tmp_path: Path) -> list[dict[str, Any]]:
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    return list(loaded["train"])


def test_verdicts_become_preferences(workspace: Workspace, tmp_path: Path) -> None:
    rows = preferences(exported(workspace, tmp_path / "out", "preference"), tmp_path)
    pairs = {row["id"]: (text_of(row["chosen"]), text_of(row["rejected"]), row["basis"],
                         row["kinds"], row["decided_by"]) for row in rows}  # fmt: skip
    assert pairs == {
        "colour": ("A black dog on the beach.", "A red dog on the beach.", "corrected", "colour",
                   "curator 1"),
        "right": ("Three people in a park.", "Four people in a park.", "same picture", "count",
                  "curator 2"),
        "long too": (LONG.replace("A cat", "A fox"), LONG, "corrected", "object", "curator 1"),
        "long": ("A dog runs. It rains.", LONG, "shortened", "object action", "curator 3"),
    }  # fmt: skip
    assert [row["words_changed"] for row in rows] == [1, 1, 1, 3]
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "max_length=None" in card
    assert "first 5 words" in card  # "A dog runs. A cat", "A dog runs. A fox"
    for row in rows:
        (picture,) = row["images"]
        assert picture.size == (20, 10)
        (question,) = row["prompt"]
        assert (question["role"], [part["type"] for part in question["content"]]) == (
            "user", ["image", "text"],
        )  # fmt: skip


def test_what_nobody_has_confirmed_is_compared_only_if_wanted(
    workspace: Workspace, tmp_path: Path
) -> None:
    out = exported(workspace, tmp_path / "out", "preference", unconfirmed=True)
    rows = {row["id"]: row for row in preferences(out, tmp_path)}
    assert text_of(rows["waiting"]["chosen"]) == "A small boat."
    assert (rows["waiting"]["basis"], rows["waiting"]["decided_by"]) == ("suggested", "")
    assert (rows["rule"]["basis"], rows["rule"]["decided_by"]) == ("corrected", "")


def test_hard_negatives_are_read_as_by_negclip(workspace: Workspace, tmp_path: Path) -> None:
    out = exported(workspace, tmp_path / "out", "hard-negatives")
    # As its CsvDataset reads a file: https://github.com/vinid/neg_clip
    lists = {"neg_caption": ast.literal_eval, "neg_image": ast.literal_eval}
    table = pd.read_csv(out / "train.tsv", sep="\t", converters=lists)  # type: ignore[arg-type]
    negatives = dict(zip(table["title"], table["neg_caption"], strict=True))
    assert negatives == {
        "A black dog on the beach.": ["A red dog on the beach."],
        "Three people in a park.": ["Four people in a park."],
        # Of several claims, the one that differs: CLIP reads 77 tokens.
        "A fox sleeps.": ["A cat sleeps."],
    }, "what is only better is no right caption"
    for number, row in table.iterrows():
        assert Image.open(out / row["filepath"]).size == (20, 10)
        (other,) = row["neg_image"]
        assert table["filepath"][other] != row["filepath"], number


def test_a_right_rest_of_a_caption_has_hard_negatives(workspace: Workspace, tmp_path: Path) -> None:
    pair = ids(workspace)
    workspace.review.label_claim(pair["long"], _version(workspace, pair), RAIN, True)
    out = exported(workspace, tmp_path / "out", "hard-negatives")
    assert "A dog runs. It rains." in list(pd.read_csv(out / "train.tsv", sep="\t")["title"])


@pytest.mark.parametrize("format", ["preference", "hard-negatives"])
def test_nothing_to_compare_is_said_before_anything_is_written(
    open_workspace: OpenWorkspace, tmp_path: Path, format: str
) -> None:
    workspace = open_workspace()
    rows = [{"file_name": "a.png", "id": "1", "caption": "A dog."}]
    workspace.jobs.import_dataset(image_folder(tmp_path / "pairs", rows, ("a.png",)))
    with pytest.raises(ExportError):
        exported(workspace, tmp_path / "out", format)
    assert not (tmp_path / "out").exists()
