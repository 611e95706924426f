"""Archives with links, absolute names, names that lead out, and very many entries: each row becomes
a pair or a problem, and nothing outside the archive is read or written."""

import io
import json
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backend.settings import load_settings
from backend.workspace import QueueFilter, Workspace
from tests.datasets.folders import encoded, tar_bytes, write, zip_bytes

SECRET = "what lies outside"


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    yield opened
    opened.store.close()


def tar_with(path: Path, good: bytes, outside: Path) -> None:
    """A WebDataset shard: one sample, and members that point elsewhere."""
    with tarfile.open(path, "w") as archive:

        def add(name: str, content: bytes, kind: bytes = tarfile.REGTYPE, target: str = "") -> None:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, target
            archive.addfile(member, io.BytesIO(content))

        add("good.png", good)
        add("good.txt", b"a dog")
        for number, (kind, target) in enumerate(
            [(tarfile.SYMTYPE, str(outside)), (tarfile.LNKTYPE, str(outside)),
             (tarfile.SYMTYPE, "good.txt"), (tarfile.CHRTYPE, ""), (tarfile.FIFOTYPE, "")]
        ):  # fmt: skip
            add(f"link{number}.png", good)
            add(f"link{number}.txt", b"", kind, target)
        for number, name in enumerate(("/etc/absolute", "../up", "a/../../up", "./.", "//x")):
            add(f"{name}{number}.png", good)
            add(f"{name}{number}.txt", b"a name that leads out")


def zip_with(path: Path, good: bytes, outside: Path) -> None:
    """A folder of images with metadata, and the same."""
    names = ["good.png", "/etc/absolute.png", "../up.png", "a/../../up.png", "link.png"]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names[:-1]:
            archive.writestr(name, good)
        link = zipfile.ZipInfo("link.png")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, str(outside))
        rows = [{"file_name": name, "text": f"a dog {n}"} for n, name in enumerate(names)]
        archive.writestr("metadata.jsonl", "\n".join(map(json.dumps, rows)))


@pytest.mark.parametrize(("name", "build"), [("x.tar", tar_with), ("x.zip", zip_with)])
def test_links_and_names_that_lead_out_reach_nothing(
    workspace: Workspace, tmp_path: Path, name: str, build: Callable[[Path, bytes, Path], None]
) -> None:
    (tmp_path / "in").mkdir()
    outside = tmp_path / "outside.txt"
    outside.write_text(SECRET)
    build(tmp_path / "in" / name, encoded(), outside)
    before = sorted(tmp_path.rglob("*.png"))
    report = workspace.jobs.import_dataset(tmp_path / "in" / name, name="x")
    rows = workspace.review.queue_page(QueueFilter(report.dataset_id), limit=100).rows
    assert "good" in " ".join(row.external_id for row in rows)
    assert all(SECRET not in row.caption for row in rows)
    for row in rows:  # each picture is the archive's own
        assert workspace.review.thumbnail(row.pair_id)[:2] == b"\xff\xd8"
    thumbnails = tmp_path / "state"
    assert [p for p in sorted(tmp_path.rglob("*.png")) if thumbnails not in p.parents] == before
    assert outside.read_text() == SECRET
    assert not (tmp_path.parent / "up.png").exists()


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("ending", ["tar", "zip"])
def test_a_hundred_thousand_entries_are_read(
    workspace: Workspace, tmp_path: Path, ending: str
) -> None:
    names = [f"{number}.bin" for number in range(100_000)]
    if ending == "zip":
        row = b'{"file_name": "good.png", "text": "a dog"}'
        members = dict.fromkeys(names, b"") | {"good.png": encoded(), "metadata.jsonl": row}
        content = zip_bytes(members)
    else:
        good = (("good.png", encoded()), ("good.txt", b"a dog"))
        content = tar_bytes((*good, *((name, b"") for name in names)))
    path = write(tmp_path / f"many.{ending}", content)
    report = workspace.jobs.import_dataset(path)
    assert report.added == 1
