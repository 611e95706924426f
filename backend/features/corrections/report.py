"""What is told of a queue that was corrected."""

from dataclasses import dataclass

from backend.counts import count_of
from backend.jobs.scoring_reports import QueueReport


@dataclass(frozen=True, kw_only=True)
class CorrectionReport(QueueReport):
    """`outcomes`: *offered*, *no better*, *unchanged*, *refused*, *unreadable*, *asked before*,
    *not scored*, *image unreadable*, and those of `asking.reason_to_skip`. `accepted`: by the
    rule."""

    proposer: str
    accepted: int
    rule: str | None

    def in_words(self) -> str:
        outcomes = self.outcomes_in_words() or "none left"
        lines = [f"{self.proposer}: {count_of(self.looked_at, 'pair')}; {outcomes}."]
        if self.requests or self.answers_kept:
            lines.append(self.requests_in_words())
        if self.rule is not None:
            lines.append(f"{self.accepted} accepted by the {self.rule}.")
        return "\n".join([*lines, *filter(None, (self.stopped, self.warning))])
