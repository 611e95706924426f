"""Imports are atomic; a dataset can be renamed and deleted, and its verdicts are kept in a file."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.read_options import LABELS, ReadOptions
from backend.datasets.reading import pair_checks
from backend.datasets.safe_files.containers import ImageFile
from backend.errors import (
    INTERRUPTED,
    DatasetError,
    DatasetFormatError,
    DatasetNotFound,
    NotFound,
    SettingsError,
    StoreError,
    UnsupportedFormat,
)
from backend.workspace import Workspace
from db.queries import dataset_queries, job_queries
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import encoded, image_folder, picture, write
from tests.datasets.writing.test_forms import gzipped_tar
from tests.fixtures.hub_server import Hub, Repository, dataset_hub
from tests.fixtures.interrupting import Hanging, stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import OpenWorkspace, pairs_of


@pytest.fixture
def workspace(url: str, open_workspace: OpenWorkspace) -> Workspace:
    return open_workspace(database=url)


def folder(path: Path, pairs: int) -> Path:
    rows = [{"file_name": "a.png", "caption": f"A dog {n}.", "id": str(n)} for n in range(pairs)]
    return image_folder(path, rows, ("a.png",))


def ids(workspace: Workspace, dataset_id: int) -> list[int]:
    return [pair.id for pair in pairs_of(workspace, dataset_id)]


def test_the_app_opens_with_the_dataset_in_use(workspace: Workspace, tmp_path: Path) -> None:
    first, second = (workspace.find_or_import(str(folder(tmp_path / n, 1))) for n in "ab")
    assert workspace.start() == second
    workspace.review.decide(ids(workspace, first)[0], 0, "wrong")
    assert workspace.start() == first
    assert len(workspace.datasets()) == 2
    assert workspace.jobs.recent() == []


@pytest.mark.parametrize("rows", [[], [{"file_name": "gone.png", "caption": "A dog."}] * 3])
def test_an_import_without_pairs_leaves_no_dataset(
    workspace: Workspace, tmp_path: Path, rows: list[Any]
) -> None:
    with pytest.raises(DatasetFormatError, match=r"could be imported|no rows") as refused:
        workspace.jobs.import_dataset(image_folder(tmp_path / "d", rows, ()))
    assert workspace.datasets() == []
    if rows:
        assert "metadata.jsonl, row 1: There is no file" in str(refused.value)


def test_progress_stays_within_its_total_if_a_line_holds_several_captions(
    workspace: Workspace, tmp_path: Path
) -> None:
    rows = [{"file_name": "a.png", "caption": [f"A dog {n}.", f"A cat {n}."]} for n in range(2)]
    seen: list[tuple[int, int]] = []
    workspace.jobs.import_dataset(
        image_folder(tmp_path / "d", rows, ("a.png",)),
        progress=lambda done, total, _: seen.append((done, total)),
    )
    assert seen
    assert all(done <= total for done, total in seen)


def test_an_import_that_fails_midway_leaves_no_dataset(
    workspace: Workspace, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(BATCH=2)
    source = folder(tmp_path / "d", 7)

    def fails(done: int, total: int, message: str) -> None:
        if done >= 4:
            raise StoreError("The disk is full.")

    with pytest.raises(StoreError):
        workspace.jobs.import_dataset(source, progress=fails)
    assert workspace.datasets() == []
    assert workspace.jobs.import_dataset(source).added == 7


def test_countless_empty_rows_do_not_fill_the_database(
    workspace: Workspace, tmp_path: Path, sizes: Sizes
) -> None:
    """A file of 200 bytes may represent a billion empty rows."""
    sizes(MOST_PROBLEMS=1000)
    picture(tmp_path / "a.png")
    empty, rows = pa.nulls(3_000, pa.string()), pa.array(["a.png"])
    table = pa.table({"file_name": pa.concat_arrays([rows, empty]),
                      "caption": pa.concat_arrays([rows, empty])})  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet")
    report = workspace.jobs.import_dataset(tmp_path / "t.parquet")
    assert (report.added, report.problems) == (1, 3_000)
    assert "2,000 further problems are not listed." in report.notes
    problems = workspace.store.read(dataset_queries.list_problems, report.dataset_id, limit=9999)
    assert len(problems) == 1000


def test_a_failed_import_keeps_existing_pairs_and_an_interrupted_one_resumes(
    workspace: Workspace, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(BATCH=2)
    source = folder(tmp_path / "d", 7)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.import_dataset(source, progress=stop_at(4))
    assert [summary.total for summary in workspace.datasets()] == [4]
    report = workspace.jobs.import_dataset(source)
    assert (report.added, report.already_there) == (3, 4)
    (source / "metadata.jsonl").write_text("no JSON")
    with pytest.raises(DatasetError):
        workspace.jobs.import_dataset(source)
    assert [summary.total for summary in workspace.datasets()] == [7]


def test_ctrl_c_ends_an_import_at_once_and_it_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes, hanging: Hanging
) -> None:
    """Even while all threads that open images hang."""
    imported, check = 4, pair_checks.check_image
    source = folder(tmp_path / "d", 50)
    picture(source / "b.png")
    lines = (source / "metadata.jsonl").read_text().splitlines()
    rest = [line.replace("a.png", "b.png") for line in lines[imported:]]
    (source / "metadata.jsonl").write_text("\n".join([*lines[:imported], *rest]))

    def hang(image: ImageFile) -> object:
        return hanging() if image.name == "b.png" else check(image)

    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}
    with monkeypatch.context() as patch:
        patch.setattr(pair_checks, "check_image", hang)
        sizes(BATCH=2, _AHEAD=2)
        status, _, err = invoked(environment, "import", str(source))
    assert (status, hanging.is_done) == (INTERRUPTED, False)
    assert "the same command resumes from there" in err
    assert [d["total"] for d in as_json(environment, "datasets", "list")["datasets"]] == [imported]
    report = as_json(environment, "import", str(source))
    assert (report["added"], report["already_there"]) == (50 - imported, imported)


def test_deleting_a_dataset_keeps_its_verdicts_in_a_file(
    workspace: Workspace, tmp_path: Path
) -> None:
    first = workspace.jobs.import_dataset(folder(tmp_path / "first", 4)).dataset_id
    other = workspace.jobs.import_dataset(folder(tmp_path / "other", 2)).dataset_id
    pairs = ids(workspace, first)
    workspace.review.decide(pairs[0], 0, "drop", author="Ada")
    workspace.review.decide(pairs[0], 1, "correction", "A “better” 犬.", author="Bo")
    workspace.review.decide(pairs[2], 0, "correct", author="Ada")
    workspace.review.decide(ids(workspace, other)[0], 0, "drop", author="Ada")
    going = workspace.deletion_preview(first)
    assert (going.pairs, going.reviewed, going.acts) == (4, 2, 3)
    gone = workspace.delete_dataset(first)
    lines = [json.loads(line) for line in Path(gone.verdict_file).read_text("utf-8").splitlines()]
    assert [(a["external_id"], a["version"], a["decision"], a["author"]) for a in lines] == [
        ("0", 1, "drop", "Ada"), ("0", 2, "correction", "Bo"), ("2", 1, "correct", "Ada"),
    ]  # fmt: skip
    assert lines[1]["corrected_caption"] == "A “better” 犬."
    assert lines[1]["caption"] == "A dog 0."
    assert [(s.name, s.total, s.reviewed) for s in workspace.datasets()] == [("other", 2, 1)]
    assert (tmp_path / "first" / "a.png").is_file()
    with pytest.raises(NotFound):
        workspace.delete_dataset(first)


def test_nothing_is_deleted_if_verdicts_cannot_be_saved_or_a_job_runs(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset_id = workspace.jobs.import_dataset(folder(tmp_path / "d", 2)).dataset_id
    workspace.review.decide(ids(workspace, dataset_id)[0], 0, "drop")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(SettingsError, match="Nothing was deleted"):
        workspace.delete_dataset(dataset_id, tmp_path / "file")
    assert workspace.summary(dataset_id).reviewed == 1
    job = workspace.store.write(job_queries.create_job, "score", dataset_id)
    with pytest.raises(SettingsError, match="job"):
        workspace.delete_dataset(dataset_id)
    workspace.store.write(job_queries.update_job, job.id, status="done")
    workspace.delete_dataset(dataset_id)
    assert workspace.datasets() == []


def test_a_dataset_can_be_renamed(workspace: Workspace, tmp_path: Path) -> None:
    first = workspace.jobs.import_dataset(folder(tmp_path / "first", 2)).dataset_id
    workspace.jobs.import_dataset(folder(tmp_path / "other", 2))
    workspace.rename_dataset(first, " Hunde ")
    assert workspace.find("Hunde") == first
    for wrong in ("other", "", "x" * 300, "a\0b"):
        with pytest.raises((SettingsError, StoreError)):
            workspace.rename_dataset(first, wrong)
    assert workspace.find("Hunde") == first
    with pytest.raises(NotFound):
        workspace.rename_dataset(999, "x")
    assert workspace.jobs.import_dataset(tmp_path / "first", name="Hunde").already_there == 2


def test_a_compressed_tar_is_unpacked_once_and_read_from_there(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = gzipped_tar(tmp_path / "pets.tar.gz")
    report = workspace.jobs.import_dataset(path)
    assert (report.name, report.added, report.problems) == ("pets", 1, 0)
    (pair,) = pairs_of(workspace, report.dataset_id)
    assert workspace.review.thumbnail(pair.id, 8)
    again = workspace.jobs.import_dataset(path)
    assert (again.added, again.already_there) == (0, 1)
    (tmp_path / "many").mkdir()
    for name in ("a", "b"):
        gzipped_tar(tmp_path / "many" / f"{name}.tgz")
    assert workspace.jobs.import_dataset(tmp_path / "many").added == 2
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DatasetFormatError, match="cannot be unpacked"):
        workspace.jobs.import_dataset(path, name="cut")
    (tmp_path / "no.tar.gz").write_bytes(b"no gzip")
    with pytest.raises(DatasetFormatError, match="cannot be unpacked"):
        workspace.jobs.import_dataset(tmp_path / "no.tar.gz")
    assert len(workspace.datasets()) == 2


def test_the_folder_of_images_that_are_elsewhere_is_named(
    workspace: Workspace, tmp_path: Path
) -> None:
    image_folder(tmp_path / "data/images", [], ("a.png", "b.png"))
    table = tmp_path / "data/labels/captions_val.json"
    table.parent.mkdir()
    images = [{"id": n, "file_name": f"{name}.png"} for n, name in enumerate("ab")]
    notes = [{"id": n, "image_id": n, "caption": f"A dog {n}"} for n in range(2)]
    table.write_text(json.dumps({"images": images, "annotations": notes}))
    with pytest.raises(DatasetFormatError, match="in another folder") as refused:
        workspace.jobs.import_dataset(table)
    assert f"--image-root {tmp_path / 'data/images'}." in refused.value.remedies["terminal"]
    options = ReadOptions(image_root=tmp_path / "data/images")
    workspace.jobs.import_dataset(table, options=options)
    assert [(row.caption, row.split) for row in pairs_of(workspace)] == [
        ("A dog 0", "validation"), ("A dog 1", "validation"),
    ]  # fmt: skip


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with dataset_hub(monkeypatch, tmp_path / "hub") as server:
        yield server


def fetched(workspace: Workspace) -> list[Path]:
    """What imports put into the data folder."""
    return sorted((workspace.settings.data_directory / "fetched").rglob("*"))


def test_a_dataset_of_the_hub_is_imported_by_its_name(workspace: Workspace, hub: Hub) -> None:
    captions = pa.table({"image": [encoded(), encoded((9, 9))], "text": ["A dog.", "A cat."]})
    buffer = pa.BufferOutputStream()
    pq.write_table(captions, buffer)
    files = {"data/train-00000-of-00001.parquet": buffer.getvalue().to_pybytes()}
    hub.repositories["somebody/pets"] = Repository(private=True, files=files)
    report = workspace.jobs.import_dataset("hf:somebody/pets")
    assert (report.name, report.added, report.problems) == ("pets", 2, 0)
    assert workspace.jobs.import_dataset("hf:somebody/pets").already_there == 2
    before = fetched(workspace)
    with pytest.raises(DatasetFormatError):
        workspace.jobs.import_dataset("hf:somebody/pets@en", name="pets")
    with pytest.raises(DatasetNotFound):
        workspace.jobs.import_dataset("hf:somebody/pets", name="theirs", anonymous=True)
    assert fetched(workspace) == before
    with pytest.raises(DatasetNotFound):
        workspace.relocate_dataset(report.dataset_id, "hf:somebody/pets")


def bad_on_the_hub(tmp_path: Path, hub: Hub) -> str:
    hub.repositories["a/b"] = Repository(private=False, files={"train.csv": b"image,text\n"})
    return "hf:a/b"


def bad_in_the_cache(tmp_path: Path, hub: Hub) -> str:
    snapshot = tmp_path / "datasets--a--b" / "snapshots" / "1"
    write(tmp_path / "datasets--a--b" / "blobs" / "1", "image,text\n")
    snapshot.mkdir(parents=True)
    (snapshot / "train.csv").symlink_to("../../blobs/1")
    return str(snapshot)


def bad_in_a_tar(tmp_path: Path, hub: Hub) -> str:
    return str(write(tmp_path / "a.tar.gz", gzip.compress(b"no tar" * 1000)))


@pytest.mark.parametrize("bad", [bad_on_the_hub, bad_in_the_cache, bad_in_a_tar])
def test_a_failed_import_leaves_nothing_behind(
    workspace: Workspace, tmp_path: Path, hub: Hub, bad: Callable[[Path, Hub], str]
) -> None:
    with pytest.raises(DatasetFormatError):
        workspace.jobs.import_dataset(bad(tmp_path, hub))
    assert fetched(workspace) == workspace.datasets() == []


def test_a_table_without_pictures_says_which_column_was_taken_for_their_paths(
    workspace: Workspace, tmp_path: Path
) -> None:
    table = write(tmp_path / "people.csv", "name,comment\nann,a dog\nben,a cat\n")
    with pytest.raises(DatasetFormatError) as raised:
        workspace.jobs.import_dataset(str(table))
    for words in ("column 'name'", "'name', 'comment'"):
        assert words in str(raised.value)
    assert raised.value.title != UnsupportedFormat.title
    assert LABELS["image_column"] in raised.value.remedies["page"]
    with pytest.raises(UnsupportedFormat):
        workspace.jobs.import_dataset(str(write(tmp_path / "notes.pdf", "%PDF")))
