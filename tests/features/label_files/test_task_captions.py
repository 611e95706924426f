"""Captions that people wrote in Label Studio: each annotation of a task is one."""

import json
from pathlib import Path
from typing import Any

from tests.datasets.folders import picture, read, write


def text_result(*texts: str, name: str = "caption", **place: float) -> dict[str, Any]:
    return {"type": "textarea", "from_name": name, "value": {"text": list(texts), **place}}


def test_every_annotation_of_a_task_is_a_caption_with_its_writer(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    annotations = [
        {"result": [text_result("A dog.")], "completed_by": {"id": 3, "email": "a@example.org"}},
        {"result": [text_result("A cat."), text_result("Dark.", name="comment"),
                    text_result("STOP", name="sign", x=1, y=2, width=3, height=4)],
         "completed_by": 7},
        {"result": [text_result("Skipped.")], "was_cancelled": True},
        {"result": []},
    ]  # fmt: skip
    task = {"id": 25, "data": {"image": "a.png"}, "annotations": annotations}
    pairs, reader = read(write(tmp_path / "t.json", json.dumps([task])))
    assert reader.problems == []
    assert {pair.id: (pair.caption, pair.extra["writer"]) for pair in pairs} == {
        "25#1": ("A dog.", "a@example.org"), "25": ("A cat.", "7"),
    }  # fmt: skip
    (region,) = pairs[0].extra["region_texts"]
    assert (region["texts"], region["x"], region["height"]) == (["STOP"], 1, 4)
    assert pairs[0].extra["comment"] == "Dark."


def test_what_a_server_puts_before_a_name_is_no_part_of_it(tmp_path: Path) -> None:
    """Of the picture; and annotations that were cancelled are none."""
    picture(tmp_path / "a.png")
    annotations = [{"result": [text_result("A dog.")]},
                   {"was_cancelled": True, "result": [text_result("Skipped.")]}]  # fmt: skip
    task = {"data": {"image": "/data/local-files/?d=a.png"}, "annotations": annotations}
    ((pair,), reader) = read(write(tmp_path / "tasks.json", json.dumps([task])))
    assert (pair.caption, str(pair.image_path)) == ("A dog.", str(tmp_path / "a.png"))
    assert reader.problems == []


def test_texts_of_regions_alone_are_no_caption(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    boxes = {"result": [text_result("STOP", x=1, y=2, width=3, height=4)]}
    tasks = [{"id": n, "data": {"image": "a.png", **more}, "annotations": [boxes]}
             for n, more in enumerate([{}, {"caption": "A sign."}])]  # fmt: skip
    pairs, reader = read(write(tmp_path / "t.json", json.dumps(tasks)))
    assert [(pair.id, pair.caption) for pair in pairs] == [("1", "A sign.")]
    assert [problem.row for problem in reader.problems] == [1]
