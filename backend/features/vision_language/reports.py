"""What a second opinion will take, and what it gave."""

from dataclasses import dataclass

from backend.counts import count_of
from backend.engine.language_models.spending import Forecast
from backend.jobs.scoring_reports import DryRunQuestion


@dataclass(frozen=True)
class SecondOpinionPlan:
    """What a second opinion will take: `model` at `server` about `pairs` of `total`, by one
    question about a pair of the dataset, which took `seconds_each`."""

    model: str
    server: str
    pairs: int
    total: int
    forecast: Forecast
    seconds_each: float


@dataclass(frozen=True)
class SecondOpinionDryRun:
    """The same without asking, with the first question. `model` "": the only one of the server."""

    model: str
    server: str
    pairs: int
    total: int
    forecast: Forecast
    question: DryRunQuestion
    warning: str = ""

    def in_words(self) -> str:
        first = self.question
        name = f"'{self.model}' at {self.server}" if self.model else self.server
        return (
            f"--- pair {first.external_id}: a JPEG of {first.image_bytes} bytes, and\n"
            f"{first.user}\n\n{name}: {self.pairs:,} of {count_of(self.total, 'pair')}; "
            f"{self.forecast.in_words()}. Nothing was sent. {self.warning}"
        ).rstrip()


@dataclass(frozen=True)
class SecondOpinionReport:
    """Pairs with `new_answers` and with `earlier_answers`: the model `agrees` with some captions
    (P(yes) of at least one half) and `doubts` others. `unanswered`: it said neither yes nor no;
    `left_out`: pictures that cannot be read, and questions that the server refused, with the last
    reason in `problem`; both are asked again next time. `stopped`: why it ended early, "" if it did
    not."""

    dataset_id: int
    run_id: int
    model: str
    server: str
    new_answers: int
    earlier_answers: int
    agrees: int
    doubts: int
    unanswered: int
    left_out: int
    requests: int
    tokens_in: int
    tokens_out: int
    cost: float
    problem: str = ""
    stopped: str = ""

    def in_words(self) -> str:
        """The answers and what they cost."""
        lines = [
            f"Second opinion by '{self.model}': {count_of(self.new_answers, 'pair')} asked about "
            f"now, {self.earlier_answers} before; it agrees with {self.agrees} captions and doubts "
            f"{self.doubts}; {self.unanswered} times it said neither."
        ]
        cost = f"; cost {self.cost:.4f}" if self.cost else ""
        lines.append(
            f"{count_of(self.requests, 'request')}, {self.tokens_in} tokens in, "
            f"{self.tokens_out} out{cost}."
        )
        if self.left_out:
            lines.append(f"{self.left_out} pairs left out, the last because: {self.problem}")
        return "\n".join([*lines, *([self.stopped] if self.stopped else [])])
