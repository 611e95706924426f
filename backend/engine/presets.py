"""The published models that this program offers by a short name, with their metadata.

Parameter counts, sizes and licences are from the models' own pages; why these models:
docs/models.md. A revision pins the hub commit to download, so that two machines produce the same
scores.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from backend.bundled import MODELS

#: The scorer bundled with the program. It was trained on drawn scenes only.
EMBEDDED_NAME = "embedded"
EMBEDDED = MODELS / "scenes-blip-itm"
EMBEDDED_CAPTIONER = MODELS / "scenes-blip-captioner"
#: Prefix of an open_clip model that is named by its repository on the hub.
OPEN_CLIP_HUB = "open_clip:hf-hub:"
#: Prefix of a vision-language model that is asked (`backend.features.vision_language`).
ASKED = "vqa:"


def memory_of(parameters: int) -> int:
    """Bytes of this many weights in float32, the precision used on a CPU."""
    return 4 * parameters


@dataclass(frozen=True)
class Checkpoint:
    """One model: `name` as in `--model`, `download` in bytes, `revision` the commit to download, ""
    for bundled models and where only the hub's `main` is known; `width`: bytes of a weight in its
    files; `languages`: those whose captions it was trained on, () for many or where nobody says."""

    name: str
    parameters: int
    download: int
    licence: str
    revision: str = ""
    width: int = 4
    languages: tuple[str, ...] = ()

    @property
    def repository(self) -> str:
        """The model's name on the hub, or the directory of a bundled one."""
        return self.name.removeprefix(OPEN_CLIP_HUB).removeprefix(ASKED)

    @property
    def memory(self) -> int:
        return memory_of(self.parameters)


@dataclass(frozen=True)
class Preset:
    """A scorer with a short name, and the captioner that goes with it; None: `without_captioner`
    says why.

    `core_seconds`: processor seconds of one core for a thousand pairs, captioner included, measured
    with random weights (BENCHMARKS.md "Clusters"); of `vlm` counted, at 50 billion operations a
    second: a first estimate before this machine is probed.
    """

    name: str
    good_for: str
    scorer: Checkpoint
    captioner: Checkpoint | None = None
    core_seconds: float | None = None
    without_captioner: str = ""

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


_SIGLIP_2 = Checkpoint(
    "google/siglip2-base-patch16-224", 375_187_970, 1_500_000_000,
    "Apache 2.0", "75de2d55ec2d0b4efc50b3e9ad70dba96a7b2fa2",
)  # fmt: skip
#: The captioner that `--captioner auto` adds to a scorer without one of its own.
CAPTIONER = Checkpoint(
    "Salesforce/blip-image-captioning-base", 247_400_000, 990_000_000,
    "BSD 3-Clause", "82a37760796d32b1411fe092ab5d4e227313294b",
)  # fmt: skip
#: Processor seconds of one core for what CAPTIONER adds to a thousand pairs, measured as
#: `Preset.core_seconds`.
CAPTIONER_CORE_SECONDS = 1836.0

PRESETS: tuple[Preset, ...] = (
    Preset(
        "fast",
        "photographs on a laptop, a first look",
        Checkpoint(
            OPEN_CLIP_HUB + "laion/CLIP-ViT-B-32-256x256-DataComp-s34B-b86K",
            151_290_000,
            605_000_000,
            "MIT",
            "4afec35ffe57a943d569ff7ee888061830164da8",
            languages=("en",),  # its training pairs were filtered by language
        ),
        core_seconds=400,
        without_captioner="it would take more time than the scorer",
    ),
    Preset(
        "balanced",
        "photographs: finer differences than fast",
        _SIGLIP_2,
        CAPTIONER,
        core_seconds=9302,
    ),
    Preset(
        "large",
        "photographs on a workstation with an accelerator: the finest differences",
        Checkpoint("google/siglip2-so400m-patch16-256", 1_135_670_962, 4_540_000_000, "Apache 2.0"),
        CAPTIONER,
        core_seconds=28_635,
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
            languages=("en",),
        ),
        CAPTIONER,
        core_seconds=4855,
    ),
    Preset(
        "multilingual",
        "captions in languages other than English",
        _SIGLIP_2,
        core_seconds=7466,
        without_captioner="the captioners that are supported write English",
    ),
    Preset(
        "vlm",
        "few pairs and fine errors (relations, counts, negations), on a 24 GB graphics card: a "
        "vision-language model is asked",
        Checkpoint(
            ASKED + "Qwen/Qwen2.5-VL-7B-Instruct",
            8_292_166_656,
            16_600_000_000,
            "Apache 2.0",
            width=2,
        ),
        # 7.6 billion weights of its language model read a picture of 400 tokens with its question,
        # and whole trajectories cost up to 5 plain scores: 3.6e13 operations a pair.
        core_seconds=720_000,
        without_captioner="give it the same name to judge every word by the same model",
    ),
    Preset(
        EMBEDDED_NAME,
        "drawn scenes such as the demo's, and nothing else",
        Checkpoint(str(EMBEDDED), 2_157_570, 0, "as this project", languages=("en",)),
        Checkpoint(str(EMBEDDED_CAPTIONER), 2_157_745, 0, "as this project"),
        core_seconds=53,
    ),
)
BY_NAME = {preset.name: preset for preset in PRESETS}
#: Machines, each with the number of such cores that do its work: a card of 24 GB computes about 50
#: trillion operations a second in bfloat16.
MACHINES = {"a laptop": 4, "a workstation": 16, "a card of 24 GB": 1000}
#: Memory beside the weights for pictures and captions in use, as a share of the weights.
_IN_USE = 0.25


@dataclass(frozen=True)
class Recommendation:
    """A preset for a machine, and why."""

    preset: Preset
    reason: str


def rough_seconds(preset: Preset) -> dict[str, float]:
    """Seconds for a thousand pairs on each of MACHINES, from the preset's core seconds; {} without
    these. An order of magnitude, not a measurement.

    >>> rough_seconds(BY_NAME["fast"])["a laptop"]
    100.0
    """
    if preset.core_seconds is None:
        return {}
    return {machine: preset.core_seconds / cores for machine, cores in MACHINES.items()}


def recommend(card_memory: int) -> tuple[Recommendation, ...]:
    """Presets for photographs on a machine whose card has this much memory in bytes (0: no card).

    >>> [advice.preset.name for advice in recommend(0)]
    ['fast', 'thorough']
    >>> [advice.preset.name for advice in recommend(24_000_000_000)]
    ['vlm', 'large']
    """
    vlm, large = BY_NAME["vlm"], BY_NAME["large"]
    if card_memory >= (1 + _IN_USE) * vlm.scorer.parameters * vlm.scorer.width:
        return (
            Recommendation(vlm, "thousands of pairs, fine errors; this card holds it"),
            Recommendation(large, "more pairs than that"),
        )
    if card_memory >= (1 + _IN_USE) * large.memory:
        return (Recommendation(large, "this card holds it; vlm needs one of 24 GB"),)
    return (
        Recommendation(BY_NAME["fast"], "a first look, or many pairs"),
        Recommendation(BY_NAME["thorough"], "sentences, where fine errors matter"),
    )


def checkpoints() -> Iterator[Checkpoint]:
    """All checkpoints, in the order of the presets."""
    for preset in PRESETS:
        yield from preset.checkpoints


def pinned_commit(name: str) -> str:
    """The pinned commit of a hub model; "" if none is pinned.

    >>> pinned_commit("Salesforce/blip-itm-base-coco")[:8], pinned_commit("somebody/else")
    ('7eaa90c1', '')
    """
    return next((c.revision for c in checkpoints() if c.repository == name), "")


def asked_for_as(name: str) -> str:
    """What to download to get this hub model: the preset that scores with it, else the model
    itself.

    >>> asked_for_as("Salesforce/blip-itm-base-coco"), asked_for_as("somebody/else")
    ('thorough', 'somebody/else')
    """
    return next((p.name for p in PRESETS if name in (p.scorer.name, p.scorer.repository)), name)


def preset_of(model: str) -> Preset | None:
    """The preset with this name or this scorer; None if there is none."""
    return BY_NAME.get(model) or next((p for p in PRESETS if p.scorer.name == model), None)


def languages_of(model: str) -> frozenset[str]:
    """The languages that a scorer reads, by its name or preset; empty: nobody says.

    >>> sorted(languages_of("thorough")), sorted(languages_of("multilingual"))
    (['en'], [])
    """
    preset = preset_of(model)
    return frozenset(preset.scorer.languages if preset is not None else ())


def captioner_for(model: str) -> str:
    """The captioner that `--captioner auto` gives to a scorer, by the scorer's name or preset:
    the bundled one to bundled scorers, CAPTIONER to all others.

    >>> captioner_for("fast"), captioner_for("somebody/else") == captioner_for("thorough")
    ('Salesforce/blip-image-captioning-base', True)
    """
    embedded = model == EMBEDDED_NAME or Path(model).resolve().parent == MODELS.resolve()
    return str(EMBEDDED_CAPTIONER) if embedded else CAPTIONER.name
