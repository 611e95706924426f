"""Look for faults in the captions of a dataset, and tag the pairs that have them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from backend.engine.constants.constant_search import find_constants
from backend.engine.constants.part import ConstantPart
from backend.features.lint import queries
from backend.features.lint.comparison import COMPARED, FIRST, Comparison
from backend.features.lint.faults import RULES, faults_of
from backend.features.lint.placeholder_pictures import MANY, pairs_of_placeholders
from backend.jobs.batched_reads import read_in_batches
from backend.jobs.notices import notices_of, texts_of
from backend.jobs.scoring.dataset_constants import captions_and_writers
from backend.jobs.shared_pictures import pairs_of_shared_pictures
from backend.jobs.tagging import tag_exactly
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import dataset_queries, pair_queries

#: What is wrong with the picture's splits, not with the caption.
SEVERAL_SPLITS = "several splits"
#: What is wrong with the picture itself.
PLACEHOLDER = "placeholder picture"
#: All faults by name, with what they are.
FAULTS = (
    {name: rule.about for name, rule in RULES.items()}
    | COMPARED
    | {
        SEVERAL_SPLITS: "the picture is in several splits: a test of what training has seen",
        PLACEHOLDER: f"one picture under {MANY} names or more with different captions, such as one "
        "that stands where a picture is gone",
    }
)
#: Captions of each fault that the report shows.
EXAMPLES = 3
#: What the tags of faults begin with.
PREFIX = "lint: "
_AT_ONCE = 5000
#: Longest part of a caption that is shown.
_SHOWN = 120


@dataclass(frozen=True)
class Fault:
    """`examples`: the ids of the first pairs and their captions; `tag`: "" if they have none."""

    name: str
    about: str
    pairs: int
    examples: tuple[tuple[str, str], ...]
    can_be_mended: bool
    tag: str


@dataclass(frozen=True)
class LintReport:
    """`shared_words`: where ("begin" or "end") and with which words most captions begin or end;
    `constants`: what scoring finds in most captions; `languages`: of a dataset in several, with how
    many of its first captions are in each; `notices`: what there is to say of the dataset
    as a whole; `faulty`: pairs with at least one fault."""

    pairs: int
    faults: tuple[Fault, ...]
    shared_words: tuple[tuple[str, str], ...]
    constants: tuple[ConstantPart, ...] = ()
    languages: tuple[tuple[str, int], ...] = ()
    notices: tuple[str, ...] = ()
    faulty: int = 0

    def in_words(self) -> str:
        lines = []
        for fault in self.faults:
            mend = " It can be mended." if fault.can_be_mended else ""
            lines.append(f"{fault.pairs:,} × {fault.name}: {fault.about}.{mend}")
            lines += [f"    {name}: {caption}" for name, caption in fault.examples]
        lines += [f"Most captions {end} with “{words}”." for end, words in self.shared_words]
        lines += [part.in_words() for part in self.constants]
        if self.languages:
            lines.append(languages_in_words(self.languages, self.pairs))
        lines += self.notices
        number = f"{self.faulty:,}" if self.faulty else "None"
        verb = "has" if self.faulty == 1 else "have"
        lines.append(f"{number} of {self.pairs:,} pairs {verb} a fault.")
        if self.faults and not any(fault.tag for fault in self.faults):
            lines.append("None is tagged: lint makes a queue of each fault.")
        return "\n".join(lines)


def languages_in_words(languages: Sequence[tuple[str, int]], pairs: int) -> str:
    """
    >>> languages_in_words([("English", 66), ("German", 28)], 100)
    'Of 100 captions, 66 are in English, 28 in German, by their most usual words.'
    """
    first = f"the first {FIRST:,}" if pairs > FIRST else f"{pairs:,}"
    (language, number), *others = languages
    counts = [f"{number:,} are in {language}", *(f"{n:,} in {name}" for name, n in others)]
    return f"Of {first} captions, {', '.join(counts)}, by their most usual words."


def lint(
    store: Store, dataset_id: int, author: str | None, progress: Progress = no_progress
) -> LintReport:
    """`author`: whose tags they are, None: nothing is tagged. Captions are read twice: what is
    unlike the rest is known when all have been read. The first are read once more for their
    pictures' files."""
    total = store.read(pair_queries.counts, dataset_id).total
    captions = partial(read_in_batches, store, queries.captions_in_use, dataset_id)
    comparison = Comparison()
    for done, row in enumerate(captions(), start=1):
        comparison.learn(row.caption, row.image_path)
        if done % _AT_ONCE == 0:
            progress(done, 2 * total, "Reading captions")
    leaking_ids = pairs_of_shared_pictures(store, dataset_id)
    root = Path(store.read(dataset_queries.get_dataset, dataset_id).root)
    placeholder_ids = pairs_of_placeholders(root, captions)
    ids: dict[str, list[int]] = {name: [] for name in FAULTS}
    examples: dict[str, list[tuple[str, str]]] = {name: [] for name in ids}
    for done, row in enumerate(captions(), start=1):
        splits = (SEVERAL_SPLITS,) if row.id in leaking_ids else ()
        picture = (PLACEHOLDER,) if row.id in placeholder_ids else ()
        compared = comparison.faults_of(row.caption, row.image_path)
        for name in (*faults_of(row.caption), *compared, *splits, *picture):
            ids[name].append(row.id)
            if len(examples[name]) < EXAMPLES:
                examples[name].append((row.external_id, " ".join(row.caption[:_SHOWN].split())))
        if done % _AT_ONCE == 0:
            progress(total + done, 2 * total, "Reading captions")
    if author is not None:
        for name, of_fault in ids.items():
            tag_exactly(store, dataset_id, PREFIX + name, of_fault, author)
    return LintReport(
        comparison.captions,
        tuple(
            Fault(
                name, FAULTS[name], len(of_fault), tuple(examples[name]),
                name in RULES and RULES[name].mend is not None,
                PREFIX + name if author is not None else "",
            )
            for name, of_fault in sorted(ids.items(), key=lambda each: -len(each[1]))
            if of_fault
        ),
        tuple(comparison.shared_words()),
        find_constants(partial(captions_and_writers, store, dataset_id), total),
        tuple(comparison.languages()),
        texts_of(notices_of(store, dataset_id)),
        faulty=len(set().union(*ids.values())),
    )  # fmt: skip
