"""How many errors are left: what the verdicts on randomly chosen pairs say, or else the model.

Review, Progress, the command line and the card of an export say it in the words of `ErrorsLeft`.
"""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from backend.counts import count_of
from backend.engine.statistics.stopping import ENOUGH, Remaining, remaining_errors
from backend.progress import duration
from db.queries import plot_queries as plots

#: The share of all errors that may remain when a review is nearly done.
FEW = 0.05


@dataclass(frozen=True)
class ErrorsLeft:
    """Errors among the `undecided` pairs. `estimate`: from `sample` pairs that were chosen at
    random, None until there are enough of them. `expected`: what the chances of error add up to,
    None if they are no figures, or if there are none; `unscored` pairs have none. `pairs`: from the
    head of the queue, among which the model expects nine in ten of the errors; `seconds`: the time
    for them, at the pace of the newest verdicts; `set_aside`: pairs that are counted nowhere here
    until what a notice says of them is mended."""

    undecided: int
    expected: float | None
    sample: int
    estimate: Remaining | None
    pairs: int = 0
    seconds: float = 0.0
    unscored: int = 0
    set_aside: int = 0

    @property
    def errors(self) -> float | None:
        """The best number there is; None: nobody knows."""
        if not self.undecided:
            return 0.0
        return self.expected if self.estimate is None else self.estimate.errors

    @property
    def trusts_the_model(self) -> bool:
        """Whether the number rests on the chances of error alone."""
        return bool(self.undecided) and self.estimate is None and self.expected is not None

    def is_few(self, errors_found: int) -> bool:
        """Whether hardly any is left, beside as many as have been found.

        >>> [ErrorsLeft(100, 4.0, 0, None).is_few(count) for count in (0, 90, 10)]
        [False, True, False]
        """
        if self.errors is None:
            return False
        return errors_found > 0 and self.errors < max(1.0, FEW * (errors_found + self.errors))

    @property
    def figure(self) -> str:
        """
        >>> ErrorsLeft(600, 220.2, 0, None).figure, ErrorsLeft(600, None, 0, None).figure
        ('about 220', 'not known')
        """
        if self.errors is None:
            return "not known"
        if self.errors < 0.5:
            return "hardly any" if self.undecided else "0"
        return f"about {self.errors:,.0f}"

    @property
    def basis(self) -> str:
        """What the figure rests on."""
        if not self.undecided:
            return "No pair is left to decide."
        if self.estimate is not None:
            low, high = self.estimate.low, self.estimate.high
            return (
                f"{low:,.0f} to {high:,.0f} with 95 % confidence, by {self.sample:,} randomly "
                "chosen pairs."
            )
        so_far = f" ({self.sample:,} so far)" if self.sample else ""
        wanted = "an estimate" if self.expected is None else "a check"
        if self.sample + self.undecided >= ENOUGH:
            purpose = "For an estimate" if self.expected is None else "To check it"
            request = f"{purpose}, decide {ENOUGH} randomly chosen pairs{so_far}."
        elif self.undecided == 1:
            request = f"1 pair is too few for {wanted}: decide it."
        else:
            request = f"{self.undecided} pairs are too few for {wanted}: decide them all."
        if self.expected is None:
            return request
        counts = [count_of(self.unscored, "unscored pair")] * bool(self.unscored)
        if self.set_aside:
            counts.append(f"{count_of(self.set_aside, 'pair')} that a notice is about")
        partly = f" Not counted: {' and '.join(counts)}." if counts else ""
        return f"Estimated by the model alone. {request}{partly}"

    @property
    def effort(self) -> str:
        """Where the model expects most of them; "" if it does not know."""
        if not self.pairs or self.errors is None or self.errors < 0.5:
            return ""
        pairs = count_of(rough(self.pairs), "pair")
        by = "" if self.trusts_the_model else ", by the model"
        return f"nine in ten of them in the next {pairs}, {duration(self.seconds)}{by}"

    def in_words(self) -> str:
        """
        >>> ErrorsLeft(600, None, 3, None).in_words()
        'Errors left: not known. For an estimate, decide 30 randomly chosen pairs (3 so far).'
        """
        effort = f", {self.effort}" if self.effort else ""
        return f"Errors left: {self.figure}{effort}. {self.basis}"


def estimate_left(session: Session, dataset_id: int, undecided_count: int) -> ErrorsLeft:
    """Among the dataset's `undecided_count` pairs without a verdict, by randomly chosen pairs."""
    reached = plots.review_progress(session, dataset_id)
    remaining = remaining_errors(
        reached.point, reached.below, reached.sample, reached.wrong_in_sample,
        reached.errors_found, undecided_count=undecided_count,
    )  # fmt: skip
    return errors_left_by(remaining, undecided_count)


def errors_left_by(remaining: Remaining | None, undecided_count: int) -> ErrorsLeft:
    """`remaining` where enough pairs tell of it."""
    if remaining is None:
        return ErrorsLeft(undecided_count, None, 0, None)
    estimate = remaining if remaining.is_enough else None
    return ErrorsLeft(undecided_count, None, remaining.sample, estimate)


def rough(count: int) -> int:
    """
    >>> rough(7), rough(74), rough(297), rough(12345)
    (7, 74, 300, 12000)
    """
    return round(count, min(0, 2 - len(str(count))))
