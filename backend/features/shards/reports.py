"""What scoring, drawing from and selecting shards report."""

from dataclasses import dataclass

from backend.counts import count_of
from db.queries.dataset_queries import ProblemRow

#: Faults of shards that the words list.
_LISTED = 20


@dataclass(frozen=True)
class ShardsReport:
    """Scores in files: all `shards` of a source, those scored by this command, and their pairs.
    `left_out`: rows and pictures that cannot be used; `failed`: shards, each with the reason;
    `stale`: files with the results of shards that are gone or cannot be read any more; `set_aside`:
    pairs whose captions are not judged one by one, because of the `faults` of shards as a whole."""

    shards: int
    scored_now: int
    pairs: int
    left_out: int
    failed: tuple[str, ...]
    out: str
    stale: tuple[str, ...] = ()
    set_aside: int = 0
    faults: tuple[str, ...] = ()
    learnt: str = ""  #: what their detector has learnt from verdicts, in words

    def in_words(self) -> str:
        lines = [
            f"{self.scored_now} of {count_of(self.shards, 'shard')} scored now; "
            f"{count_of(self.pairs)} in {self.out}, {self.left_out} left out.",
            *([f"{count_of(len(self.failed), 'shard')} failed:"] if self.failed else []),
            *(f"  {failure}" for failure in self.failed),
            *(f"Set aside, as its shard is gone or broken: {name}" for name in self.stale),
            *self._fault_lines(),
        ]
        return "\n".join(lines)

    def _fault_lines(self) -> list[str]:
        if not self.faults:
            return []
        more = len(self.faults) - _LISTED
        return [
            *self.faults[:_LISTED],
            *([f"… and {count_of(more, 'shard')} more."] if more > 0 else []),
            f"{count_of(self.set_aside, 'pair')} of these shards are left out where pairs are "
            "drawn or selected, until the source is mended.",
        ]


@dataclass(frozen=True)
class DrawReport:
    """Pairs drawn from the results of shards: `pairs` in all of them, `added` to the dataset now,
    `already_there`, and `problems` left out for their pictures; `set_aside`: pairs that are not
    drawn, because their shard as a whole has a fault."""

    dataset_id: int
    name: str
    pairs: int
    added: int
    already_there: int
    problems: int
    first_problems: tuple[ProblemRow, ...] = ()
    set_aside: int = 0

    def in_words(self) -> str:
        aside = f" {_set_aside_in_words(self.set_aside)}" * bool(self.set_aside)
        return (
            f"Dataset '{self.name}': {self.added} of {count_of(self.pairs)} added with scores, "
            f"{self.already_there} there already, {self.problems} left out.{aside}"
        )


@dataclass(frozen=True)
class ShardSelection:
    """Shards written without what was left out, `written_now` of them by this command, which
    `kept` pairs, `corrected` among them, and `left_out` others; `decided` of them by the
    `decisions` of a list; `set_aside`: those left out because their shard as a whole has a
    fault."""

    shards: int
    written_now: int
    kept: int
    corrected: int
    left_out: int
    decided: int
    decisions: int
    out: str
    set_aside: int = 0
    level_note: str = ""  #: why the threshold cannot be trusted; "" if it can, or without one

    def in_words(self) -> str:
        return (
            f"{self.written_now} of {count_of(self.shards, 'shard')} written to {self.out} now: "
            f"{count_of(self.kept)} kept ({self.corrected:,} corrected), {self.left_out:,} left "
            f"out; {self.decided:,} of {count_of(self.decisions, 'decision')} used."
            + f" {_set_aside_in_words(self.set_aside)}"
            * bool(self.set_aside)
        )


def _set_aside_in_words(count: int) -> str:
    verb = "is" if count == 1 else "are"
    return f"{count_of(count, 'pair')} {verb} set aside: their shards have faults as a whole."
