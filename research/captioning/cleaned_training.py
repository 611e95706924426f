"""Train a captioner on a dataset as cleaned, and measure the effect of cleaning.

    cleaned    what an export would write: pairs that stay, with corrected and enriched captions
    raw        all pairs with their original captions, for comparison, with the same recipe

A share of the pictures is held out from both. A *judge*, which was not used in training, then
measures which captions retrieve their pictures. Each training is checkpointed: run again, it
continues, and ends with the same weights.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from backend.datasets.safe_files.regular_files import replacement
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.checkpoints import revision_of
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.unit_vectors import unit
from backend.errors import ModelMismatch, ModelUnavailable, SettingsError, TrainingError
from backend.features.captioners.clipcap import is_clipcap, load_clipcap
from backend.features.specificity.picture_bags import candidate_bags, curated_bags
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_decisions import remaining
from backend.jobs.scoring.image_batches import open_picture
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries
from research.bags_and_recall import picture_vectors, recall_among_random, recall_at_1
from research.captioning import checkpointing
from research.captioning.blip_policy import BlipPolicy
from research.captioning.caption_metrics import cider_d, distinct_words, words_of
from research.captioning.captioner_recipe import CaptionerRecipe, Side
from research.captioning.clipcap_policy import ClipCapPolicy
from research.captioning.curriculum import RANDOM, bag_curriculum
from research.captioning.likelihood import Likelihood, LikelihoodFigures, LikelihoodRecipe
from research.captioning.new_clipcap import make_clipcap
from research.captioning.policy import Images
from research.captioning.self_retrieval import Receiver, Recipe, SelfRetrieval, StepFigures
from research.markdown_tables import table


@dataclass(frozen=True)
class CaptionerFigures:
    """Greedy captions of held-out pictures. `trained_on`: "cleaned" or "raw"; `pairs`: number of
    training pairs; `rd100`: share that the judge retrieves among 99 random pictures (or all, if
    fewer); `bags`: R@1 in bags of similar pictures, by size; `cider`: mean CIDEr-D against the
    cleaned captions of the picture, None if it cannot be computed; `words`: mean length;
    `distinct`: different words in all; `empty`: number of captions without a word."""

    trained_on: str
    pairs: int
    rd100: float
    bags: dict[int, float]
    cider: float | None
    words: float
    distinct: int
    empty: int


@dataclass(frozen=True)
class CaptionerReport:
    """`figures`: of the captioner in `model`, trained on the cleaned dataset, then of one trained
    on the raw dataset with the same recipe, if requested. `held_out`: pictures that neither was
    trained on; `unreadable`: pictures that could not be opened."""

    dataset_id: int
    figures: tuple[CaptionerFigures, ...]
    held_out: int
    unreadable: int
    judge: str
    recipe: dict[str, Any]
    model: Path
    notes: tuple[str, ...] = ()


Floats = NDArray[np.float32]
Policy = ClipCapPolicy | BlipPolicy

#: Minimum number of training pairs.
FEWEST = 200
#: Minimum number of pictures with several captions for CIDEr-D: a batch.
FEWEST_WITH_REFERENCES = 100
SIZES = (3, 5, 7)
_TOGETHER = 64
#: Learning rates of self-retrieval, alone and with CIDEr-D (SR, Table 12).
_RATE, _RATE_WITH_CIDER = 9e-8, 1e-7
#: Epochs of self-retrieval and pictures per step, as published.
_EPOCHS, _BATCH = 20, 100


@dataclass(frozen=True)
class _Pictures:
    """Readable pictures of the dataset by name, with the judge's vectors [n, d]."""

    names: list[str]
    judge: Floats
    unreadable: int


def train_captioner(
    store: Store,
    engine: Engine,
    dataset_id: int,
    out: Path,
    recipe: CaptionerRecipe,
    choice: ExportChoice = ExportChoice(),  # noqa: B008  (frozen)
    progress: Progress = no_progress,
) -> CaptionerReport:
    """Train, write the captioner to `out`/model and the report to `out`/report.md and report.json.

    `engine`: its scorer is the judge. Raises SettingsError for incompatible options,
    TrainingError for too little data, ModelUnavailable or ModelMismatch for unsuitable models.
    """
    _check(recipe)
    if recipe.captioner and Path(recipe.captioner).resolve() == (out / "model").resolve():
        raise SettingsError(
            f"The captioner to continue from, '{recipe.captioner}', would be overwritten: choose "
            "another folder with --out."
        )
    judge = engine.scorer
    notes = _check_judge(recipe, judge)
    cleaned = [(pair.image_path, decision.caption)
               for pair, decision in remaining(store, dataset_id, choice)]  # fmt: skip
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        raw = [(pair.image_path, pair.caption)
               for pair in pair_queries.iterate_pairs(session, dataset_id)]  # fmt: skip
    _check_amount(recipe, cleaned)
    start = _new_policy(recipe, recipe.seed, engine)  # fails before anything is computed
    work = out / "training"
    try:
        work.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise SettingsError(
            f"{out} cannot be written: {problem.strerror or problem}. Choose another folder."
        ) from problem
    pictures = _seen_by_judge(root, sorted({name for name, _ in raw}), engine, progress)
    held_out_names = {name for name in pictures.names if _is_held_out(name, recipe)}
    rows = [row for row, name in enumerate(pictures.names) if name in held_out_names]
    if len(rows) < 2:
        raise SettingsError(f"{len(rows)} pictures are held out; hold out a larger share.")
    figures = []
    for name, pairs in (("cleaned", cleaned), ("raw", raw))[: 2 if recipe.compare else 1]:
        training = _Training(name, root, pictures, held_out_names, recipe, engine, work, progress)
        policy = start if name == "cleaned" else _new_policy(recipe, recipe.seed, engine)
        target = out / ("model" if name == "cleaned" else "training/raw")
        policy, count = training.run(policy, pairs, target)
        captions = training.captions(policy, rows)
        figures.append(
            _figures(name, count, captions, pictures.judge[rows], judge,
                     _references(cleaned, [pictures.names[row] for row in rows]))
        )  # fmt: skip
        notes += [note for note in training.notes if note not in notes]
    report = CaptionerReport(
        dataset_id, tuple(figures), len(rows), pictures.unreadable, judge.info.model,
        recipe.model_dump(), (out / "model").resolve(), tuple(notes),
    )  # fmt: skip
    (out / "report.md").write_text(markdown(report) + "\n", encoding="utf-8")
    (out / "report.json").write_text(
        json.dumps(asdict(report), default=str, ensure_ascii=False, indent=1), encoding="utf-8"
    )
    return report


# ------------------------------------------------------------------------------- what is refused


def _check(recipe: CaptionerRecipe) -> None:
    if recipe.captioner and recipe.language_model:
        raise SettingsError(
            "Either continue from a captioner or start from a language model, not both."
        )
    if not recipe.captioner and not (recipe.clip and recipe.language_model):
        raise SettingsError(
            "Name the parts of a new captioner, a CLIP and a causal language model such as gpt2, "
            "or a captioner to continue from."
        )
    if recipe.self_retrieval and not recipe.clip:
        raise SettingsError("Self-retrieval is rewarded by a CLIP: name one.")
    if not recipe.self_retrieval and (recipe.cider or recipe.bags or recipe.as_published):
        raise SettingsError(
            "CIDEr-D, bags and the published reward belong to self-retrieval: request it as well."
        )
    if not recipe.self_retrieval and recipe.side != "language":
        raise SettingsError(
            "Maximum likelihood trains the language side; to train the vision side, request "
            "self-retrieval as well."
        )


def _check_judge(recipe: CaptionerRecipe, judge: Scorer) -> list[str]:
    """Notes on the judge. Raises SettingsError if it also rewards."""
    if not recipe.self_retrieval or recipe.clip is None:
        return []
    if revision_of(recipe.clip) != judge.info.revision and recipe.clip != judge.info.model:
        return []
    if not recipe.anyway:
        raise SettingsError(
            f"'{recipe.clip}' would reward captions and then judge them, which measures how well "
            "it was exploited. Choose another judge (by default the model that the dataset was "
            "scored with) or another CLIP."
        )
    return [
        "the judge was also the rewarding model: its figures partly measure how well it was "
        "exploited"
    ]


def _check_amount(recipe: CaptionerRecipe, pairs: Sequence[tuple[str, str]]) -> None:
    if len(pairs) < FEWEST:
        raise TrainingError(
            f"Only {len(pairs)} of the dataset's pairs are kept; a captioner needs at least "
            f"{FEWEST}."
        )
    if recipe.cider:
        counts: dict[str, int] = {}
        for name, _ in pairs:
            counts[name] = counts.get(name, 0) + 1
        several = sum(count > 1 for count in counts.values())
        if several < FEWEST_WITH_REFERENCES:
            raise TrainingError(
                f"CIDEr-D compares a caption with others of its picture: {several} pictures have "
                f"more than one, at least {FEWEST_WITH_REFERENCES} are needed. Train without it."
            )


# ------------------------------------------------------------------------------- one training


def _new_policy(recipe: CaptionerRecipe, seed: int, engine: Engine) -> Policy:
    """The captioner before training, with all of its language side trainable."""
    device = engine.scorer.info.device
    if recipe.captioner is None:
        clipcap = make_clipcap(str(recipe.clip), str(recipe.language_model), seed=seed)
        clipcap.model.to(device)
        return ClipCapPolicy(clipcap)
    return _policy_of(recipe.captioner, device)


def _policy_of(
    name: str | Path,
    device: str,
    rank: int | None = None,
    seed: int = 0,
    side: Side = "language",
) -> Policy:
    if is_clipcap(name):
        return ClipCapPolicy(load_clipcap(name, device), rank=rank, seed=seed, side=side)
    captioner = load_captioner(str(name), device)
    if getattr(captioner.model.config, "model_type", None) != "blip":
        raise ModelMismatch(f"'{name}' is neither a BLIP captioner nor a ClipCap.")
    return BlipPolicy(captioner.model, captioner.processor, side, rank, seed=seed)


@dataclass
class _Training:
    name: str
    root: Path
    pictures: _Pictures
    held: set[str]
    recipe: CaptionerRecipe
    engine: Engine
    work: Path
    progress: Progress

    def __post_init__(self) -> None:
        self.notes: list[str] = []

    def run(
        self, policy: Policy, pairs: Sequence[tuple[str, str]], target: Path
    ) -> tuple[Policy, int]:
        """Train and save to `target`; the trained policy and the number of pairs."""
        row_of = {name: row for row, name in enumerate(self.pictures.names)}
        examples = [(row_of[name], caption) for name, caption in pairs
                  if name in row_of and name not in self.held]  # fmt: skip
        if len(examples) < FEWEST:
            raise TrainingError(
                f"{len(examples)} pairs are left for training ({self.name} dataset, without "
                f"held-out and unreadable pictures); a captioner needs at least {FEWEST}."
            )
        recipe, device = self.recipe, self.engine.scorer.info.device
        steps = max(1, round(recipe.epochs * len(examples) / recipe.batch))
        likelihood = LikelihoodRecipe(
            steps, recipe.batch, recipe.learning_rate, warm_up=steps // 30, seed=recipe.seed
        )

        def each(figures: LikelihoodFigures) -> None:
            self.progress(
                figures.step, steps, f"Learning {self.name} captions, loss {figures.loss:.2f}"
            )

        identity = self._identity(examples, asdict(likelihood))
        images_of = self._images(policy)
        training = Likelihood(policy, images_of, examples, likelihood)
        checkpointing.run(training, self.work / f"{self.name}.pt", identity, each)
        learnt_in = self.work / f"{self.name}-likelihood" if recipe.self_retrieval else target
        policy.save(learnt_in)
        if recipe.self_retrieval:
            rank = recipe.lora_rank or None
            policy = _policy_of(learnt_in, device, rank, recipe.seed, recipe.side)
            self._retrieve(policy, self._images(policy), examples, identity)
            policy.save(target)
        return policy, len(examples)

    def captions(self, policy: Policy, rows: Sequence[int]) -> list[str]:
        images_of, captions = self._images(policy), []
        policy.train(False)
        for first in range(0, len(rows), _TOGETHER):
            part = rows[first : first + _TOGETHER]
            captions += policy.text(policy.sample(images_of(part), 0.0, torch.Generator()))
            self.progress(first + len(part), len(rows), "Describing held-out pictures")
        return captions

    def _images(self, policy: Policy) -> Callable[[Sequence[int]], Images]:
        """The policy's images of rows of pictures. CLIP vectors are computed once; pixels and a
        BLIP's patches would not fit into memory."""
        open_row = self._open
        if isinstance(policy, BlipPolicy) or policy.sees_pixels:
            return lambda rows: policy.images_of([open_row(row) for row in rows])
        # The image tower of the captioner that training continues from may have been trained.
        start = self.recipe.captioner
        tower = [policy.captioner.clip, revision_of(start) if start else ""]
        path = self.work / f"vectors-{self._digest([self.pictures.names, tower])}.npy"
        if not path.exists():
            parts = []
            for first in range(0, len(self.pictures.names), _TOGETHER):
                rows = range(first, min(first + _TOGETHER, len(self.pictures.names)))
                parts.append(policy.images_of([open_row(row) for row in rows]).numpy())
                self.progress(rows[-1] + 1, len(self.pictures.names), "Pictures as CLIP sees them")
            with replacement(path) as part, part.open("wb") as file:
                np.save(file, np.concatenate(parts))
        vectors = torch.from_numpy(np.load(path))
        return lambda rows: vectors[list(rows)]

    def _open(self, row: int) -> Any:
        image = open_picture(self.root, self.pictures.names[row])
        if isinstance(image, str):
            raise TrainingError(f"A picture could be read before, but not now: {image}")
        return image

    def _retrieve(
        self,
        policy: Policy,
        images_of: Callable[[Sequence[int]], Images],
        examples: Sequence[tuple[int, str]],
        identity: str,
    ) -> None:
        recipe = self.recipe
        by_row: dict[int, list[str]] = {}
        for row, caption in examples:
            by_row.setdefault(row, []).append(caption)
        picture_rows = [
            row for row, captions in by_row.items() if len(captions) > bool(recipe.cider)
        ]
        if len(picture_rows) < len(by_row):
            self.notes.append(
                f"{self.name}: {len(by_row) - len(picture_rows)} pictures with one caption were "
                "not used in self-retrieval with CIDEr-D"
            )
        if recipe.cider and len(picture_rows) < FEWEST_WITH_REFERENCES:
            raise TrainingError(
                f"{len(picture_rows)} training pictures have more than one caption; CIDEr-D needs "
                f"{FEWEST_WITH_REFERENCES}."
            )
        scorer = load_scorer(str(recipe.clip), device=self.engine.scorer.info.device)
        try:
            pictures = picture_vectors(
                scorer, (self._open(row) for row in picture_rows),
                lambda count: self.progress(
                    count, len(picture_rows), "Pictures as the rewarding model sees them"
                ),
            )  # fmt: skip
        except SettingsError as problem:
            raise ModelUnavailable(f"'{recipe.clip}' provides no vectors to compare.") from problem
        receiver = Receiver.of(scorer, pictures)
        near = receiver.neighbours([by_row[row] for row in picture_rows])
        batch = min(_BATCH, len(picture_rows))
        steps = recipe.retrieval_steps or max(1, _EPOCHS * len(picture_rows) // batch)
        sizes = bag_curriculum(steps) if recipe.bags else [RANDOM] * steps
        rate = recipe.retrieval_rate or (_RATE_WITH_CIDER if recipe.cider else _RATE)
        settings = Recipe(
            sizes, batch, learning_rate=rate, cider=recipe.cider, seed=recipe.seed,
            baseline="greedy" if recipe.cider else "running",
            temperature=recipe.temperature, weight_decay=recipe.weight_decay,
        )  # fmt: skip
        if recipe.as_published:
            settings = settings.as_published()
        training = SelfRetrieval(
            policy, receiver, lambda rows: images_of([picture_rows[row] for row in rows]), near,
            settings, [by_row[row] for row in picture_rows],
        )  # fmt: skip

        def each(figures: StepFigures) -> None:
            self.progress(
                figures.step, steps,
                f"Self-retrieval on {self.name} captions, reward {figures.reward:.2f}",
            )  # fmt: skip

        path = self.work / f"{self.name}-self-retrieval.pt"
        identity_parts = [identity, asdict(settings), recipe.side, recipe.lora_rank]
        checkpointing.run(training, path, self._digest(identity_parts), each)

    def _identity(self, examples: Sequence[tuple[int, str]], settings: dict[str, Any]) -> str:
        recipe = self.recipe
        names = [name for name in (recipe.clip, recipe.language_model, recipe.captioner) if name]
        start = [(name, revision_of(name)) for name in names]
        pairs = [(self.pictures.names[row], caption) for row, caption in examples]
        return self._digest([start, pairs, settings])

    @staticmethod
    def _digest(of: Any) -> str:
        return hashlib.sha256(json.dumps(of, default=str).encode()).hexdigest()[:16]


def _is_held_out(name: str, recipe: CaptionerRecipe) -> bool:
    """By the picture's name, so that all captions of a picture are on one side."""
    digest = hashlib.sha256(f"{recipe.seed} {name}".encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**32 < recipe.held_out


def _seen_by_judge(
    root: Path, names: Sequence[str], engine: Engine, progress: Progress
) -> _Pictures:
    """The readable ones of these pictures. Raises SettingsError if the judge has no vectors."""
    readable_names: list[str] = []
    vectors: list[Floats] = []
    for first in range(0, len(names), _TOGETHER):
        pictures = {name: open_picture(root, name) for name in names[first : first + _TOGETHER]}
        images = {name: image for name, image in pictures.items() if not isinstance(image, str)}
        if images:
            embeddings = engine.image_embeddings(engine.encode(list(images.values())))
            if embeddings is None:
                raise SettingsError(
                    f"The judge '{engine.scorer.info.model}' has no vectors to compare. Choose "
                    "another model."
                )
            readable_names += images
            vectors.append(embeddings)
        progress(first + len(pictures), len(names), "Pictures as the judge sees them")
    if not readable_names:
        raise TrainingError("None of the dataset's pictures can be opened.")
    return _Pictures(
        readable_names, unit(np.concatenate(vectors)), len(names) - len(readable_names)
    )


# ------------------------------------------------------------------------------- figures


def _references(pairs: Sequence[tuple[str, str]], names: Sequence[str]) -> list[list[str]]:
    captions: dict[str, list[str]] = {name: [] for name in names}
    for name, caption in pairs:
        if name in captions:
            captions[name].append(caption)
    return list(captions.values())


def _figures(
    name: str,
    pairs: int,
    captions: Sequence[str],
    pictures: Floats,
    judge: Scorer,
    references: Sequence[Sequence[str]],
) -> CaptionerFigures:
    """`references`: cleaned captions of each picture, maybe none."""
    owners = np.arange(len(captions))
    texts = unit(judge.text_embeddings(captions))
    bags = {}
    for size in SIZES:
        # Neighbours by picture alone, so that both captioners get the same task.
        members = [bag.members for bag in curated_bags(candidate_bags(pictures, pictures, size))]
        if members:
            bags[size] = recall_at_1(members, pictures, texts, owners).share
    with_references = [row for row, own_references in enumerate(references) if own_references]
    try:
        scores = cider_d(
            [captions[row] for row in with_references], [references[row] for row in with_references]
        )
    except ModelUnavailable:
        scores = []
    return CaptionerFigures(
        trained_on=name,
        pairs=pairs,
        rd100=recall_among_random(pictures, texts, owners).share,
        bags=bags,
        cider=float(np.mean(scores)) if scores else None,
        words=float(np.mean([len(words_of(caption)) for caption in captions])),
        distinct=distinct_words(captions),
        empty=sum(not words_of(caption) for caption in captions),
    )


def markdown(report: CaptionerReport) -> str:
    """The report as a table, with the basis of its figures."""
    sizes = sorted({size for row in report.figures for size in row.bags})
    head = ("trained on", "pairs", "R@1 among 100", *(f"#{size}" for size in sizes), "CIDEr-D",
            "words", "different words", "empty")  # fmt: skip
    rows = [
        [
            row.trained_on, f"{row.pairs:,}", f"{row.rd100:.3f}",
            *(f"{row.bags[size]:.3f}" if size in row.bags else "" for size in sizes),
            "" if row.cider is None else f"{row.cider:.3f}", f"{row.words:.1f}", row.distinct,
            row.empty,
        ]
        for row in report.figures
    ]  # fmt: skip
    about = [
        f"Greedy captions of {report.held_out} held-out pictures, retrieved by the judge "
        f"{report.judge}. CIDEr-D is against the cleaned captions.",
        *(f"Note: {note}." for note in report.notes),
    ]
    if report.unreadable:
        about.append(f"Note: {report.unreadable} pictures could not be opened.")
    return "\n".join([table(head, rows), "", *about, "", f"Use it: --captioner {report.model}"])
