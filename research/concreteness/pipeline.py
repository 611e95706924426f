"""Train an ICC scorer from captions and models, in stages; a repeated run reuses earlier results.

Files in the output folder:
    semantic.safetensors   the trained linear layer
    to-rate.csv            captions for people to rate (`choose_to_rate`)
    scores.csv             caption, both scores, both reconstructions; written row by row
    vba/, sba/             text encoders distilled from each score (stage one, A.2)
    combination.json       the weights, and their agreement with the labelled captions
    model/                 the scorer, distilled from the combination of both (stage two), for
                           --concreteness
    version                the version of these results; other versions are not mixed with them
"""

import csv
import io
import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from backend.engine.captions import Caption
from backend.engine.concreteness.scoring import score_captions
from backend.engine.scoring.protocol import Scorer
from backend.errors import DatasetFormatError, SettingsError, TrainingError
from backend.progress import Progress, no_progress
from research.concreteness import combining, distilling, semantic_bottleneck
from research.concreteness.choosing import uniformly
from research.concreteness.controls import average_clip, by_measure
from research.concreteness.correlations import Agreement, agreement
from research.concreteness.semantic_bottleneck import SemanticBottleneck
from research.concreteness.standardising import standardised
from research.concreteness.visual_bottleneck import (
    PictureCaptioner,
    TextToImage,
    through_pictures,
)

_COLUMNS = ("caption", "vba", "sba", "by_picture", "by_vector")
#: 1 normalised CLIP's vectors, used BERTScore's last layer and distilled in one stage.
VERSION = "2"
#: Pictures per caption for aveCLIP.
PICTURES = 4
#: Share of the captions that train the semantic bottleneck; the rest are scored (476 of 595, §2).
SHARE_FOR_SBA = 0.8


@dataclass(frozen=True)
class Parts:
    """The loaded components. `encoder`: for BERTScore, None: the embedded one; `distill_into`: the
    small text encoder; `scorer`: for aveCLIP, None: without this control."""

    text_to_image: TextToImage
    captioner: PictureCaptioner
    semantic: SemanticBottleneck
    encoder: str | None
    distill_into: str
    scorer: Scorer | None = None


@dataclass(frozen=True)
class MadeReport:
    """Agreement with the labelled captions of each score, of the encoders distilled from each, of
    their combination and of the final model. The last two are optimistic, because the combination
    was fitted on the same captions. `by_measure`: of both pipelines by either similarity measure
    (Table 4); `ave_clip`: of aveCLIP, None if it was not requested."""

    captions: int
    labelled: int
    vba: Agreement
    sba: Agreement
    distilled_vba: Agreement
    distilled_sba: Agreement
    combined: Agreement
    distilled: Agreement
    weights: combining.Combination
    semantic_losses: list[float]
    distillation_losses: list[float]
    model: Path
    by_measure: dict[str, Agreement]
    ave_clip: Agreement | None = None


def choose_to_rate(
    captions: Sequence[str],
    parts: Parts,
    out: Path,
    count: int,
    epochs: int = semantic_bottleneck.EPOCHS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> Path:
    """Score the captions as `make` does, and write `count` of them, spread uniformly over both
    scores, to `out`/to-rate.csv with an empty column for the rating. `make` reuses the scores.

    Raises TrainingError if there are too few captions, SettingsError as `make`.
    """
    captions, cut = _prepared(captions, out, seed)
    _semantic(parts.semantic, captions[:cut], out, epochs, seed, progress)
    candidates = captions[cut:]
    known = _scores(candidates, parts, out / "scores.csv", seed, progress)
    lengths = [len(Caption.parse(text)) for text in candidates]
    vba = standardised([known[text][0] for text in candidates], lengths)
    sba = standardised([known[text][1] for text in candidates], lengths)
    path = out / "to-rate.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("caption", "rating"))
        writer.writerows((candidates[row], "") for row in uniformly(vba, sba, count, seed))
    return path


def make(
    captions: Sequence[str],
    labelled: Sequence[tuple[str, float]],
    parts: Parts,
    out: Path,
    epochs: int = semantic_bottleneck.EPOCHS,
    distillation_epochs: int = distilling.EPOCHS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> MadeReport:
    """Run the whole pipeline. `labelled`: captions with human ratings, to fit the combination.

    As in appendix A.2, both scores are distilled first, and the combination is fitted to what these
    encoders predict. Raises TrainingError if there are too few captions, SettingsError if `out`
    contains results of another version.
    """
    if len(labelled) < 10:
        raise TrainingError(f"There are {len(labelled)} labelled captions; at least 10 are needed.")
    captions, cut = _prepared(captions, out, seed)
    losses = _semantic(parts.semantic, captions[:cut], out, epochs, seed, progress)
    wanted = [*captions[cut:], *(text for text, _ in labelled)]
    known = _scores(list(dict.fromkeys(wanted)), parts, out / "scores.csv", seed, progress)
    rows = [known[text] for text in wanted]
    lengths = [len(Caption.parse(text)) for text in wanted]
    vba = standardised([row[0] for row in rows], lengths)
    sba = standardised([row[1] for row in rows], lengths)
    ratings = [rating for _, rating in labelled]
    unlabelled = wanted[: len(wanted) - len(labelled)]
    labelled_rows = slice(len(unlabelled), None)
    by_encoder = {}
    for name, scores in (("vba", vba), ("sba", sba)):
        if not (out / name).exists():
            made = out / f"{name}.part"
            distilling.distill(
                unlabelled, scores[: len(unlabelled)].tolist(), parts.distill_into, made,
                distillation_epochs, seed=seed, progress=progress,
            )  # fmt: skip
            made.replace(out / name)
        by_encoder[name] = score_captions(wanted, str(out / name), clipped=False)
    fitted = {name: predicted[labelled_rows] for name, predicted in by_encoder.items()}
    weights = combining.fit(fitted["vba"], fitted["sba"], ratings)
    both = weights(by_encoder["vba"], by_encoder["sba"])
    distilled = distilling.distill(
        unlabelled, both[: len(unlabelled)].tolist(), parts.distill_into, out / "model",
        distillation_epochs, seed=seed, progress=progress,
    )  # fmt: skip
    texts = [text for text, _ in labelled]
    returned = _reconstructions(out / "scores.csv")
    seen, read = zip(*(returned[text] for text in texts), strict=True)
    ave_clip = None
    if parts.scorer is not None:
        averages = average_clip(texts, parts.text_to_image, parts.scorer, PICTURES, seed)
        ave_clip = agreement(averages, ratings)
    predicted = score_captions([text for text, _ in labelled], str(out / "model"), clipped=False)
    report = MadeReport(
        captions=len(captions),
        labelled=len(labelled),
        vba=agreement(vba[labelled_rows].tolist(), ratings),
        sba=agreement(sba[labelled_rows].tolist(), ratings),
        distilled_vba=agreement(fitted["vba"], ratings),
        distilled_sba=agreement(fitted["sba"], ratings),
        combined=agreement(both[labelled_rows].tolist(), ratings),
        distilled=agreement(predicted, ratings),
        weights=weights,
        semantic_losses=losses,
        distillation_losses=distilled,
        model=out / "model",
        by_measure=by_measure(texts, seen, read, ratings, parts.encoder),
        ave_clip=ave_clip,
    )
    report_json = json.dumps(asdict(report), default=str, indent=2)
    (out / "combination.json").write_text(report_json, encoding="utf-8")
    return report


def _prepared(captions: Sequence[str], out: Path, seed: int) -> tuple[list[str], int]:
    """The distinct captions, shuffled, and how many of them train the semantic bottleneck."""
    distinct = list(dict.fromkeys(text for text in captions if text.strip()))
    if len(distinct) < 50:
        raise TrainingError(f"There are {len(distinct)} captions; at least 50 are needed.")
    out.mkdir(parents=True, exist_ok=True)
    _check_version(out)
    random.Random(seed).shuffle(distinct)
    return distinct, round(SHARE_FOR_SBA * len(distinct))


def _check_version(out: Path) -> None:
    """Raises SettingsError if the folder contains results of another version."""
    path = out / "version"
    stored = path.read_text(encoding="utf-8").strip() if path.exists() else "1"
    if stored != VERSION and (path.exists() or (out / "scores.csv").exists()):
        raise SettingsError(
            f"{out} contains results of version {stored} of this pipeline, which cannot be "
            f"continued by version {VERSION}. Choose an empty folder."
        )
    path.write_text(VERSION + "\n", encoding="utf-8")


def _semantic(
    semantic: SemanticBottleneck,
    captions: Sequence[str],
    out: Path,
    epochs: int,
    seed: int,
    progress: Progress,
) -> list[float]:
    path = out / "semantic.safetensors"
    if path.exists():
        semantic.restore(path)
        return []
    losses = semantic_bottleneck.train(semantic, captions, epochs, seed=seed, progress=progress)
    semantic.save(path)
    return losses


def _scores(
    captions: Sequence[str], parts: Parts, path: Path, seed: int, progress: Progress
) -> dict[str, tuple[float, float]]:
    """(VBA, SBA) of each caption; those already in the file are not computed again."""
    _cut_unfinished_row(path)
    known = _read(path)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(_COLUMNS)
        for done, caption in enumerate(captions, 1):
            if caption not in known:
                ((vba, seen),) = through_pictures(
                    [caption], parts.text_to_image, parts.captioner, parts.encoder, seed + done
                )
                ((sba, read),) = semantic_bottleneck.through_vectors([caption], parts.semantic)
                writer.writerow([caption, vba, sba, seen, read])
                file.flush()
                known[caption] = (vba, sba)
            progress(done, len(captions), "Reconstructing captions")
    return known


def _cut_unfinished_row(path: Path) -> None:
    """Remove a row that an interrupted run did not finish: a number that was cut short still
    parses as a number, and the next row would be appended to it."""
    if not path.exists():
        return
    text = path.read_bytes().decode("utf-8", "replace")  # may be cut within a character
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if rows and (not text.endswith("\n") or len(rows[-1]) < len(_COLUMNS)):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows[:-1])


def _read(path: Path) -> dict[str, tuple[float, float]]:
    """The scores written by earlier runs; incomplete rows are skipped, and so computed again."""
    if not path.exists():
        return {}
    stored: dict[str, tuple[float, float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                stored[str(row["caption"])] = (float(row["vba"]), float(row["sba"]))
            except (KeyError, TypeError, ValueError):
                continue
    return stored


def _reconstructions(path: Path) -> dict[str, tuple[str, str]]:
    """The stored reconstructions of each caption: by picture and by vector."""
    with path.open(encoding="utf-8", newline="") as file:
        return {
            row["caption"]: (row["by_picture"], row["by_vector"]) for row in csv.DictReader(file)
        }


def read_ratings(path: Path) -> list[tuple[str, float]]:
    """(caption, rating) from the first two columns of a CSV file with a header row.

    Raises DatasetFormatError with file and row.
    """
    ratings: list[tuple[str, float]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for number, row in enumerate(csv.reader(file), 1):
                if number == 1 or not row:
                    continue
                try:
                    ratings.append((row[0], float(row[1])))
                except (IndexError, ValueError) as problem:
                    raise DatasetFormatError(
                        f"{path}, row {number}: the first two columns must be a caption and its "
                        "rating, a number."
                    ) from problem
    except (OSError, UnicodeDecodeError) as problem:
        raise DatasetFormatError(f"{path} cannot be read as a CSV file: {problem}.") from problem
    if len(ratings) < 3:
        raise DatasetFormatError(f"{path} has {len(ratings)} ratings; at least three are needed.")
    return ratings
