"""The published models that this program offers by a short name, with their metadata.

Parameter counts, sizes and licences are from the models' own pages. A revision pins the hub commit
to download, so that two machines produce the same scores.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from backend.bundled import MODELS

#: The scorer bundled with the program. It was trained on drawn scenes only.
EMBEDDED_NAME = "embedded"
EMBEDDED = MODELS / "scenes-blip-itm"
EMBEDDED_CAPTIONER = MODELS / "scenes-blip-captioner"


def memory_of(parameters: int) -> int:
    """Bytes of this many weights in float32, the precision used on a CPU."""
    return 4 * parameters


@dataclass(frozen=True)
class Checkpoint:
    """One model: `name` on the hub (or its directory), `download` in bytes, `revision` its commit,
    "" for bundled models."""

    name: str
    parameters: int
    download: int
    licence: str
    revision: str

    @property
    def memory(self) -> int:
        return memory_of(self.parameters)


@dataclass(frozen=True)
class Preset:
    """A scorer with a short name, and the captioner that goes with it, if any.

    `core_seconds`: processor seconds of one core for a thousand pairs, captioner included, measured
    with random weights (`backend.lab.bench.preset_times`, BENCHMARKS.md "Clusters"): a first
    estimate before this machine is probed.
    """

    name: str
    good_for: str
    scorer: Checkpoint
    captioner: Checkpoint | None = None
    core_seconds: float | None = None

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        return (self.scorer,) if self.captioner is None else (self.scorer, self.captioner)

    @property
    def parameters(self) -> int:
        return sum(checkpoint.parameters for checkpoint in self.checkpoints)

    @property
    def download(self) -> int:
        return sum(checkpoint.download for checkpoint in self.checkpoints)

    @property
    def memory(self) -> int:
        return sum(checkpoint.memory for checkpoint in self.checkpoints)

    @property
    def is_embedded(self) -> bool:
        return self.name == EMBEDDED_NAME


PRESETS: tuple[Preset, ...] = (
    Preset(
        "fast",
        "photographs, a first look; the fastest",
        Checkpoint(
            "openai/clip-vit-base-patch32",
            151_277_313,
            605_000_000,
            "MIT",
            "3d74acf9a28c67741b2f4f2ea7635f0aaf6f0268",
        ),
        core_seconds=346,
    ),
    Preset(
        "balanced",
        "photographs: finer differences than fast, about twenty times its time",
        Checkpoint(
            "google/siglip-base-patch16-224",
            203_155_970,
            813_000_000,
            "Apache 2.0",
            "7fd15f0689c79d79e38b1c2e2e2370a7bf2761ed",
        ),
        core_seconds=7466,
    ),
    Preset(
        "thorough",
        "photographs with sentences: matching and cosine, and a captioner that reads every word",
        Checkpoint(
            "Salesforce/blip-itm-base-coco",
            223_700_000,
            895_000_000,
            "BSD 3-Clause",
            "7eaa90c11850c0b17fc38c6a11e7d88bd6ac231f",
        ),
        Checkpoint(
            "Salesforce/blip-image-captioning-base",
            247_400_000,
            990_000_000,
            "BSD 3-Clause",
            "82a37760796d32b1411fe092ab5d4e227313294b",
        ),
        core_seconds=4855,
    ),
    Preset(
        "multilingual",
        "captions in languages other than English",
        Checkpoint(
            "google/siglip-base-patch16-256-multilingual",
            370_626_050,
            1_480_000_000,
            "Apache 2.0",
            "8952a4eafcde3cb7ab46b1dd629b33f8784ca9c6",
        ),
        core_seconds=6740,
    ),
    Preset(
        EMBEDDED_NAME,
        "drawn scenes such as the demo's, and nothing else",
        Checkpoint(str(EMBEDDED), 2_157_570, 0, "as this project", ""),
        Checkpoint(str(EMBEDDED_CAPTIONER), 2_157_745, 0, "as this project", ""),
    ),
)
BY_NAME = {preset.name: preset for preset in PRESETS}


def checkpoints() -> Iterator[Checkpoint]:
    """All checkpoints, in the order of the presets."""
    for preset in PRESETS:
        yield from preset.checkpoints


def pinned(name: str) -> str:
    """The pinned commit of a hub model; "" if none is pinned.

    >>> pinned("openai/clip-vit-base-patch32")[:8], pinned("somebody/else")
    ('3d74acf9', '')
    """
    return next((c.revision for c in checkpoints() if c.name == name), "")


def asked_for_as(name: str) -> str:
    """The name to download to get this model: the preset that contains it, else the model itself.

    >>> asked_for_as("Salesforce/blip-image-captioning-base"), asked_for_as("somebody/else")
    ('thorough', 'somebody/else')
    """
    matching = (p.name for p in PRESETS for c in p.checkpoints if c.name == name)
    return next(matching, name)


def preset_of(model: str) -> Preset | None:
    """The preset with this name or this scorer; None if there is none."""
    return BY_NAME.get(model) or next((p for p in PRESETS if p.scorer.name == model), None)
