"""Verdicts from a file of labels: previewed, then given with the file as their author.

A verdict that a person or a rule has given here is never overwritten: it agrees with the label, or
the difference is reported.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from uuid import uuid4

from sqlalchemy.orm import Session

from backend.counts import counts_in_words
from backend.datasets.cells import BadCell, split_proof, trim
from backend.datasets.safe_files.containers import SEPARATOR
from backend.datasets.safe_files.foreign_names import ForeignNames, NamesByFolder
from backend.errors import DatasetFormatError, SettingsError
from backend.features.label_files import queries
from backend.features.label_files.label_file import Label, labels_of
from backend.features.label_files.label_studio import EMPTY, SKIPPED
from backend.review.verdicts import LONGEST_EDIT, LONGEST_NOTE, in_parts
from backend.store import Store
from db.authors import AND, is_of_file, label_author
from db.decisions import AT_RANDOM, is_wrong
from db.queries import curator_queries, opinion_queries, pair_queries, undo_queries, verdict_queries
from db.queries.blind_review import hidden_pairs, several_judge
from db.queries.pair_queries import PairRow
from db.queries.verdict_acts import VerdictRow
from db.queries.verdict_queries import NewVerdict
from db.texts import is_blank

#: Number of rows of each kind that a report lists.
_MOST_SHOWN = 20
#: Labels whose pairs are looked up together.
_AT_ONCE = 1000
#: Of the name of a person in a file.
_LONGEST_NAME = 80
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class LabelProblem:
    """A row that gives no verdict: its number, the key in it, and why."""

    row: int | None
    key: str
    message: str


@dataclass(frozen=True)
class LabelReport:
    """Effect of a file of labels.

    `by_decision`: verdicts that were, or would be, given; `agreeing`: labels of pairs that have
    this verdict already; `empty`: rows without a verdict, but those of Label Studio that were
    `skipped`, or `reviewed` without an answer; `conflicts`: labels that contradict a
    verdict given here; `problems`: rows that cannot be used. Only the first of both are listed,
    `conflict_count` and `problem_count` count all. `one_means`: what 1 and yes mean in the file.
    `secret`: labels of pairs about which the reader may not know what others said (see
    `db.queries.blind_review`); they are left to people.
    """

    dataset_id: int
    author: str
    one_means: str
    by_decision: dict[str, int]
    agreeing: int
    empty: int
    conflict_count: int
    problem_count: int
    conflicts: tuple[LabelProblem, ...]
    problems: tuple[LabelProblem, ...]
    secret: int = 0
    skipped: int = 0
    reviewed: int = 0
    passed_over: int = 0
    is_preview: bool = True


def apply_labels(
    store: Store,
    dataset_id: int,
    path: Path,
    key: str | None = None,
    verdict: str | None = None,
    one_means: str | None = None,
    preview: bool = True,
    name: str = "",
    at_random: bool = False,
) -> LabelReport:
    """Give the verdicts of a file, in one transaction with one undo (`undo_labels`); with `preview`
    only report them. `key`, `verdict`: columns, found by their names if None; `one_means`: "right"
    or "wrong", by default as the column's name says, else wrong. `name`: of the file, if it was
    uploaded under another; `at_random`: its pairs were drawn at random from the dataset, so that a
    detector learns the most from them.

    Raises SettingsError for a file that cannot be read, with the reason.
    """
    if one_means not in (None, "right", "wrong"):
        raise SettingsError(f"1 means 'right' or 'wrong', not '{one_means}'.")
    file = name or path.name
    try:
        columns, labels = labels_of(path, key, verdict, one_means)
        work = _Labels(store, dataset_id, file, columns.by_picture, at_random)
        while part := list(islice(labels, _AT_ONCE)):
            work.add(part)
    except OSError as problem:
        raise SettingsError(f"'{path}' cannot be read: {problem.strerror or problem}.") from problem
    except DatasetFormatError as problem:
        raise SettingsError(str(problem)) from problem
    report = work.report("right" if columns.one_means_right else "wrong")
    if preview or not work.verdicts:
        return report
    passed_over, batch = 0, uuid4().hex
    with store.writing(large=True) as session:
        for (_, author), verdicts in sorted(work.verdicts.items()):
            outcome = verdict_queries.add_all(session, verdicts, author=author, batch=batch)
            passed_over += len(outcome.passed_over)
    return replace(report, passed_over=passed_over, is_preview=False)


def report_lines(report: LabelReport) -> list[str]:
    """The report in words: the first conflicts and problems, and the numbers."""
    label_count = sum(report.by_decision.values()) - report.passed_over
    counts = ", ".join(f"{n:,} {decision}" for decision, n in report.by_decision.items())
    verb = "would become" if report.is_preview else "are now"
    rest = counts_in_words(
        (
            (report.agreeing, "agree with the verdict here"),
            (report.empty, "have no verdict"),
            (report.skipped, "were skipped"),
            (report.reviewed, "were reviewed without an answer"),
            (report.conflict_count, "contradict a verdict here, which stays"),
            (report.secret, "need the verdict of each person, so this list gives none"),
            (report.problem_count, "cannot be used"),
            (report.passed_over, "were decided by others meanwhile"),
        )
    )
    return [
        *(
            f"Row {problem.row}, {problem.key or 'no id'}: {problem.message}"
            for problem in (*report.conflicts, *report.problems)
        ),
        f"{label_count:,} labels {verb} verdicts{': ' if counts else ''}{counts}.",
        *([f"Of the others, {rest}."] if rest else []),
        f"1, true and yes were read as {report.one_means}.",
    ]


def undo_labels(store: Store, dataset_id: int, file: str) -> VerdictRow | None:
    """Undo what the newest file of this name has decided, where it is still in effect; None if
    there is nothing."""
    undone = None
    while newest := store.read(queries.newest_label, dataset_id, file):
        author, batch = newest
        if undone is not None and batch != undone.batch:
            break
        part = in_parts(store, partial(_undo_last, dataset_id=dataset_id, author=author))
        if part is None:
            break
        # Of two readings of a pair the later one is in effect, and then the earlier one again.
        undone = replace(part, together=part.together + (undone.together if undone else 0))
    return undone


def _undo_last(
    session: Session, rest: VerdictRow | None, dataset_id: int, author: str
) -> VerdictRow | None:
    return undo_queries.undo_last(session, dataset_id, author, rest_of=rest)


class _Labels:
    """The verdicts that follow from labels, read one after another."""

    def __init__(
        self, store: Store, dataset_id: int, file: str, by_picture: bool, at_random: bool
    ) -> None:
        self._sampling = AT_RANDOM if at_random else ""
        self._store, self._dataset_id, self._file = store, dataset_id, file
        #: By how many the pair gets before, and by their author.
        self.verdicts: dict[tuple[int, str], list[NewVerdict]] = {}
        self._numbers = Counter[int]()
        #: The pairs that several people judge.
        self._shared: set[int] = set()
        #: The row of the label of each pair, and of each of its readings by their readers.
        self._rows: dict[tuple[int, str], int | None] = {}
        with store.reading() as session:
            self._accounts = {
                account.name.casefold(): account.name
                for account in curator_queries.list_curators(session)
            }
        self._tally: Counter[str] = Counter()
        self._lists: defaultdict[str, list[LabelProblem]] = defaultdict(list)
        self._by_picture = by_picture
        self._pictures: _Pictures | None = None

    def add(self, labels: Sequence[Label]) -> None:
        if not self._by_picture:
            pairs, secret = self._pairs_of(labels, None)
            # An id of another program: the pair is told by its picture and caption.
            rest = [
                label for label in labels
                if label.picture and label.original and label.key not in pairs
            ]  # fmt: skip
            others = [label for label in labels if label not in rest]
            self._add_all(others, pairs, secret)
            labels = [replace(label, key=label.picture) for label in rest]
        if not labels:
            return
        if self._pictures is None:
            self._pictures = _Pictures(self._store, self._dataset_id)
        labels = self._pictures.match_names(labels)
        pairs, secret = self._pairs_of(labels, self._pictures)
        if not self._by_picture:
            pairs = {key: [p for p in of_key if any(
                label.key == key and label.original == p.caption for label in labels
            )] for key, of_key in pairs.items()}  # fmt: skip
        self._add_all(labels, pairs, secret)

    def _add_all(
        self, labels: Sequence[Label], pairs: Mapping[str, list[PairRow]], secret: set[int]
    ) -> None:
        for label in labels:
            of_key = _with_caption(pairs.get(label.key, []), label.original)
            if label.readings and len(of_key) == 1 and of_key[0].id in self._shared - secret:
                for reading in label.readings:
                    if reading.decision or reading.problem:
                        self._add_all([reading], pairs, secret)
            elif label.problem:
                self._list("problems", label, label.problem)
            elif not label.decision:
                self._tally[label.state if label.state in (SKIPPED, EMPTY) else "empty"] += 1
            elif not of_key:
                self._list("problems", label, "The dataset has no such pair.")
            elif len(of_key) > 1:
                message = f"{len(of_key)} pairs have this picture; use their ids."
                self._list("problems", label, message)
            elif of_key[0].id in secret:
                self._tally["secret"] += 1
            else:
                self._add(label, of_key[0])

    def _pairs_of(
        self, labels: Sequence[Label], pictures: "_Pictures | None"
    ) -> tuple[dict[str, list[PairRow]], set[int]]:
        """The pairs of each key that has some, and those about which the reader may not know what
        others said. `pictures`: the keys are names of these."""
        keys = [label.key for label in labels]
        with self._store.reading() as session:
            if pictures is None:
                ids = pair_queries.ids_by_external_id(session, self._dataset_id, keys)
                ids_of = {key: [pair_id] for key, pair_id in ids.items()}
            else:
                ids_of = {key: pictures.ids.get(key, []) for key in keys}
            pair_ids = [pair_id for ids in ids_of.values() for pair_id in ids]
            pairs = {pair.id: pair for pair in pair_queries.pairs_of(session, pair_ids)}
            secret = hidden_pairs(session, pair_ids)
            self._shared |= several_judge(session, pair_ids)
        return {key: [pairs[i] for i in ids if i in pairs] for key, ids in ids_of.items()}, secret

    def _add(self, label: Label, pair: PairRow) -> None:
        decision = label.decision
        is_new = label.caption != pair.caption and not is_blank(label.caption)
        caption = label.caption if is_new else ""
        if caption and decision in ("wrong", "correction"):
            decision = "correction"
        elif caption:
            self._list("problems", label, "Its caption is not the one of the pair.")
            return
        elif decision == "correction":
            self._list("problems", label, "It has no corrected caption.")
            return
        if len(caption) > LONGEST_EDIT or len(label.note) > LONGEST_NOTE:
            self._list("problems", label, "Its caption or its note is too long.")
        elif (earlier := (pair.id, self._reader_of(label, pair))) in self._rows:
            self._list("problems", label, f"Row {self._rows[earlier]} labels the same pair.")
        else:
            self._rows[earlier] = label.row
            self._decide(label, pair, decision, caption or None)

    def _reader_of(self, label: Label, pair: PairRow) -> str:
        """The person whose reading the label is, if several people judge the pair; else ""."""
        return self._person(label) if len(label.people) == 1 and pair.id in self._shared else ""

    def _person(self, label: Label) -> str:
        """Who gave the label: the names of accounts where there are some, else those in the file;
        "" if nobody is named."""
        return AND.join(self._account(names) for names in label.people)

    def _account(self, names: Sequence[str]) -> str:
        """Of a person, by one of the names in the file; without an account, the first of these."""
        accounts = (self._accounts.get(name.casefold()) for name in names)
        name = next(filter(None, accounts), names[0])
        return _CONTROLS.sub("\ufffd", trim(name, _LONGEST_NAME)).replace(AND, "+")

    def _decide(self, label: Label, pair: PairRow, decision: str, caption: str | None) -> None:
        author = label_author(self._file, self._person(label))
        is_own = is_of_file(pair.decided_by, self._file)
        if self._reader_of(label, pair) and (is_own or pair.decision is None):
            is_known = is_own and (decision, caption) == self._opinion(pair.id, author)
        else:
            is_same = (pair.decision, pair.corrected_caption) == (decision, caption)
            is_other = pair.decision is not None and not is_own
            is_known = is_same or (is_other and _agree(pair, decision))
        if is_known:
            self._tally["agreeing"] += 1
        elif pair.decision is not None and not is_own:
            self._list(
                "conflicts", label,
                f"The file says {decision}, {pair.decided_by} has said {pair.decision}.",
            )  # fmt: skip
        else:
            self._tally[decision] += 1
            number = self._numbers[pair.id]
            self._numbers[pair.id] += 1
            verdict = NewVerdict(
                pair.id,
                pair.verdict_version + number,
                decision,
                caption,
                label.note,
                self._sampling,
            )
            self.verdicts.setdefault((number, author), []).append(verdict)

    def _opinion(self, pair_id: int, author: str) -> tuple[str, str | None] | None:
        with self._store.reading() as session:
            opinions = opinion_queries.of_pair(session, pair_id)
        readings = (each for each in opinions if each.author == author)
        return next(((each.decision, each.corrected_caption) for each in readings), None)

    def _list(self, kind: str, label: Label, message: str) -> None:
        self._tally[kind] += 1
        if len(self._lists[kind]) < _MOST_SHOWN:
            self._lists[kind].append(LabelProblem(label.row, label.key[:120], message))

    def report(self, one_means: str) -> LabelReport:
        counts = Counter(each.decision for part in self.verdicts.values() for each in part)
        return LabelReport(
            self._dataset_id, label_author(self._file), one_means, dict(counts),
            self._tally["agreeing"], self._tally["empty"],
            self._tally["conflicts"], self._tally["problems"],
            tuple(self._lists["conflicts"]), tuple(self._lists["problems"]),
            self._tally["secret"], self._tally[SKIPPED], self._tally[EMPTY],
        )  # fmt: skip


def _with_caption(pairs: list[PairRow], caption: str) -> list[PairRow]:
    """Of several pairs of a picture the one with the caption, if that is one."""
    matches = [pair for pair in pairs if pair.caption == caption]
    return matches if len(matches) == 1 else pairs


def _agree(pair: PairRow, decision: str) -> bool:
    """Whether a label says no more than the verdict: both call the caption wrong, or both right."""
    if is_wrong(pair.judgement) and decision == "wrong":
        return True
    return decision == "correct" and pair.judgement in ("correct", "enriched")


class _Pictures:
    """The pictures of a dataset by their places in it, and by the names of members in archives."""

    def __init__(self, store: Store, dataset_id: int) -> None:
        #: Pair ids.
        self.ids: defaultdict[str, list[int]] = defaultdict(list)
        with store.reading() as session:
            for path, pair_ids in pair_queries.ids_by_picture(session, dataset_id).items():
                place = split_proof(path)[0]
                for name in filter(None, (place, _member_name(place))):
                    self.ids[name] += pair_ids
        self._names = ForeignNames(NamesByFolder(self.ids))
        self._is_learnt = False

    def match_names(self, labels: Sequence[Label]) -> list[Label]:
        """The labels, with the pictures' names as they are in the dataset."""
        if not self._is_learnt:
            self._names.learn([label.key for label in labels])
            self._is_learnt = True
        return [self._match_name(label) for label in labels]

    def _match_name(self, label: Label) -> Label:
        try:
            match = self._names.find(label.key)
        except BadCell as problem:
            return replace(label, problem=label.problem or f"{problem}.")
        return replace(label, key=match[0]) if match else label


def _member_name(place: str) -> str:
    """The name that a picture has inside its archive, with slashes; "" outside of archives.

    >>> [_member_name(place) for place in ("a.tar!/1536+20480/x/1.jpg", "a.zip!/2.jpg", "3.jpg")]
    ['x/1.jpg', '2.jpg', '']
    """
    outer, separator, inner = place.partition(SEPARATOR)
    ending = PurePosixPath(outer).suffix.lower()
    if not separator or ending not in (".tar", ".zip"):
        return ""
    return (inner.partition("/")[2] if ending == ".tar" else inner).replace("\\", "/")
