"""Every model that docs/models.md names has a contract test."""

import re

from backend.engine.presets import PRESETS
from tests.docs.pages import ROOT
from tests.engine.scoring.contracts import test_captioners, test_presets, test_scorers

_PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
SCORERS, CAPTIONERS = set(test_scorers.PUBLISHED), set(test_captioners.PUBLISHED)
#: What the page names, by a pattern, and its contracts.
CONTRACTS = {
    r"Salesforce/blip-itm-base-coco": {"blip-itm", "blip-itc"},
    r"openai/clip-vit-base-patch32": {"clip"},
    r"google/siglip2-.*": {"siglip-2"},
    r"google/siglip-.*": {"siglip-1"},
    r"open_clip:hf-hub:.*": {"open_clip, a repository"},
    r"open_clip:.*": {
        "open_clip",
        "open_clip, canonicalize",
        "open_clip, SigLIP 2",
        "open_clip, XLM-RoBERTa",
    },
    r"vqa:.*": {"vqa, Qwen2.5-VL", "vqa, Idefics3"},
    r"Salesforce/blip-image-captioning-base": {"blip"},
    r"nlpconnect/vit-gpt2-image-captioning": {"vision-to-text"},
}
#: With tests elsewhere: LAVIS's own checkpoints and process, and LEMoN over any scorer.
ELSEWHERE = {
    r"FILE\.pth|lavis:.*": "tests/engine/scoring/lavis/test_lavis.py",
    r"--scorer lemon": "tests/engine/scoring/test_lemon.py",
    r"moranyanuka/icc": "tests/engine/scoring/contracts/test_concreteness.py",
}
#: Not models: presets, values of options, and forms such as `NAME@FILE`.
_NAME = re.compile(r"[\w-]+/[\w.-]+|(?:open_clip|vqa|lavis):\S+|FILE\.pth|--scorer lemon")


def _table(heading: str) -> str:
    return _PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def test_each_family_and_preset_on_the_page_has_a_contract() -> None:
    text = _table("Presets") + _table("What `--model` takes")
    named = {code for code in re.findall(r"`([^`\n]+)`", text) if _NAME.fullmatch(code)}
    assert {"openai/clip-vit-base-patch32", "FILE.pth", "--scorer lemon"} <= named
    for name in sorted(named):
        patterns = [pattern for pattern in (*CONTRACTS, *ELSEWHERE) if re.fullmatch(pattern, name)]
        assert patterns, f"docs/models.md names '{name}', which has no contract test"
        assert CONTRACTS.get(patterns[0], set()) <= SCORERS | CAPTIONERS
    assert all((ROOT / file).is_file() for file in ELSEWHERE.values())
    assert set().union(*CONTRACTS.values()) | {"metaclip-2", "clipcap"} == SCORERS | CAPTIONERS


def test_each_preset_is_downloaded_and_scores_in_a_contract() -> None:
    rows = {row[1:].split("|")[0].strip(" `") for row in _table("Presets").splitlines()
            if row.startswith("| `")}  # fmt: skip
    assert rows == {preset.name for preset in PRESETS}
    assert set(test_presets.DOWNLOADED) == rows - {"embedded"}
    published = {c.repository for p in PRESETS if not p.is_embedded for c in p.checkpoints}
    assert published == set(test_presets.LAYOUTS)
