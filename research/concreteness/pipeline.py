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
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.linear_model import LogisticRegression

from backend.datasets.safe_files.images import load_image
from backend.engine import hub
from backend.engine.captions import Caption
from backend.engine.concreteness.scoring import score_captions
from backend.engine.embeddings import embedded_model
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.errors import (
    DatasetFormatError,
    ImageError,
    ModelMismatch,
    SettingsError,
    TrainingError,
)
from backend.progress import Progress, no_progress
from research.concreteness import semantic_bottleneck
from research.concreteness.correlations import Agreement, agreement
from research.concreteness.fidelity import edit_similarity, meaning_similarity
from research.concreteness.semantic_bottleneck import SemanticBottleneck, load_semantic_bottleneck
from research.concreteness.visual_bottleneck import (
    PictureCaptioner,
    TextToImage,
    gallery_of,
    load_diffusion,
    load_picture_captioner,
    through_pictures,
)

BATCH, LEARNING_RATE, EPOCHS = 32, 5e-5, 3
_LONGEST = 128


def distill(
    captions: Sequence[str],
    scores: Sequence[float],
    encoder: str,
    out: Path,
    epochs: int = EPOCHS,
    learning_rate: float = LEARNING_RATE,
    device: str = "cpu",
    seed: int = 0,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> list[float]:
    """Fine-tune `encoder` (hub name or directory, such as distilroberta-base) with mean squared
    error and write it to `out`. Returns the mean loss of each epoch. Raises ModelUnavailable."""
    model, tokenizer = _load(encoder, device, seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=learning_rate)
    order = torch.Generator().manual_seed(seed)
    steps = epochs * -(-len(captions) // BATCH)
    losses, done = [], 0
    model.train()
    for _ in range(epochs):
        epoch_losses = []
        permutation = torch.randperm(len(captions), generator=order).tolist()
        for first in range(0, len(permutation), BATCH):
            rows = permutation[first : first + BATCH]
            inputs = tokenizer(
                [captions[row] for row in rows], padding=True, truncation=True,
                max_length=_LONGEST, return_tensors="pt",
            ).to(device)  # fmt: skip
            targets = torch.tensor([scores[row] for row in rows], device=device)
            loss = torch.nn.functional.mse_loss(model(**inputs).logits[:, 0], targets.float())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            epoch_losses.append(float(loss.detach()))
            done += 1
            progress(done, steps, "Distilling")
        losses.append(sum(epoch_losses) / len(epoch_losses))
    model.eval().save_pretrained(out)
    tokenizer.save_pretrained(out)
    return losses


def _load(encoder: str, device: str, seed: int) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(seed)
    what = "The text encoder"
    advice = "Give a directory or hub name, such as distilroberta-base."
    model = hub.load(
        AutoModelForSequenceClassification, encoder, what, advice,
        num_labels=1, problem_type="regression", dtype=torch.float32,
    )  # fmt: skip
    tokenizer = hub.load(AutoTokenizer, encoder, what, advice)
    return model.to(device), tokenizer


@dataclass(frozen=True)
class Combination:
    vba: float
    sba: float
    bias: float

    def __call__(self, vba: Sequence[float], sba: Sequence[float]) -> NDArray[np.float64]:
        """In (0, 1), shape [captions]; higher is more concrete."""
        logits = self.vba * np.asarray(vba) + self.sba * np.asarray(sba) + self.bias
        scores: NDArray[np.float64] = 1 / (1 + np.exp(-logits))
        return scores


def fit(vba: Sequence[float], sba: Sequence[float], ratings: Sequence[float]) -> Combination:
    """Logistic regression on captions rated above the median against those below; those at the
    median are excluded. If the median is the lowest or the highest rating, the midpoint of the
    range is used instead. Raises TrainingError if only one class is present."""
    middle = float(np.median(ratings))
    if not min(ratings) < middle < max(ratings):
        middle = (min(ratings) + max(ratings)) / 2
    rows = [i for i, rating in enumerate(ratings) if rating != middle]
    labels = [ratings[i] > middle for i in rows]
    if len(set(labels)) < 2:
        raise TrainingError(
            "The labelled captions are all equally concrete: rate some higher and some lower than "
            "their median."
        )
    both = np.column_stack([np.asarray(vba)[rows], np.asarray(sba)[rows]])
    regression = LogisticRegression().fit(both, labels)
    (a, b), (c,) = regression.coef_[0], regression.intercept_
    return Combination(float(a), float(b), float(c))


EDIT, MEANING = "edit distance", "BERTScore"


def by_measure(
    captions: Sequence[str],
    by_picture: Sequence[str],
    by_vector: Sequence[str],
    ratings: Sequence[float],
    encoder: str | None = None,
) -> dict[str, Agreement]:
    """Agreement of both pipelines with the ratings, by each similarity measure.

    `by_picture`, `by_vector`: the reconstructions of each caption, chosen among the beams by the
    pipeline's usual measure. Scores are not standardised by length.
    """
    return {
        f"{pipeline}, {name}": agreement(similarities, ratings)
        for pipeline, reconstructions in (("VBA", by_picture), ("SBA", by_vector))
        for name, similarities in (
            (EDIT, edit_similarity(captions, reconstructions)),
            (MEANING, meaning_similarity(captions, reconstructions, encoder)),
        )
    }


def average_clip(
    captions: Sequence[str],
    text_to_image: TextToImage,
    scorer: Scorer,
    pictures: int,
    seed: int = 0,
) -> list[float]:
    """aveCLIP (Wu and Smith 2023): mean cosine of a caption and several pictures drawn from it.

    `scorer` must embed pictures and texts: raises ModelMismatch otherwise.
    """
    averages = []
    for caption in captions:
        images = [text_to_image.draw([caption], seed + number)[0] for number in range(pictures)]
        embeddings = scorer.image_embeddings(scorer.encode_images(images))
        if embeddings is None:
            raise ModelMismatch("aveCLIP needs a model that embeds pictures, such as CLIP.")
        averages.append(float(np.mean(embeddings @ scorer.text_embeddings([caption])[0])))
    return averages


MEAN, DEVIATION = 0.5, 1.0
#: Lengths with fewer captions are grouped with neighbouring lengths.
FEWEST = 20
_EDGE = 1e-3


def standardise(scores: Sequence[float], lengths: Sequence[int]) -> NDArray[np.float64]:
    """Scores in (0, 1), shape [captions]; `lengths` in words."""
    probabilities = np.clip(np.asarray(scores, np.float64), _EDGE, 1 - _EDGE)
    logits = np.log(probabilities / (1 - probabilities))
    z_scores = np.empty_like(logits)
    for rows in _groups(lengths):
        values = logits[rows]
        spread = values.std()
        z_scores[rows] = (values - values.mean()) / (spread if spread > 1e-9 else 1.0)
    standard: NDArray[np.float64] = 1 / (1 + np.exp(-(MEAN + DEVIATION * z_scores)))
    return standard


def _groups(lengths: Sequence[int]) -> list[NDArray[np.intp]]:
    """Rows grouped by length; neighbouring lengths are merged until a group has FEWEST rows."""
    values = np.asarray(lengths)
    groups: list[NDArray[np.intp]] = []
    waiting: list[NDArray[np.intp]] = []
    for length in sorted(set(values.tolist())):
        waiting.append(np.flatnonzero(values == length))
        if sum(map(len, waiting)) >= FEWEST:
            groups.append(np.concatenate(waiting))
            waiting = []
    if waiting:  # too few of the longest: merge them with the last group
        last = groups.pop() if groups else np.empty(0, np.intp)
        groups.append(np.concatenate([last, *waiting]))
    return groups


#: Cells of the grid along each score.
CELLS = 8


def uniformly(
    vba: Sequence[float] | NDArray[np.float64],
    sba: Sequence[float] | NDArray[np.float64],
    count: int,
    seed: int = 0,
) -> list[int]:
    """Rows of at most `count` captions whose scores, in [0, 1], are spread evenly, in random order.

    The unit square is divided into CELLS x CELLS cells, each of which in turn contributes a
    random caption until there are enough; empty cells are skipped.
    """
    rng = np.random.default_rng(seed)
    places = [
        np.minimum((np.asarray(scores) * CELLS).astype(int), CELLS - 1) for scores in (vba, sba)
    ]
    cells: dict[int, list[int]] = {}
    for row in rng.permutation(len(vba)).tolist():
        cells.setdefault(int(places[0][row] * CELLS + places[1][row]), []).append(row)
    rows: list[int] = []
    while cells and len(rows) < count:
        for cell in rng.permutation(sorted(cells)).tolist()[: count - len(rows)]:
            rows.append(cells[cell].pop())
            if not cells[cell]:
                del cells[cell]
    return rows


_COLUMNS = ("caption", "vba", "sba", "by_picture", "by_vector")
#: Both scores of a caption, and its reconstructions by picture and by vector.
Reconstructed = tuple[float, float, str, str]
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


GALLERY = "gallery:"
_ENDINGS = (".jpg", ".jpeg", ".png", ".webp")
#: Maximum size of a gallery: more pictures make the bottleneck finer, and loading slower.
MOST_PICTURES = 5000


def load_parts(
    text_to_image: str,
    captioner: str,
    clip: str,
    language_model: str,
    encoder: str | None = None,
    distill_into: str | None = None,
    prefix: int = 1,
    device: str = "cpu",
    seed: int = 0,
    ave_clip: bool = False,
) -> Parts:
    """Load all components; `ave_clip`: also a scorer for this control.

    Raises ModelUnavailable, or SettingsError for a gallery without pictures.
    """
    return Parts(
        _text_to_image(text_to_image, clip, device),
        load_picture_captioner(captioner, device),
        load_semantic_bottleneck(clip, language_model, prefix, device, seed),
        encoder,
        distill_into or embedded_model(),
        load_scorer(clip, "clip", device) if ave_clip else None,
    )


def _text_to_image(name: str, clip: str, device: str) -> TextToImage:
    if not name.startswith(GALLERY):
        return load_diffusion(name, device)
    folder = Path(name.removeprefix(GALLERY)).expanduser()
    pictures: list[Image.Image] = []
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in _ENDINGS and len(pictures) < MOST_PICTURES:
            try:
                pictures.append(load_image(path))
            except ImageError:
                continue  # skip unreadable pictures
    if not pictures:
        raise SettingsError(f"There are no pictures in {folder}.")
    return gallery_of(load_scorer(clip, "clip", device), pictures)


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
    weights: Combination
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
    caption_scores = _score(captions, [], parts, out, epochs, seed, progress)
    rows = uniformly(caption_scores.vba, caption_scores.sba, count, seed)
    path = out / "to-rate.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("caption", "rating"))
        writer.writerows((caption_scores.captions[row], "") for row in rows)
    return path


def make(
    captions: Sequence[str],
    examples: Sequence[tuple[str, float]],
    parts: Parts,
    out: Path,
    epochs: int = semantic_bottleneck.EPOCHS,
    distillation_epochs: int = EPOCHS,
    seed: int = 0,
    progress: Progress = no_progress,
) -> MadeReport:
    """Run the whole pipeline. `examples`: captions with human ratings, to fit the combination.

    As in appendix A.2, both scores are distilled first, and the combination is fitted to what these
    encoders predict. Raises TrainingError if there are too few captions, SettingsError if `out`
    contains results of another version.
    """
    if len(examples) < 10:
        raise TrainingError(f"There are {len(examples)} labelled captions; at least 10 are needed.")
    texts, ratings = [text for text, _ in examples], [rating for _, rating in examples]
    caption_scores = _score(captions, texts, parts, out, epochs, seed, progress)
    unlabelled = caption_scores.captions[: len(caption_scores.captions) - len(examples)]
    labelled_rows = slice(len(unlabelled), None)
    by_encoder = {}
    for name, scores in (("vba", caption_scores.vba), ("sba", caption_scores.sba)):
        if not (out / name).exists():
            folder = out / f"{name}.part"
            distill(
                unlabelled, scores[: len(unlabelled)].tolist(), parts.distill_into, folder,
                distillation_epochs, seed=seed, progress=progress,
            )  # fmt: skip
            folder.replace(out / name)
        by_encoder[name] = score_captions(caption_scores.captions, str(out / name), clipped=False)
    labelled_scores = {name: scores[labelled_rows] for name, scores in by_encoder.items()}
    weights = fit(labelled_scores["vba"], labelled_scores["sba"], ratings)
    both = weights(by_encoder["vba"], by_encoder["sba"])
    distillation_losses = distill(
        unlabelled, both[: len(unlabelled)].tolist(), parts.distill_into, out / "model",
        distillation_epochs, seed=seed, progress=progress,
    )  # fmt: skip
    _, _, by_picture, by_vector = zip(*caption_scores.rows[labelled_rows], strict=True)
    ave_clip = None
    if parts.scorer is not None:
        averages = average_clip(texts, parts.text_to_image, parts.scorer, PICTURES, seed)
        ave_clip = agreement(averages, ratings)
    predictions = score_captions(texts, str(out / "model"), clipped=False)
    report = MadeReport(
        captions=caption_scores.distinct,
        labelled=len(examples),
        vba=agreement(caption_scores.vba[labelled_rows].tolist(), ratings),
        sba=agreement(caption_scores.sba[labelled_rows].tolist(), ratings),
        distilled_vba=agreement(labelled_scores["vba"], ratings),
        distilled_sba=agreement(labelled_scores["sba"], ratings),
        combined=agreement(both[labelled_rows].tolist(), ratings),
        distilled=agreement(predictions, ratings),
        weights=weights,
        semantic_losses=caption_scores.losses,
        distillation_losses=distillation_losses,
        model=out / "model",
        by_measure=by_measure(texts, by_picture, by_vector, ratings, parts.encoder),
        ave_clip=ave_clip,
    )
    report_json = json.dumps(asdict(report), default=str, indent=2)
    (out / "combination.json").write_text(report_json, encoding="utf-8")
    return report


@dataclass(frozen=True)
class _ScoredCaptions:
    """`captions`: those that did not train the semantic bottleneck, then the rated ones, with both
    standardised scores; `distinct`: number of captions; `losses`: of the bottleneck's training."""

    captions: list[str]
    rows: list[Reconstructed]
    vba: NDArray[np.float64]
    sba: NDArray[np.float64]
    distinct: int
    losses: list[float]


def _score(
    captions: Sequence[str], rated_captions: Sequence[str], parts: Parts, out: Path, epochs: int,
    seed: int, progress: Progress,
) -> _ScoredCaptions:  # fmt: skip
    distinct = list(dict.fromkeys(text for text in captions if text.strip()))
    if len(distinct) < 50:
        raise TrainingError(f"There are {len(distinct)} captions; at least 50 are needed.")
    out.mkdir(parents=True, exist_ok=True)
    version = out / "version"
    stored_version = version.read_text(encoding="utf-8").strip() if version.exists() else "1"
    if stored_version != VERSION and (version.exists() or (out / "scores.csv").exists()):
        raise SettingsError(
            f"{out} contains results of version {stored_version} of this pipeline, which cannot be "
            f"continued by version {VERSION}. Choose an empty folder."
        )
    version.write_text(VERSION + "\n", encoding="utf-8")
    random.Random(seed).shuffle(distinct)
    cut = round(SHARE_FOR_SBA * len(distinct))
    path, losses = out / "semantic.safetensors", []
    if path.exists():
        parts.semantic.restore(path)
    else:
        losses = semantic_bottleneck.train(
            parts.semantic, distinct[:cut], epochs, seed=seed, progress=progress
        )
        parts.semantic.save(path)
    texts = [*distinct[cut:], *rated_captions]
    reconstructions = _scores(list(dict.fromkeys(texts)), parts, out / "scores.csv", seed, progress)
    rows = [reconstructions[text] for text in texts]
    lengths = [len(Caption.parse(text)) for text in texts]
    vba = standardise([row[0] for row in rows], lengths)
    sba = standardise([row[1] for row in rows], lengths)
    return _ScoredCaptions(texts, rows, vba, sba, len(distinct), losses)


def _scores(
    captions: Sequence[str], parts: Parts, path: Path, seed: int, progress: Progress
) -> dict[str, Reconstructed]:
    """What became of each caption; those already in the file are not computed again."""
    _cut_unfinished_row(path)
    reconstructions = _read(path)
    is_new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        if is_new:
            writer.writerow(_COLUMNS)
        for done, caption in enumerate(captions, 1):
            if caption not in reconstructions:
                ((vba, by_picture),) = through_pictures(
                    [caption], parts.text_to_image, parts.captioner, parts.encoder, seed + done
                )
                ((sba, by_vector),) = semantic_bottleneck.through_vectors([caption], parts.semantic)
                writer.writerow([caption, vba, sba, by_picture, by_vector])
                file.flush()
                reconstructions[caption] = (vba, sba, by_picture, by_vector)
            progress(done, len(captions), "Reconstructing captions")
    return reconstructions


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


def _read(path: Path) -> dict[str, Reconstructed]:
    """What earlier runs wrote; incomplete rows are skipped, and so computed again."""
    if not path.exists():
        return {}
    reconstructions: dict[str, Reconstructed] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in list(csv.reader(file))[1:]:
            try:
                caption, vba, sba, by_picture, by_vector = row
                reconstructions[caption] = (float(vba), float(sba), by_picture, by_vector)
            except ValueError:
                continue
    return reconstructions


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
