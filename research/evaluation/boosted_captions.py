"""`evaluate boosting`: are boosted captions richer, and does the guard catch hallucinations?

Runs the real `boost` against a real HTTP server, on drawn scenes with five true captions each, in a
temporary store. The server's answers are rule-based (`scenes.blending`), with false claims in the
Visual at a known rate, so every claim that is added, removed or lost is counted exactly. How well a
language model follows the prompts is not measured: none is involved.
"""

import json
import random
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.language_models.asking import encode_picture
from backend.engine.unit_vectors import unit
from backend.errors import SettingsError
from backend.features.specificity.boost_captions import BoostWork, ProposalOutcome, booster
from backend.features.specificity.measuring import picture_vectors, texts_of
from backend.features.specificity.picture_bags import candidate_bags, curated_bags, multimodal
from backend.progress import Progress, no_progress
from backend.workspace import QueueFilter, Workspace
from research.bags_and_recall import recall_among_random, recall_at_1
from research.chat_server import Respond, chat_server
from research.evaluation.labelled import DIRECTORIES
from research.evaluation.specificity import SIZES as BAG_SIZES
from research.evaluation.specificity import RecallRow
from research.markdown_tables import Mark, mark, marks_table, table
from research.scenes import blending
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import describe
from research.scenes.labelled_bags import rich
from research.scenes.renderer import PICTURE_SIZE, render
from research.scenes.truth import facts
from research.scenes.world import COLOURS, SIZES, Scene, make_scene
from research.user_datasets import import_pairs

#: Does not overlap with the seeds of training, the demo and the other evaluations.
SEED = 7_000_000_000
CAPTIONS, RATE = 5, 0.3
#: Bag size of the acceptance criteria.
SIZE = BAG_SIZES[0]
#: Minimum number of pictures: enough for bags of three, and for training a detector.
LEAST = 6
#: Kinds of captions, from least to most detailed.
KINDS = ("original", "blend", "holistic")
_UNREADABLE = frozenset({"unreadable"})

Claims = frozenset[str]


@dataclass(frozen=True)
class ClaimTally:
    """Claims of one kind of caption. `captions`: their number; `claims`: number of claims in all of
    them; `false`: false claims; `hallucinated`: captions with at least one false claim."""

    captions: int
    claims: int
    false: int
    hallucinated: int

    @property
    def each(self) -> float:
        return self.claims / self.captions if self.captions else 0.0

    @property
    def share_hallucinated(self) -> float:
        return self.hallucinated / self.captions if self.captions else 0.0


@dataclass(frozen=True)
class Strikes:
    """Decisions of the guard on claims of one kind in the Holistic proposals.

    `false`: false claims proposed; `new`: true claims that no human caption makes; `*_struck`: how
    many of them the guard removed. Refusing a proposal counts as removing all of its claims."""

    kind: str
    false: int
    false_struck: int
    new: int
    new_struck: int


@dataclass(frozen=True)
class BoostingFigures:
    """Results with one set of embedded models.

    * `recall`: R@1 in mined bags of each size and among 99 random pictures, by kind of caption,
      over all pictures (if the guard refuses a proposal, the picture keeps its previous caption);
    * `claimed`: claims by kind of caption, after the guard unless the kind says otherwise;
    * `outcomes`: number of pairs by outcome; `offered`: number of proposals that pass the guard and
      the judge, by kind; `refused`: proposals that the guard refused;
    * `human`: claims of the pair's own caption that are lost after the guard;
    * `others`: claims of human captions that a proposal made and that were removed because of the
      picture or a conflict;
    * `too_long`: the same for claims removed because the model does not read that far;
    * `requests`: sent to the server; `asked_twice`: of these, repeated ones.
    """

    seed: int
    pictures: int
    recall: list[RecallRow]
    claimed: dict[str, ClaimTally]
    strikes: list[Strikes]
    outcomes: dict[str, int]
    offered: dict[str, int]
    human: int
    others: int
    too_long: int
    refused: int
    requests: int
    asked_twice: int

    def share(self, captions: str, size: int = SIZE) -> float:
        """R@1 of one kind of caption in bags of `size`; 100: among 99 random pictures."""
        (row,) = (row for row in self.recall if (row.captions, row.size) == (captions, size))
        return row.recall.share


@dataclass(frozen=True)
class BoostingReport:
    results: list[BoostingFigures] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    rate: float = RATE


def evaluate_boosting(
    pairs: int,
    seeds: int,
    first_seed: int,
    model_folders: Sequence[Path],
    rate: float = RATE,
    device: str | None = None,
    progress: Progress = no_progress,
) -> BoostingReport:
    """Evaluate boosting for each seed.

    `pairs`: pictures per seed, each with five captions, of which the first is to be enriched;
    `rate`: mean number of false claims per Visual. Raises SettingsError for too few."""
    if pairs < LEAST or seeds < 1:
        raise SettingsError(
            f"An evaluation of boosting needs at least 1 seed and {LEAST} pictures."
        )
    results = []
    for k in range(seeds):
        folder = model_folders[k % len(model_folders)]
        sample = _draw(pairs, first_seed + k, rate)
        results.append(_figures(sample, folder, device, progress))
    return BoostingReport(results, marks(results), rate)


@dataclass(frozen=True)
class _SceneSample:
    """Scenes with captions. `captions`: five per scene; `rich`: a detailed true caption of each;
    `visual`: the Visual of each scene; `visuals`: the same by picture as sent."""

    seed: int
    scenes: list[Scene]
    captions: list[list[str]]
    rich: list[str]
    visuals: dict[bytes, str]
    visual: list[str]

    def picture(self, scene: int) -> Image.Image:
        return render(self.scenes[scene], PICTURE_SIZE)


def _draw(count: int, seed: int, rate: float) -> _SceneSample:
    rng = random.Random(SEED + 1_000_000 * seed)
    scenes = [make_scene(rng) for _ in range(count)]
    captions = [[describe(scene, rng).text for _ in range(CAPTIONS)] for scene in scenes]
    full = [rich(scene, rng).text for scene in scenes]
    visual = [blending.visual(scene, rng, rate).text for scene in scenes]
    pictures = [encode_picture(render(scene, PICTURE_SIZE)) for scene in scenes]
    visuals = dict(zip(pictures, visual, strict=True))
    return _SceneSample(seed, scenes, captions, full, visuals, visual)


def answers(visuals: dict[bytes, str]) -> Respond:
    """Rule-based server answers: blend, holistic, and for a picture its entry in `visuals`."""

    def respond(body: dict[str, Any]) -> tuple[int, str]:
        content: Any = body["messages"][-1]["content"]
        parts: list[Any] = [{"text": content}] if isinstance(content, str) else content
        text = "".join(part.get("text", "") for part in parts)
        pictures = [part["image_url"]["url"] for part in parts if "image_url" in part]
        if pictures:
            caption = visuals[b64decode(pictures[0].partition(",")[2])]
        elif captions := re.findall(r"<caption>(.*?)</caption>", text):
            caption = blending.blend(captions)
        else:
            (trusted,) = re.findall(r"<trusted>(.*?)</trusted>", text)
            (other,) = re.findall(r"<other>(.*?)</other>", text)
            caption = blending.holistic(trusted, other)
        return 200, json.dumps({"caption": caption})

    return respond


# ------------------------------------------------------------------------------- one training


def _figures(
    sample: _SceneSample, models: Path, device: str | None, progress: Progress
) -> BoostingFigures:
    captions = [(scene, text) for scene, texts in enumerate(sample.captions) for text in texts]
    with chat_server(answers(sample.visuals)) as server:
        settings = {
            "kind": "clip", "device": device, "model": str(models / DIRECTORIES["clip"]),
            "corrector": "by rule", "corrector_url": server.url,
        }  # fmt: skip
        with import_pairs(captions, sample.picture, settings, progress) as (workspace, dataset):
            workspace.jobs.score(dataset, suggestions=False, progress=progress)
            workspace.jobs.run("specificity", dataset, progress)
            proposals, outcomes = _consider(workspace, dataset, sample, progress)
            return _count(workspace, dataset, sample, proposals, outcomes, server.requests)


def _consider(
    workspace: Workspace, dataset: int, sample: _SceneSample, progress: Progress
) -> tuple[dict[int, list[ProposalOutcome]], Counter[str]]:
    """The proposals of `boost` for the first caption of each scene, and the counts of outcomes."""
    first = {
        pair: scene for (scene, number), pair in _pairs(workspace, dataset).items() if number == 0
    }
    models = booster(workspace.engine, ["blend", "holistic"])
    work = BoostWork(workspace.store, workspace.engine, dataset, models)
    work.doubts.calibrate(work.captions, progress)
    by_scene: dict[int, list[ProposalOutcome]] = {}
    outcomes: Counter[str] = Counter()
    filter = QueueFilter(dataset, review="all", order="position", among=tuple(first))
    for row, context in work.waiting(filter, None):
        if isinstance(context, str):
            outcomes[context] += 1
            continue
        proposals, outcome, _ = work.consider(row, context)
        by_scene[first[row.pair_id]] = proposals
        outcomes[outcome] += 1
        progress(len(by_scene), len(first), "Enriching")
    return by_scene, outcomes


def _pairs(workspace: Workspace, dataset: int) -> dict[tuple[int, int], int]:
    pair_ids: dict[tuple[int, int], int] = {}
    after = None
    while True:
        filter = QueueFilter(dataset, review="all", order="position")
        page = workspace.review.queue_page(filter, after, 500)
        for row in page.rows:
            pair_ids[divmod(int(row.external_id), CAPTIONS)] = row.pair_id
        after = page.next_cursor
        if after is None:
            return pair_ids


def _count(
    workspace: Workspace,
    dataset: int,
    sample: _SceneSample,
    proposals_by_scene: dict[int, list[ProposalOutcome]],
    outcomes: Counter[str],
    bodies: Sequence[dict[str, Any]],
) -> BoostingFigures:
    true = [facts(scene) for scene in sample.scenes]
    captions: dict[str, list[str]] = {"original": [texts[0] for texts in sample.captions]}
    boosts: dict[str, list[tuple[int, str]]] = {"blend": [], "holistic": []}
    suggestion_counts: Counter[str] = Counter()
    strikes: dict[str, Counter[str]] = {}
    human_lost = others = too_long = refusals = 0
    for i, proposals in proposals_by_scene.items():
        for proposal in proposals:
            before, after = _read(proposal.boost.caption), _read(proposal.guarded.caption)
            refusals += not proposal.guarded.caption
            # Captions that look wrong are not used as sources, so their claims do not count.
            people = set(sample.captions[i]).intersection(proposal.boost.sources)
            human = frozenset().union(*(_read(text) for text in people))
            if proposal.boost.kind == "holistic":
                _count_strikes(strikes, before, after, true[i], human)
            if not proposal.guarded.caption:
                continue
            losses = (before & human) - _with_implied(after)
            if proposal.guarded.notes:
                too_long += len(losses)
            else:
                others += len(losses)
            boosts[proposal.boost.kind].append((i, proposal.guarded.caption))
            suggestion_counts[proposal.boost.kind] += (
                proposal.suggestion is not None and not proposal.reason
            )
            human_lost += len(_read(sample.captions[i][0]) - _with_implied(after))
    for kind, earlier in (("blend", "original"), ("holistic", "blend")):
        captions[kind] = list(captions[earlier])
        for i, text in boosts[kind]:
            captions[kind][i] = text
    claim_counts = {
        "original": _count_claims([(i, text) for i, text in enumerate(captions["original"])], true),
        "visual, raw": _count_claims(list(enumerate(sample.visual)), true),
        "blend": _count_claims(boosts["blend"], true),
        "holistic, before the guard": _count_claims(
            [(i, proposal.boost.caption)
             for i, proposals in proposals_by_scene.items() for proposal in proposals
             if proposal.boost.kind == "holistic"], true),
        "holistic": _count_claims(boosts["holistic"], true),
    }  # fmt: skip
    keys = [json.dumps(question, sort_keys=True) for question in bodies]
    return BoostingFigures(
        seed=sample.seed,
        pictures=len(sample.scenes),
        recall=_recall(workspace, dataset, sample, captions),
        claimed=claim_counts,
        strikes=[
            Strikes(kind, n["false"], n["false struck"], n["new"], n["new struck"])
            for kind, n in sorted(strikes.items())
        ],
        outcomes=dict(outcomes),
        offered=dict(suggestion_counts),
        human=human_lost,
        others=others,
        too_long=too_long,
        refused=refusals,
        requests=len(keys),
        asked_twice=len(keys) - len(set(keys)),
    )


def _with_implied(claims: Claims) -> Claims:
    """Add implied claims: whoever "sits on a bench" is "sitting"."""
    sitting = {claim.partition(" sits ")[0] for claim in claims if " sits " in claim}
    return claims | {f"{noun}/sitting" for noun in sitting}


def _read(text: str) -> Claims:
    """The claims of a caption; one that the grammar cannot parse counts as one false claim."""
    if not text:
        return frozenset()
    claims = claims_of(text)
    return _UNREADABLE if claims is None else claims


def _count_strikes(
    strikes: dict[str, Counter[str]], before: Claims, after: Claims, true: Claims, human: Claims
) -> None:
    for claim in before:
        if claim in true and claim in human:
            continue
        name = "new" if claim in true else "false"
        counts = strikes.setdefault(_kind(claim), Counter())
        counts[name] += 1
        counts[f"{name} struck"] += claim not in after


def _kind(claim: str) -> str:
    """The kind of a claim.

    >>> [_kind(one) for one in ("dog", "dog*2", "dog/red", "dog/running", "in park", "man on bus")]
    ['thing', 'count', 'colour', 'action', 'place', 'relation']
    """
    thing, slash, quality = claim.partition("/")
    if slash:
        return "colour" if quality in COLOURS else "size" if quality in SIZES else "action"
    if "*" in thing:
        return "count"
    first, _, rest = claim.partition(" ")
    kinds = {"in": "place", "at": "weather", "no": "negation"}
    return ("thing" if not rest else kinds.get(first, "relation")) if claim else ""


def _count_claims(captions: Sequence[tuple[int, str]], true: Sequence[Claims]) -> ClaimTally:
    read = [(i, _read(text)) for i, text in captions]
    false = [len(claims - true[i]) for i, claims in read]
    return ClaimTally(
        len(read), sum(len(claims) for _, claims in read), sum(false), sum(n > 0 for n in false)
    )


def _recall(
    workspace: Workspace, dataset: int, sample: _SceneSample, captions: dict[str, list[str]]
) -> list[RecallRow]:
    """R@1 by kind of caption, in bags mined with the rich captions as in `evaluate specificity`,
    and RD100."""
    pairs = _pairs(workspace, dataset)
    count = len(sample.scenes)
    vectors = picture_vectors(workspace.store, workspace.engine, dataset)
    pictures = unit(vectors.of([pairs[i, 0] for i in range(count)]))
    m = multimodal(pictures, texts_of(workspace.engine, sample.rich))
    owners: NDArray[np.int64] = np.arange(count)
    texts = {kind: texts_of(workspace.engine, of_kind) for kind, of_kind in captions.items()}
    rows = []
    for size in (size for size in BAG_SIZES if size <= count):
        bags = [bag.members for bag in curated_bags(candidate_bags(m, pictures, size))]
        rows += [
            RecallRow(sample.seed, kind, "mined", size, recall_at_1(bags, pictures, of, owners))
            for kind, of in texts.items()
        ]
    for kind, of in texts.items():
        among = recall_among_random(pictures, of, owners, sample.seed)
        rows.append(RecallRow(sample.seed, kind, "random", 100, among))
    return rows


# ------------------------------------------------------------------------------- marks and tables


def marks(results: Sequence[BoostingFigures]) -> list[Mark]:
    """The acceptance criteria, checked for each training."""
    gaps = {
        f"{higher} - {lower}": [figures.share(higher) - figures.share(lower) for figures in results]
        for lower, higher in (("original", "blend"), ("blend", "holistic"))
    }
    more = {
        kind: [of.claimed[kind].each / of.claimed["original"].each - 1 for of in results]
        for kind in ("blend", "holistic")
    }
    fewer = [
        figures.claimed["holistic"].share_hallucinated
        / figures.claimed["visual, raw"].share_hallucinated
        - 1
        for figures in results
        if figures.claimed["visual, raw"].hallucinated
    ]
    false = [_share(figures, "false_struck", "false") for figures in results]
    true = [_share(figures, "new_struck", "new") for figures in results]
    return [
        *(mark(f"R@1 #{SIZE}: {what}", ">= 0.03", values, ".3f", lambda gap: gap >= 0.03)
          for what, values in gaps.items()),
        mark("claims a caption: blend above original", ">= +40%", more["blend"], "+.0%",
             lambda rise: rise >= 0.4),
        mark("claims a caption: holistic above original", ">= +60%", more["holistic"], "+.0%",
             lambda rise: rise >= 0.6),
        mark("hallucinated captions: holistic after the guard against raw visual", "<= -40%",
             fewer, "+.0%", lambda change: change <= -0.4),
        mark("false claims removed by the guard", ">= 60%", false, ".0%",
             lambda share: share >= 0.6),
        mark("true new claims removed by the guard", "<= 20%", true, ".0%",
             lambda share: share <= 0.2),
        *(mark(what, "0", [getattr(of, name) for of in results], "d", lambda count: count == 0)
          for what, name in (
              ("claims of the caption itself lost after the guard", "human"),
              ("claims of other people removed because of conflict or picture", "others"),
              ("questions sent twice", "asked_twice"),
          )),
    ]  # fmt: skip


def _share(figures: BoostingFigures, part: str, whole: str) -> float:
    of = sum(getattr(row, whole) for row in figures.strikes)
    return sum(getattr(row, part) for row in figures.strikes) / of if of else float("nan")


def markdown(report: BoostingReport) -> str:
    """All tables as Markdown."""
    parts = [
        f"*drawn scenes; answers by rule over HTTP, {report.rate:g} false claims a Visual; the "
        "quality of a language model is not measured*"
    ]
    parts.append(marks_table(report.marks))
    head = ("captions", "number", "claims each", "false claims", "hallucinated", "seed")
    parts.append(table(head, (
        (kind, of.captions, f"{of.each:.2f}", of.false, f"{of.share_hallucinated:.1%}",
         figures.seed)
        for figures in report.results
        for kind, of in figures.claimed.items()
    )))  # fmt: skip
    head = ("R@1", "captions", "in their bag", "95% interval", "seed")
    parts.append(table(head, (
        ("RD100" if row.bags == "random" else f"bags of {row.size}", row.captions,
         f"{row.recall.share:.3f}", "{:.3f} to {:.3f}".format(*row.recall.interval), row.seed)
        for figures in report.results
        for row in figures.recall
    )))  # fmt: skip
    head = ("guard, holistic", "false", "struck", "true and new", "struck", "seed")
    parts.append(table(head, (
        (row.kind, row.false, row.false_struck, row.new, row.new_struck, figures.seed)
        for figures in report.results
        for row in figures.strikes
    )))  # fmt: skip
    for figures in report.results:
        ends = ", ".join(f"{n} {name}" for name, n in sorted(figures.outcomes.items()))
        parts.append(
            f"Seed {figures.seed}: {figures.pictures} pictures, {ends}; offered after the judge: "
            f"{figures.offered.get('blend', 0)} blends and "
            f"{figures.offered.get('holistic', 0)} holistic; "
            f"{figures.refused} proposals refused, "
            f"{figures.too_long} claims left out because the model does not read so far; "
            f"{figures.requests} requests."
        )
    return "\n\n".join(parts)
