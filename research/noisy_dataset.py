"""A noisy copy of a dataset: all captions are assumed correct and a share of them is corrupted.

The copy is an ordinary dataset. Each row records whether its caption was corrupted, how, and which
characters were changed; `noise.json` and the card record the provenance. `evaluate` reads such a
dataset with `--noise recorded`. Image paths are those of the source, so every format except
imagefolder must be read with the source's `--image-root`; `evaluate` knows it from `noise.json`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from backend.datasets.export_row import ExportRow
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import DatasetReader, read_dataset
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.writing.dataset_writer import Description, check_target, write_dataset
from backend.engine.language_models.spending import PriceList, forecast
from backend.engine.noise.injection import KINDS, FineGrainedSource, ImageCaption, inject
from backend.engine.noise.noisy_caption import NoisyCaption
from backend.errors import DatasetFormatError, SettingsError
from backend.progress import Progress, no_progress
from backend.version import VERSION
from research.noise.language_model import PROMPT_VERSION, AnticipatedNoise, LanguageModelNoise
from research.request_forecast import RequestForecast

if TYPE_CHECKING:  # drawn datasets do without the feature
    from backend.features.vision_language.endpoint import ChatEndpoint

#: The column of a noisy dataset that records what was done to the caption.
COLUMN = "noise"
#: The file in a noisy dataset that says where it comes from.
PROVENANCE = "noise.json"


@dataclass(frozen=True)
class NoiseReport:
    """`by_kind`: corrupted captions by kind; `rows_left_out`: unreadable rows of the source."""

    out: Path
    pairs: int
    wrong: int
    by_kind: dict[str, int]
    rows_left_out: int
    provenance: dict[str, Any] = field(default_factory=dict)


def add_noise(
    path: Path,
    out: Path,
    *,
    kinds: Sequence[str] = KINDS,
    rate: float = 0.5,
    seed: int = 0,
    source: FineGrainedSource | None = None,
    image_root: Path | None = None,
    format: str = "jsonl",
    overwrite: bool = False,
    limit: int | None = None,
    progress: Progress = no_progress,
) -> NoiseReport:
    """Read the dataset at `path`, corrupt `rate` of its captions, write it to the folder `out`.

    `source`: what generates fine-grained errors (None: rules). Raises DatasetError, ExportError,
    SettingsError for an invalid rate or kind, and the errors of the language model, if one is used.
    """
    _check(kinds, rate)
    check_target(out, overwrite)  # errors of a language model take hours
    reader, pairs = _read(path, image_root, limit)
    noisy = inject(
        _captions(pairs), rate, kinds, seed, source,
        lambda done, total: progress(done, total, "Making errors"),
    )  # fmt: skip
    captions = [caption for caption in noisy if caption is not None]
    if not captions:
        raise DatasetFormatError(f"'{path.name}' has no caption that allows such an error.")
    provenance = {
        "source": str(path.resolve()),
        "image_root": str(out.absolute() if format == "imagefolder" else reader.root),
        "pairs": len(pairs),
        "wrong": len(captions),
        "kinds": list(kinds),
        "rate_asked": rate,
        "seed": seed,
        "fine_grained_by": _source_in_words(source),
        "program": f"TRACED Curator {VERSION}",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }

    def write_provenance(folder: Path, digests: Mapping[str, str]) -> dict[str, str]:
        text = json.dumps(provenance, indent=1, ensure_ascii=False) + "\n"
        (folder / PROVENANCE).write_text(text, encoding="utf-8")
        return {}

    write_dataset(
        _rows(pairs, noisy), out, format=format, card=_card(path.name, provenance),
        overwrite=overwrite, source_root=reader.root,
        descriptions=(Description((PROVENANCE,), write_provenance),),
    )  # fmt: skip
    by_kind = Counter(caption.kind for caption in captions)
    return NoiseReport(
        out.resolve(), len(pairs), len(captions), dict(by_kind), len(reader.problems), provenance
    )


def anticipate(
    path: Path,
    endpoint: "ChatEndpoint",
    prices: PriceList,
    *,
    kinds: Sequence[str] = KINDS,
    rate: float = 0.5,
    seed: int = 0,
    image_root: Path | None = None,
    limit: int | None = None,
) -> RequestForecast:
    """What `add_noise` with these arguments would ask the model behind `endpoint`; cached answers
    are not counted. Raises the same errors."""
    _check(kinds, rate)
    _, pairs = _read(path, image_root, limit)
    source = AnticipatedNoise(endpoint.kept)
    inject(_captions(pairs), rate, kinds, seed, source)
    estimate = forecast([source.questions(endpoint.name)], prices)
    return RequestForecast(endpoint.name, len(pairs), estimate)


def _check(kinds: Sequence[str], rate: float) -> None:
    if not 0 < rate <= 1:
        raise SettingsError(f"The noise rate must lie above 0 and at most at 1, not {rate:g}.")
    if unknown := set(kinds) - set(KINDS):
        raise SettingsError(f"There is no noise {sorted(unknown)}; use {', '.join(KINDS)}.")


def _read(
    path: Path, image_root: Path | None, limit: int | None
) -> tuple[DatasetReader, list[SourcePair]]:
    """Raises DatasetError."""
    reader = read_dataset(path, ReadOptions(image_root=image_root))
    pairs = list(reader)[:limit]
    if not pairs:
        raise DatasetFormatError(f"'{path.name}' has no pair that can be read.")
    return reader, pairs


def _captions(pairs: Sequence[SourcePair]) -> list[ImageCaption]:
    return [ImageCaption(str(pair.image_path), pair.caption) for pair in pairs]


def image_root_of(path: Path) -> Path | None:
    """The folder that the image paths of a noisy copy are relative to, if it is on this machine;
    None for an ordinary dataset."""
    try:
        provenance = json.loads((path / PROVENANCE).read_text(encoding="utf-8"))
        root = Path(provenance["image_root"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return root if root.is_dir() else None


def noise_record(pair: SourcePair) -> dict[str, Any] | None:
    """The contents of a pair's noise column; None if the dataset has none.

    {"wrong": bool} and, if wrong, "kind", "kinds" and "changed" (character spans).
    """
    extra = pair.extra
    if COLUMN not in extra and isinstance(extra.get("extra"), str):  # tables have one column
        try:
            extra = json.loads(extra["extra"])
        except ValueError:
            return None
    record = extra.get(COLUMN) if isinstance(extra, dict) else None
    return record if isinstance(record, dict) and isinstance(record.get("wrong"), bool) else None


def _rows(pairs: Sequence[SourcePair], noisy: Sequence[NoisyCaption | None]) -> Iterator[ExportRow]:
    for pair, noisy_caption in zip(pairs, noisy, strict=True):
        record: dict[str, Any] = {"wrong": noisy_caption is not None}
        if noisy_caption is not None:
            spans = [list(span) for span in noisy_caption.changed]
            record |= {
                "kind": noisy_caption.kind,
                "kinds": list(noisy_caption.kinds),
                "changed": spans,
            }
        yield ExportRow(
            id=pair.id,
            image_path=pair.image_path,
            caption=pair.caption if noisy_caption is None else noisy_caption.text,
            original_caption=pair.caption,
            split=pair.split,
            caption_kind="human" if noisy_caption is None else "noise",
            extra={**pair.extra, COLUMN: record},
        )


def _source_in_words(source: FineGrainedSource | None) -> str:
    if isinstance(source, LanguageModelNoise):
        return (
            f"{source.endpoint.name} at {source.endpoint.server}, prompt {PROMPT_VERSION}, "
            f"least consistent by {source.consistency.name}"
        )
    return "rules"


def _card(name: str, provenance: dict[str, Any]) -> str:
    fields = {key.replace("_", " "): value for key, value in provenance.items()}
    lines = [
        f"# {' '.join(name.split())}, with errors injected",
        "",
        "A benchmark, not training data: some captions were corrupted on purpose.",
        "",
        *(f"- {key}: {' '.join(str(value).split())}" for key, value in fields.items()),
        "",
        f"`caption` is what a reader gets, `original_caption` what it was; `{COLUMN}` says whether "
        "it was made wrong, by which kind of noise, and which characters were changed.",
        "",
    ]
    return "\n".join(lines)
