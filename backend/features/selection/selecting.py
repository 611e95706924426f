"""Two-stage selection of a dataset's pairs for training, and what it loses.

Verdicts override the selection: only undecided pairs take part, and decided pairs count towards no
quota, so that reviewing a pair never removes another one. The same holds for captions that were
edited: what was measured is another text. Nothing is written here.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import compress
from operator import itemgetter
from pathlib import Path
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from backend import plugins
from backend.counts import counted
from backend.datasets.cells import trim
from backend.engine.english.word_kinds import kind_of
from backend.engine.statistics.highest import highest_share
from backend.errors import SettingsError
from backend.features.selection.options import TwoStage
from backend.features.selection.queries import (
    EDITED,
    SelectionColumns,
    captions_and_images,
    selection_columns,
)
from backend.features.selection.report import SHORT, SelectionLosses, SelectionReport
from backend.features.selection.score_file import read_scores
from backend.features.selection.stages import FEWEST, Selection, check_shares, select
from backend.jobs.selection_criteria import ALIGN_SHARE, Criterion
from backend.measures import MEASURES
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries, phrase_queries, run_queries

#: By name: those of features and other packages, then ours.
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        *plugins.load("criteria", Criterion),
        Criterion("alignment", "s_0", "match alone", "match", "lowest match"),
        Criterion(
            "specificity", "specificity", "specificity", "generic: specificity", "generic",
            "specificity",
        ),
        Criterion("random", "random_key", "sampled at random", "random order", "hollow"),
    )
}  # fmt: skip
_BATCH = 5000


@dataclass(frozen=True)
class TwoStageResult:
    """Arrays of shape [pairs of the dataset], in order of id. `values`: the criterion of the second
    stage, NaN where unknown. `reasons`: why a pair leaves at stage one or two."""

    columns: SelectionColumns
    values: NDArray[np.float64]
    takes_part: NDArray[np.bool_]
    selection: Selection
    refitted: bool
    reasons: tuple[str, str]
    #: Undecided pairs of the splits with an edited caption: they do not take part, and stay.
    edited: int

    def reason_of(self, pair_id: int) -> str:
        """Why the pair leaves; "" if it stays or does not take part."""
        row = int(np.searchsorted(self.columns.ids, pair_id))
        if row >= len(self.columns.ids) or self.columns.ids[row] != pair_id:
            return ""
        if not self.takes_part[row] or self.selection.kept[row]:
            return ""
        return self.reasons[int(self.selection.pool[row])]


def choose(store: Store, dataset_id: int, choice: TwoStage) -> TwoStageResult:
    """Select in two stages. Raises SettingsError if a required number has not been measured, or
    if too few pairs take part."""
    check_shares(choice.align, choice.keep)
    if choice.by not in CRITERIA:
        raise SettingsError(f"There is no selection by '{choice.by}'; use {', '.join(CRITERIA)}.")
    criterion = CRITERIA[choice.by]
    with store.reading() as session:
        name = dataset_queries.get_dataset(session, dataset_id).name
        columns = selection_columns(session, dataset_id, criterion.column)
        run = run_queries.latest_run(session, dataset_id, phrase_queries.KIND)
    in_splits = np.ones(len(columns.ids), np.bool_)
    for split in choice.splits:
        if split not in columns.split_names:
            split_names = ", ".join(f"'{name}'" for name in columns.split_names if name) or "none"
            raise SettingsError(f"There is no split '{split}'; there are: {split_names}.")
    if choice.splits:
        numbers = [columns.split_names.index(split) for split in choice.splits]
        in_splits = np.isin(columns.splits, numbers)
    # An edited caption stays: what was measured is the text that it replaces.
    takes_part, is_edited = (in_splits & (columns.verdicts == n) for n in (0, EDITED))
    operation = "" if choice.scores else criterion.operation
    if choice.least_phrases:
        operation = phrase_queries.KIND
    needs_phrases = operation == phrase_queries.KIND
    if np.isnan(columns.s_0).all() or (needs_phrases and run is None):
        raise _not_measured(name, operation)
    if int(takes_part.sum()) < FEWEST:
        raise SettingsError(
            f"A selection needs at least {FEWEST} undecided pairs; there are "
            f"{int(takes_part.sum())}."
        )
    values, refitted = columns.value, False
    if choice.scores:
        values = _scores_of(store, dataset_id, Path(choice.scores).expanduser(), columns.ids)
    elif choice.by == "random" and choice.seed:
        values = np.random.default_rng(choice.seed).random(len(columns.ids))
    over_pool = None if choice.scores else criterion.over_pool
    if over_pool is not None and run is not None and choice.align != ALIGN_SHARE:
        pool = highest_share(columns.s_0, takes_part, choice.align)
        values = over_pool(store, run.id, columns.ids, pool)
        refitted = True
    if np.isnan(values[takes_part]).all() and choice.scores:
        raise SettingsError(f"No undecided pair has a score in '{choice.scores}'.")
    if np.isnan(values[takes_part]).all():
        if not needs_phrases or (run is not None and run.status == "running"):
            raise _not_measured(name, operation)
        raise SettingsError(
            f"None of the pairs has a value to select by ({choice.by}): no caption has a phrase "
            "that could be tested."
        )
    if choice.least_phrases and run is not None:
        few = _phrase_counts(store, run.id, columns.ids) < choice.least_phrases
        values = np.where(few, np.nan, values)
    is_random = choice.by == "random" and not choice.scores
    align = 1.0 if is_random else choice.align  # random samples from all pairs
    selection = select(columns.s_0, values, takes_part, align, choice.keep)
    rest = 1 - choice.keep / align
    second = f"scores in {Path(choice.scores).name}" if choice.scores else criterion.reason
    reasons = (
        f"match in the lowest {1 - align:.0%}",
        f"{second} in the lowest {rest:.0%} of the rest",
    )
    return TwoStageResult(
        columns, values, takes_part, selection, refitted, reasons, int(is_edited.sum())
    )


def split_for(store: Store, dataset_id: int, split: str | None) -> str | None:
    """The split that a selection thins: the given one, "all" for every split, otherwise train if it
    exists, so that a benchmark is never thinned by default."""
    if split is not None:
        return None if split == "all" else split
    return "train" if store.read(pair_queries.has_split, dataset_id, "train") else None


def _scores_of(
    store: Store, dataset_id: int, path: Path, ids: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The user's scores of these pairs, higher is better; NaN where the file has none."""
    scores = read_scores(path)
    names = store.read(pair_queries.ids_by_external_id, dataset_id, list(scores.by_id))
    if missing := [name for name in scores.by_id if name not in names]:
        raise SettingsError(
            f"{len(missing)} of {len(scores.by_id)} ids in '{path.name}' are not in the dataset: "
            + ", ".join(f"'{trim(name)}'" for name in missing[:5]) + "."
        )  # fmt: skip
    values = np.full(len(ids), 0.0 if scores.is_list else np.nan)
    for name, pair_id in names.items():
        row = int(np.searchsorted(ids, pair_id))
        if row < len(ids) and ids[row] == pair_id:
            values[row] = scores.by_id[name] * (-1 if scores.says_wrong else 1)
    return values


def _phrase_counts(store: Store, run_id: int, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of testable phrases of each of the pairs `ids` (ascending), [pairs]."""
    with store.reading() as session:
        counts = {
            pair_id: len(kinds) for pair_id, kinds, _ in phrase_queries.iterate(session, run_id)
        }
    return np.array([counts.get(pair_id, 0) for pair_id in ids.tolist()], np.int64)


def _not_measured(name: str, operation: str) -> SettingsError:
    """`operation`: what measures the criterion; "": scoring does."""
    return SettingsError(
        f"'{name}' has not been measured completely{operation and f': {operation}'}.",
        terminal=f"Score it first: python app.py score {name}{operation and f' --{operation}'}",
        page=f"Score it under Add data{operation and ', then measure it there'}.",
    )


def report_on(
    store: Store, dataset_id: int, choice: TwoStage, progress: Progress = no_progress
) -> SelectionReport:
    """Counts, thresholds and losses of a selection."""
    choice_made = choose(store, dataset_id, choice)
    selection = choice_made.selection
    notes = []
    if choice_made.refitted:
        notes.append(f"support was normalised again over the top {choice.align:.0%}")
    by_range = not (
        choice_made.refitted or choice.least_phrases or choice.by == "random" or choice.scores
    )
    if not by_range:
        notes.append("the view holds the first stage only: the second is not a range of a column")
    if len(choice.splits) > 1:
        notes.append("a queue holds one split or all of them: the view holds the other splits too")
    unscored = int(np.isnan(choice_made.columns.s_0[choice_made.takes_part]).sum())
    if unscored and choice.by != "random":
        first = counted(
            unscored,
            "undecided pair has no match: it goes",
            "undecided pairs have no match: they go",
        )
        notes.append(
            f"{first} last, and no queue by match shows {'it' if unscored == 1 else 'them'}"
        )
    if unknown := int(np.isnan(choice_made.values[selection.pool]).sum()):
        first = counted(
            unknown, "pair of the first stage has no", "pairs of the first stage have no"
        )
        last = "goes last" if unknown == 1 else "go last"
        notes.append(f"{first} {choice.criterion} and {last}")
    if choice_made.edited:
        notes.append(
            counted(
                choice_made.edited,
                "undecided caption was edited: it is kept, because its",
                "undecided captions were edited: they are kept, because their",
            )
            + " scores are those of the original text; the queues still go by these scores"
        )
    decided_count = int(np.isin(choice_made.columns.verdicts, (1, 2)).sum())
    if decided_count:
        notes.append(
            counted(
                decided_count,
                "decided pair is not in the view: it is kept or left out by its verdict",
                "decided pairs are not in the view: they are kept or left out by their verdicts",
            )
        )
    keep_line = selection.keep_line if by_range else None
    stays, goes = _queues(choice, selection.align_line, keep_line)
    return SelectionReport(
        dataset_id=dataset_id,
        choice=choice,
        taking_part=int(choice_made.takes_part.sum()),
        pool=int(selection.pool.sum()),
        kept=int(selection.kept.sum()),
        decided=decided_count,
        edited=choice_made.edited,
        align_line=selection.align_line,
        keep_line=selection.keep_line,
        refitted=choice_made.refitted,
        lost=measure_losses(store, dataset_id, choice_made, progress),
        stays=stays,
        goes=goes,
        notes=tuple(notes),
    )


def _queues(
    choice: TwoStage, align_line: float | None, keep_line: float | None
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Queue fields that show the undecided pairs that stay and, by name, those that leave at each
    stage: both thresholds are ranges of a queue. Decided pairs stay or leave by their verdict."""
    criterion = CRITERIA[choice.by]
    column = criterion.column
    where = {"split": choice.splits[0]} if len(choice.splits) == 1 else {}
    measure = MEASURES.get(column)
    # An order with bounds of its own (`queue_form.bounds_of`) would show other pairs.
    order = {} if measure is not None and measure.sound_in else {"order": column}
    stays = {"review": "unreviewed", **where}
    goes: dict[str, dict[str, str]] = {}
    if align_line is not None:
        stays["s_0_from"] = repr(align_line)
        goes["lowest match"] = {**where, "order": "s_0", "s_0_to": _below(align_line)}
    if keep_line is not None and column != "s_0":
        goes[criterion.queue] = {**stays, **order, f"{column}_to": _below(keep_line)}
        stays |= {f"{column}_from": repr(keep_line), **order}
    elif keep_line is not None:
        stays["s_0_from"] = repr(keep_line)
        goes["lowest match"] = {**where, "order": "s_0", "s_0_to": _below(keep_line)}
    return stays, goes


def _below(line: float) -> str:
    """The largest number below a threshold."""
    return repr(float(np.nextafter(line, -np.inf)))


_WORD = re.compile(r"[^\W\d_]+")
_BETWEEN_WORDS = str.maketrans(dict.fromkeys(set(map(chr, range(128))) - set(ascii_letters), " "))


def _words(text: str) -> list[str]:
    """Runs of letters; ASCII texts take a faster path with the same result.

    >>> _words("a man's t-shirt, no. 7"), _words("un café_noir")
    (['a', 'man', 's', 't', 'shirt', 'no'], ['un', 'café', 'noir'])
    """
    return text.translate(_BETWEEN_WORDS).split() if text.isascii() else _WORD.findall(text)


def measure_losses(
    store: Store, dataset_id: int, selection: TwoStageResult, progress: Progress = no_progress
) -> SelectionLosses:
    """The losses of the selection among all captions that took part, read in batches."""
    after: Counter[str] = Counter()
    lost_words: Counter[str] = Counter()
    short = np.zeros(2, np.int64)  # [leaving, staying]
    ids = selection.columns.ids
    images = np.zeros(len(ids), np.int64)
    done = 0
    for batch in store.batches(
        lambda session, after: captions_and_images(session, dataset_id, after, _BATCH),
        itemgetter(0),
    ):
        batch_ids, captions, names = zip(*batch, strict=True)
        # Pairs added in the meantime are not part of the selection.
        listed_ids = np.array(batch_ids, np.int64)
        rows = np.minimum(np.searchsorted(ids, listed_ids), len(ids) - 1)
        is_listed = ids[rows] == listed_ids
        images[rows[is_listed]] = np.fromiter(map(hash, names), np.int64, len(names))[is_listed]
        takes_part = is_listed & selection.takes_part[rows]
        for words, mask, place in (
            (after, takes_part & selection.selection.kept[rows], 1),
            (lost_words, takes_part & ~selection.selection.kept[rows], 0),
        ):
            texts = list(compress(captions, mask.tolist()))
            # All captions of a batch at once: caption by caption, this would be the bottleneck.
            words.update(_words("\n".join(texts).lower()))
            short[place] += sum(text.count(" ") < SHORT for text in texts)
        done += len(batch)
        progress(done, len(ids), "What is lost")
    vanished_words = sorted(lost_words.keys() - after.keys())
    kinds: dict[str, list[int]] = {}
    for word in lost_words.keys() | after.keys():
        tally = kinds.setdefault(kind_of(word), [0, 0])
        tally[0] += lost_words[word] + after[word]
        tally[1] += after[word]
    stays = ~selection.takes_part | selection.selection.kept
    return SelectionLosses(
        kinds={kind: kept_count / count for kind, (count, kept_count) in sorted(kinds.items())},
        short=float(short[1] / short.sum()) if short.any() else None,
        words=len(vanished_words),
        examples=tuple(sorted(sorted(vanished_words, key=lambda w: (-lost_words[w], w))[:5])),
        splits={
            name: float(stays[selection.columns.splits == number].mean())
            for number, name in enumerate(selection.columns.split_names)
            if name
        },
        images=len(np.setdiff1d(images, images[stays])),
    )
