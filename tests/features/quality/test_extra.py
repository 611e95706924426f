"""Without CleanVision, the extra that has it is named."""

import sys

import pytest
from PIL import Image

from backend.errors import SettingsError
from backend.features.quality import picture_quality


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "cleanvision"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cleanvision", None)
    with pytest.raises(SettingsError, match=r"requirements-quality\.txt"):
        picture_quality.signals_of(Image.new("RGB", (8, 8)))
