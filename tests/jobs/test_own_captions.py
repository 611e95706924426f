"""A model that judges or corrects captions which it wrote itself."""

from pathlib import Path

import pytest

from backend.jobs.own_captions import is_of_family, warning_of
from tests.datasets.folders import image_folder
from tests.jobs.opening import OpenWorkspace


@pytest.mark.parametrize(
    ("writer", "model"),
    [
        ("blip-image-captioning-base", "Salesforce/blip-image-captioning-large"),
        ("BLIP", "/models/blip-image-captioning-base/"),
        ("Qwen2.5-VL-7B-Instruct", "vqa:Qwen/Qwen2.5-VL-3B-Instruct"),
        ("gpt-4o", "gpt-4o-mini · words v1"),
        ("InternVL3-1B-hf", "OpenGVLab/InternVL3-8B"),
    ],
)
def test_a_family_is_told_by_its_names(writer: str, model: str) -> None:
    assert is_of_family(writer, model)


@pytest.mark.parametrize(
    ("writer", "model"),
    [("Ada", "gpt-4o"), ("blip2", "blip"), ("llava", "llama"), ("7b", "7b"), ("", "gpt-4o"),
     ("17", "gpt-17"), ("Qwen2.5-VL", "Qwen3-VL")],
)  # fmt: skip
def test_others_are_told_apart(writer: str, model: str) -> None:
    assert not is_of_family(writer, model)


def test_a_warning_counts_the_captions(open_workspace: OpenWorkspace, tmp_path: Path) -> None:
    names = ["org/blip-base", "org/blip-large", "Ada", None]
    rows = [{"file_name": "a.png", "caption": f"A dog {n}.", "writer": name}
            for n, name in enumerate(names)]  # fmt: skip
    image_folder(tmp_path / "pairs", rows, ("a.png",))
    workspace = open_workspace()
    dataset = workspace.jobs.import_dataset(tmp_path / "pairs").dataset_id
    assert "2 captions" in warning_of(workspace.store, dataset, None, "other", "blip")
    assert warning_of(workspace.store, dataset, "gpt-4o", None) == ""
