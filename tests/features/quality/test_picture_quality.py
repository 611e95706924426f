"""Dark, blurry, odd or duplicate pictures: measured once, stored, and available as queues."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from backend.errors import SettingsError
from backend.features.quality import picture_quality, queries
from backend.review.queue_form import from_fields, from_text
from backend.workspace import ExportChoice, Workspace
from tests.datasets.folders import image_folder
from tests.fixtures.interrupting import stop_at
from tests.jobs.opening import OpenWorkspace


def noise(seed: int, size: tuple[int, int] = (96, 96)) -> Image.Image:
    rng = np.random.default_rng(seed)
    coarse = rng.integers(0, 255, (size[1] // 8, size[0] // 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.NEAREST)


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    folder = tmp_path / "pictures"
    folder.mkdir()
    plain = {f"plain-{n}": noise(n, (96 + n, 96)) for n in range(8)}
    made = {
        **plain,
        "dark": noise(20).point(lambda value: value // 8),
        "bright": noise(21).point(lambda value: 250 + value // 60),
        "blurry": Image.radial_gradient("L").resize((96, 96)).point(lambda v: 255 - v),
        "flat": Image.new("RGB", (96, 96), (120, 130, 140)),
        "wide": noise(23, (960, 96)),
        "huge": noise(24, (1600, 1600)),
        "copy": plain["plain-3"],
    }
    rows = []
    for name, picture in made.items():
        picture.save(folder / f"{name}.png")
        rows.append({"id": name, "file_name": f"{name}.png", "caption": f"Squares, {name}."})
    plain["plain-4"].save(folder / "alike.jpg", quality=90)
    rows.append({"id": "alike", "file_name": "alike.jpg", "caption": "Squares once more."})
    # A second caption of a picture is not a duplicate.
    rows.append({"id": "second", "file_name": "plain-5.png", "caption": "A second caption."})
    image_folder(folder, rows, ())
    workspace = open_workspace()
    workspace.jobs.import_dataset(folder)
    return workspace


def listed(workspace: Workspace, query: str) -> set[str]:
    filter = from_fields(1, from_text(f"review=all&{query}"))
    return {row.external_id for row in workspace.review.queue_page(filter, limit=100).rows}


def test_picture_issues_are_queues_and_are_exported(workspace: Workspace, tmp_path: Path) -> None:
    assert listed(workspace, "picture=dark") == set()
    report = workspace.jobs.run("quality", 1)
    assert (report.measured, report.unreadable) == (17, 0)
    assert listed(workspace, "picture=dark") == {"dark"}
    assert listed(workspace, "picture=bright") == {"bright"}
    assert listed(workspace, "picture=blurry") == {"blurry"}
    assert "flat" in listed(workspace, "picture=low_information")
    assert "wide" in listed(workspace, "picture=odd_aspect")
    assert "huge" in listed(workspace, "picture=odd_size")
    assert listed(workspace, "picture=exact_duplicate") == {"plain-3", "copy"}
    assert listed(workspace, "picture=near_duplicate") == {"plain-4", "alike"}
    assert not [name for name in listed(workspace, "picture=dark") if name.startswith("plain")]
    assert report.issues["exact_duplicate"] == 2
    (pair,) = workspace.review.queue_page(from_fields(1, from_text("picture=dark&review=all"))).rows
    assert workspace.review.open_pair(pair.pair_id).parts["picture_issues"] == ("dark",)
    with pytest.raises(SettingsError, match=r"There is no picture 'murky'.*dark, bright"):
        listed(workspace, "picture=murky")
    done = workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "jsonl")
    (table,) = Path(done.out).glob("*.jsonl")
    exported = {row["id"]: row for row in map(json.loads, table.read_text("utf-8").splitlines())}
    assert "dark" in exported["dark"]["picture"].split()
    assert exported["plain-0"]["picture"] is None
    assert workspace.delete_dataset(1).pairs == 17


def test_one_first_frame_or_one_ramp_makes_no_exact_duplicate(
    open_workspace: OpenWorkspace, tmp_path: Path
) -> None:
    """Animations and pictures of 16 bits are compared by all that is in them, plain ones by their
    size as well; a perceptual hash says nothing of plain ones."""
    folder = tmp_path / "frames"
    folder.mkdir()
    first, second, third = (noise(n) for n in range(3))
    first.save(folder / "one.webp", save_all=True, append_images=[second], lossless=True)
    first.save(folder / "other.webp", save_all=True, append_images=[third], lossless=True)
    first.save(folder / "same.webp", save_all=True, append_images=[third], lossless=True)
    ramp = np.arange(96 * 96, dtype=np.uint16).reshape(96, 96)
    Image.fromarray(ramp).save(folder / "low.png")
    Image.fromarray(ramp * 4).save(folder / "high.png")
    Image.new("RGB", (96, 64), "green").save(folder / "wide.png")
    Image.new("RGB", (64, 96), "green").save(folder / "tall.png")
    Image.new("RGB", (96, 64), "red").save(folder / "red.png")
    plain = ["wide.png", "tall.png", "red.png"]
    brightness = Image.fromarray(np.tile(np.linspace(128, 255, 96, dtype=np.uint8), (96, 1)))
    brightness.save(folder / "ramp.png")
    brightness.save(folder / "ramp.jpg")
    names = ["one.webp", "other.webp", "same.webp", "low.png", "high.png", "ramp.png", "ramp.jpg"]
    rows = [{"id": name, "file_name": name, "caption": f"Of {name}."} for name in names + plain]
    image_folder(folder, rows, ())
    workspace = open_workspace()
    workspace.jobs.import_dataset(folder)
    workspace.jobs.run("quality", 1)
    assert listed(workspace, "picture=exact_duplicate") == {"other.webp", "same.webp"}
    assert listed(workspace, "picture=near_duplicate") == set(names)


def test_a_stopped_measurement_resumes(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_quality, "BATCH", 4)
    with pytest.raises(KeyboardInterrupt):
        workspace.jobs.run("quality", 1, stop_at(8))
    report = workspace.jobs.run("quality", 1)
    assert report.measured == 9
    assert listed(workspace, "picture=exact_duplicate") == {"plain-3", "copy"}
    again = workspace.jobs.run("quality", 1)
    assert again.measured == 0
    assert again.issues == report.issues


def test_a_missing_picture_does_not_affect_others(workspace: Workspace) -> None:
    root = Path(workspace.datasets()[0].root)
    (root / "copy.png").unlink()
    (root / "dark.png").write_bytes(b"no picture")
    report = workspace.jobs.run("quality", 1)
    assert (report.measured, report.unreadable) == (15, 2)
    assert listed(workspace, "picture=exact_duplicate") == set()


def test_hidden_pairs_are_not_compared(workspace: Workspace) -> None:
    workspace.jobs.run("quality", 1)
    with workspace.store.writing() as session:
        session.connection().exec_driver_sql("UPDATE pairs SET hidden = true WHERE id = 1")
        assert 1 not in [row.pair_id for row, _ in queries.signals_of(session, 1)]
