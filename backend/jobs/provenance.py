"""Where the captions of an export are from: who or what wrote them and who judged them, for its
rows, its card and what describes it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from backend.counts import count_of
from backend.datasets.caption_writers import Writer, writer_of
from backend.jobs.correction_writers import new_writer
from backend.jobs.export_choice import ExportDecision
from db.authors import AND, is_reserved, person_of
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import PairRow

#: Writers that a card names; the others are counted.
_MOST_WRITERS = 50
#: What the caption of a pair is called that still is the source's, or a part of it.
_OF_THE_SOURCE = ("human", "shortened")


class People:
    """The curators of an export: by their names, or numbered in the order in which they appear."""

    def __init__(self, has_names: bool) -> None:
        self._has_names = has_names
        self._numbers: dict[str, int] = {}

    def name_of(self, person: str) -> str:
        """A curator; "" stays "".

        >>> people = People(has_names=False)
        >>> people.name_of("Ada"), people.name_of("Bob"), people.name_of("Ada"), people.name_of("")
        ('curator 1', 'curator 2', 'curator 1', '')
        """
        if self._has_names or not person:
            return person
        return f"curator {self._numbers.setdefault(person, len(self._numbers) + 1)}"

    def author(self, author: str) -> str:
        """The author of a verdict: a person, a rule or a file.

        >>> People(has_names=False).author("rule: edit by Ada")
        'rule: edit by curator 1'
        """
        person = person_of(author)
        names = AND.join(map(self.name_of, person.split(AND)))
        return author.removesuffix(person) + names if person else author


class Origins:
    """Collects who wrote and who judged the captions of an export, while its rows are written."""

    def __init__(self, dataset: DatasetRow, has_names: bool) -> None:
        self.people = People(has_names)
        self._dataset = dataset
        self._has_names = has_names
        self._judges = Counter[str]()
        self._curators = set[str]()
        self._writers = Counter[Writer | None]()

    def count_pair(self, pair: PairRow) -> None:
        if pair.decision and pair.decided_by:
            self._judges[self.people.author(pair.decided_by)] += 1

    def writer(
        self, pair: PairRow, outcome: ExportDecision, suggestion: tuple[str, str] | None
    ) -> Writer | None:
        """Of the caption that is exported. `suggestion`: proposer and text of the one that the
        verdict accepted, or that is exported without a verdict."""
        writer = writer_of(pair.extra)
        if outcome.kind not in _OF_THE_SOURCE:
            writer = new_writer(pair, outcome.caption, suggestion)
            if writer is not None and (writer.kind == "person" or is_reserved(writer.name)):
                writer = replace(writer, name=self.people.author(writer.name))
                self._curators.add(writer.name)
        self._writers[writer and replace(writer, date="")] += 1
        return writer

    def in_words(self) -> dict[str, str]:
        """Lines for the card."""
        judges = ", ".join(f"{name} ({number:,})" for name, number in self._judges.most_common())
        lines = {"Verdicts by": judges} if judges else {}
        if set(self._writers) != {None}:
            writers = [
                f"{writer.in_words()} ({number:,})" for writer, number in self.named_writers()
            ]
            lines["Captions by"] = ", ".join([*writers, *self._other_captions()])
        if self._dataset.source_digest:
            lines["Digest of the source (SHA-256)"] = self._dataset.source_digest
        return lines

    def judges(self) -> list[str]:
        """Who gave the verdicts, the most frequent first."""
        return [name for name, _ in self._judges.most_common()]

    def named_writers(self) -> list[tuple[Writer, int]]:
        """The most frequent writers whose names may be said, with their captions."""
        return [
            (writer, number)
            for writer, number in self._writers.most_common()
            if writer is not None and self._may_name(writer)
        ][:_MOST_WRITERS]

    def _may_name(self, writer: Writer) -> bool:
        """Whether it is no person of the source, or people are named anyway."""
        return self._has_names or writer.kind != "person" or writer.name in self._curators

    def _other_captions(self) -> Iterator[str]:
        """The other captions, in words."""
        names = {writer for writer, _ in self.named_writers()}
        rest = {w: n for w, n in self._writers.items() if w is not None and w not in names}
        people = [number for writer, number in rest.items() if writer.kind == "person"]
        others = [number for writer, number in rest.items() if writer.kind != "person"]
        if people:
            yield f"{len(people):,} {'person' if len(people) == 1 else 'people'} ({sum(people):,})"
        if others:
            yield f"{count_of(len(others), 'other')} ({sum(others):,})"
        if self._writers[None]:
            yield f"not stated ({self._writers[None]:,})"
