"""Datasets of the Hugging Face Hub, downloaded once and read from disk."""

import shutil
from pathlib import Path

from backend.errors import DatasetNotFound

#: Distinguishes the name of a Hub dataset from a path.
PREFIX = "hf:"


def fetch(name: str, folder: Path) -> Path:
    """Save the dataset `name` (`owner/dataset` or `owner/dataset@configuration`) below `folder`;
    return its directory. A dataset that is already present is not downloaded again.

    Raises DatasetNotFound if it cannot be downloaded.
    """
    plain, _, configuration = name.removeprefix(PREFIX).partition("@")
    target = folder / "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
    if (target / "dataset_dict.json").is_file():
        return target
    import datasets

    datasets.disable_progress_bars()
    try:
        dataset = datasets.load_dataset(plain, configuration or None)
    except Exception as problem:
        # The library raises arbitrary errors: network, parser, missing permissions.
        message = str(problem.__cause__ or problem).splitlines() or [type(problem).__name__]
        reason = message[0][:200].rstrip(".")
        raise DatasetNotFound(
            f"The dataset '{plain}' could not be fetched from the hub: {reason}. Check the name "
            "and the network; gated data needs HF_TOKEN."
        ) from problem
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    dataset.save_to_disk(str(part))
    part.rename(target)
    return target
