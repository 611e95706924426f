"""Every preset that docs/models.md names is downloaded and scores in a contract test."""

from backend.engine.presets import PRESETS
from tests.docs.pages import ROOT
from tests.engine.scoring.contracts import test_presets


def test_each_preset_is_downloaded_and_scores_in_a_contract() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    table = page.split("## Presets\n", 1)[1].split("\n## ", 1)[0]
    rows = {line[1:].split("|")[0].strip(" `") for line in table.splitlines()
            if line.startswith("| `")}  # fmt: skip
    assert rows == {preset.name for preset in PRESETS}
    assert set(test_presets.DOWNLOADED) == rows - {"embedded"}
    published = {c.repository for p in PRESETS if not p.is_embedded for c in p.checkpoints}
    assert published == set(test_presets.LAYOUTS)
