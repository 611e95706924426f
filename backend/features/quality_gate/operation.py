"""`check`: may the dataset be used, or are too many of its captions wrong?"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from xml.etree import ElementTree as ET

from pydantic import Field

from backend.errors import NOTICED, NotFound
from backend.features.quality_gate.acceptance import Outcome, more_to_draw, outcome_of
from backend.operations.operation import Operation
from backend.options import CommandLine, Options, parse_share, switch
from backend.progress import Progress

if TYPE_CHECKING:
    from backend.operations.context import Context


class CheckOptions(Options):
    """Check that at most a given share of the captions is wrong, from verdicts on pairs drawn at
    random. No model is needed.

    Counted is what an export would write now: captions that were corrected or left out are errors
    no longer. Exit status 0: passed; 1: failed; 4: there are not enough verdicts, and the report
    says how many more are needed. It may be repeated after any number of verdicts: a wrong answer
    is no likelier for that.
    """

    at_most: Annotated[str, CommandLine(metavar="SHARE")]
    """Largest share of wrong captions, such as 2%."""

    confidence: float = Field(0.95, gt=0.5, lt=1)
    """How sure the answer has to be: a wrong one has at most one minus this as its probability."""

    split: str | None = None
    """Only the pairs of this split."""

    separate_splits: Annotated[bool, switch("separate-splits")] = False
    """Fail as well if a picture that would be exported is in several splits."""
    heed_notices: bool = False
    """Fail as well, with exit status 13, if there is something to say of the dataset as a whole,
    such as captions that stand beside the pictures of other rows."""


#: By exit status.
STATUS: dict[Outcome, int] = {"passed": 0, "failed": 1, "undecided": 4}


@dataclass(frozen=True)
class CheckReport:
    """`pairs`: captions that an export would write; `allowed`: how many of them may be wrong;
    `errors`: an estimate, None without a verdict at random, `low` to `high` with the `confidence`
    of both ends together, while the outcome needs one end alone; `sample`: verdicts at random,
    `wrong_in_sample` of which found an error; `more`: verdicts at random that would decide it, if
    errors go on as they have been. `shared_pictures`: those in several splits; `is_split_apart`:
    none are, or it was not asked. `notices`: what there is to say of the dataset as a whole, which
    is a failure if it `heeds_notices`."""

    outcome: Outcome
    dataset: str
    split: str | None
    pairs: int
    allowed: int
    confidence: float
    sample: int
    wrong_in_sample: int
    errors: float | None
    low: int
    high: int
    more: int
    shared_pictures: int = 0
    is_split_apart: bool = True
    notices: tuple[str, ...] = ()
    heeds_notices: bool = False

    @property
    def exit_status(self) -> int:
        if not self.is_split_apart:
            return STATUS["failed"]
        is_noticed = bool(self.heeds_notices and self.notices)
        return STATUS[self.outcome] or (NOTICED if is_noticed else 0)

    def in_words(self) -> str:
        leak = f" Failed: {self.leak}" if not self.is_split_apart else f" {self.leak}"
        return "\n".join((f"{self.share_in_words()}{leak}".rstrip(), *self.notices))

    @property
    def leak(self) -> str:
        """About pictures in several splits; "" without any."""
        if not self.shared_pictures:
            return ""
        are = "picture is" if self.shared_pictures == 1 else "pictures are"
        return f"{self.shared_pictures:,} {are} in several splits."

    def share_in_words(self) -> str:
        of = f"'{self.dataset}'" + (f", split '{self.split}'" if self.split is not None else "")
        limit = f"at most {self.allowed:,} of {self.pairs:,} captions may be wrong"
        evidence = f"{self.wrong_in_sample:,} of {self.sample:,} drawn at random were"
        if self.outcome != "undecided":
            answer = "Passed" if self.outcome == "passed" else "Failed"
            return f"{answer} ({self.confidence:.0%}): {of}: {limit}; {evidence}."
        return (
            f"Not enough verdicts: {of}: {limit}; {evidence}, so {self.low:,} to {self.high:,} may "
            f"be left ({self.confidence:.0%}). Judge about {self.more:,} more in the order "
            "'random', then check again."
        )

    def as_junit(self) -> str:
        """One test case, failed or skipped for lack of verdicts, and a failed one for pictures in
        several splits."""
        suite = ET.Element("testsuite", name="traced", tests="1")
        about = {"classname": self.dataset, "name": "share of errors"}
        case = ET.SubElement(suite, "testcase", about)
        kind = {"failed": "failure", "undecided": "skipped"}.get(self.outcome)
        if self.exit_status == NOTICED:
            kind = "failure"
        suite.set("failures", str(int(kind == "failure")))
        suite.set("skipped", str(int(kind == "skipped")))
        if kind is not None:
            ET.SubElement(case, kind, message=self.share_in_words())
        if not self.is_split_apart:
            suite.set("tests", "2")
            suite.set("failures", str(int(kind == "failure") + 1))
            about = {"classname": self.dataset, "name": "pictures in one split"}
            ET.SubElement(ET.SubElement(suite, "testcase", about), "failure", message=self.leak)
        return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def run(
    context: "Context", dataset_id: int, options: CheckOptions, progress: Progress
) -> CheckReport:
    from backend.features.quality_gate.exported import exported_errors
    from backend.jobs.notices import notices_of, texts_of
    from backend.jobs.shared_pictures import shared_pictures
    from db.queries import dataset_queries

    share = parse_share(options.at_most)
    with context.store.reading() as session:
        dataset = dataset_queries.get_dataset(session, dataset_id).name
    counts = exported_errors(context.store, dataset_id, options.split)
    if not counts.total:
        of = f" in the split '{options.split}'" if options.split is not None else ""
        raise NotFound(f"'{dataset}' has no pairs{of}.")
    shared = shared_pictures(context.store, dataset_id, is_exported=True).pictures
    allowance, sample = math.floor(share * counts.pairs), counts.sample
    limit = allowance + counts.mended
    low, high = counts.interval(options.confidence)
    return CheckReport(
        outcome_of(sample, limit, options.confidence),
        dataset,
        options.split,
        counts.pairs,
        allowance,
        options.confidence,
        sample.drawn,
        sample.wrong,
        counts.estimate,
        low,
        high,
        more_to_draw(sample, limit, options.confidence),
        shared,
        not (options.separate_splits and shared),
        texts_of(notices_of(context.store, dataset_id)),
        options.heed_notices,
    )


CHECK = Operation("check", "Counting errors", CheckOptions, run, uses=())
