"""The embedded sentence model is the published one, or it is not loaded."""

from pathlib import Path

import pytest

from backend.engine.embeddings import check_files, embedded_model
from backend.errors import ModelUnavailable

DIGEST = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"  # of "a"


def test_the_embedded_model_is_the_published_one() -> None:
    assert (Path(embedded_model()) / "model.safetensors").is_file()


@pytest.mark.parametrize("content", [None, b"b", b""])
def test_a_changed_or_missing_file_is_named_and_not_loaded(
    tmp_path: Path, content: bytes | None
) -> None:
    (tmp_path / "config.json").write_bytes(b"a")
    check_files(tmp_path, {"config.json": DIGEST})
    if content is not None:
        (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors"):
        check_files(tmp_path, {"config.json": DIGEST, "model.safetensors": DIGEST})
