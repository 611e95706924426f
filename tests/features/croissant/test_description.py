"""What `croissant.json` says of an export."""

import hashlib
import json
from pathlib import Path

import mlcroissant
import pytest

from backend.errors import ExportError, SettingsError
from backend.features.croissant import records
from backend.workspace import Workspace
from db.queries import dataset_queries
from tests.jobs.test_export_dataset import again
from tests.jobs.test_export_dataset import workspace as dogs
from tests.jobs.test_new_splits import splits
from tests.jobs.test_provenance import exported, judge, workspace

__all__ = ["dogs", "workspace"]


def test_an_export_is_described_for_programs(dogs: Workspace, tmp_path: Path) -> None:
    """By the validator of Croissant itself; the hashes are those of the files."""
    dogs.review.decide(1, 0, "correction", "A cat", author="Ada", sampling="random")
    again(dogs, tmp_path / "out")
    described = mlcroissant.Dataset(jsonld=tmp_path / "out" / "croissant.json")
    assert not described.metadata.ctx.issues.errors
    about = json.loads((tmp_path / "out" / "croissant.json").read_text("utf-8"))
    assert (about["name"], about["isBasedOn"]) == ("pairs", "pairs")
    assert about["rai:dataAnnotationProtocol"] == ["Verdicts by: curator 1 (1)"]
    records, table = about["distribution"]
    assert records["contentUrl"] == ".croissant/data.parquet"
    digest = hashlib.sha256((tmp_path / "out" / "data.csv").read_bytes()).hexdigest()
    assert (table["contentUrl"], table["sha256"]) == ("data.csv", digest)
    captions = [row["data/caption"] for row in described.records("data")]
    assert captions == [b"A cat", b"A dog 1", b"A dog 2"]


def test_croissant_says_it_for_programs(workspace: Workspace, tmp_path: Path) -> None:
    judge(workspace)
    exported(workspace, tmp_path / "files" / "out")
    file = tmp_path / "files" / "out" / "croissant.json"
    assert not mlcroissant.Dataset(jsonld=file).metadata.ctx.issues.errors
    about = json.loads(file.read_text("utf-8"))
    assert {(each["@type"], each["name"]) for each in about["prov:wasAttributedTo"]} == {
        ("prov:SoftwareAgent", "org/blip"), ("prov:Person", "curator 1"),
        ("prov:SoftwareAgent", "org/gpt"),
    }  # fmt: skip
    (judging,) = about["prov:wasGeneratedBy"]
    assert [each["name"] for each in judging["prov:wasAssociatedWith"]] == [
        "curator 1", "curator 2",
    ]  # fmt: skip
    dataset = workspace.store.read(dataset_queries.get_dataset, 1)
    assert about["prov:wasDerivedFrom"]["sha256"] == dataset.source_digest
    assert len(dataset.source_digest) == 64


def test_it_says_how_new_splits_were_made(dogs: Workspace, tmp_path: Path) -> None:
    splits(dogs, tmp_path / "out", shares="80/10/10")
    assert "80/10/10" in (tmp_path / "out" / "croissant.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("problem", "error"), [(OSError("full"), ExportError), (KeyError("a"), SettingsError)]
)
def test_a_description_that_fails_leaves_no_export(
    dogs: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception,
    error: type[Exception],
) -> None:  # fmt: skip
    def fail(folder: Path) -> None:
        raise problem

    monkeypatch.setattr(records, "write_tables", fail)
    with pytest.raises(error):
        again(dogs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
