"""What measuring specificity, making bags and enriching report."""

from dataclasses import dataclass
from pathlib import Path

from backend.counts import count_of, counted
from backend.jobs.scoring_reports import DryRun, QueueReport


@dataclass(frozen=True)
class SpecificityReport:
    """`measured` of `pairs`; `retrieved`: captions that rank their own image first, among at most
    `of` similar ones. `likeness`: mean cosine of these with the caption's own image; `easy`: it is
    so low that `retrieved` says little. `pool` of `pictures` were searched; `by`: the scorer whose
    vectors were used."""

    dataset_id: int
    run_id: int
    pairs: int
    measured: int
    retrieved: int
    of: int
    likeness: float | None
    easy: bool
    pool: int
    pictures: int
    by: str

    def in_words(self) -> str:
        if not self.measured:
            return "Specificity: no picture of this dataset has a vector."
        text = (
            f"Specificity of {count_of(self.measured, 'caption')} by {self.by}: {self.retrieved} "
            f"rank their own image first among {self.of} similar ones."
        )
        if self.pool < self.pictures:
            text += f" Searched among {self.pool:,} of {self.pictures:,} pictures."
        if self.easy:
            text += (
                " Easy: the pictures of this dataset are dissimilar (mean cosine "
                f"{self.likeness or 0:.2f})."
            )
        return text


@dataclass(frozen=True)
class BagsReport:
    """`bags`: number of bags by size; `pictures`: in the dataset; `struck`: left out on request."""

    dataset_id: int
    out: Path
    pictures: int
    bags: dict[int, int]
    struck: int

    def in_words(self) -> str:
        counts = ", ".join(f"{count} of {size}" for size, count in self.bags.items())
        struck = f" {counted(self.struck, 'was', 'were')} struck." if self.struck else ""
        return (
            f"Bags of {count_of(self.pictures, 'picture')}: {counts}. Written to {self.out}."
            f"{struck} Contact sheet: {self.out / 'bags.html'}"
        )


@dataclass(frozen=True, kw_only=True)
class BoostReport(QueueReport):
    """`outcomes`: *offered*, *no better*, *refused by the guard*, *looks wrong*, *nothing to
    blend*, *unreadable*, *asked before*, …; `struck`: phrases that the guard removed.
    `calibrated_on`: number of phrases of people's captions that the guard's rule was fitted to, 0
    for the default rule."""

    struck: int
    calibrated_on: int = 0

    def in_words(self) -> str:
        return (
            f"{count_of(self.looked_at, 'pair')}: {self.outcomes_in_words() or 'none'}. "
            f"{count_of(self.struck, 'invented phrase')} removed. {self.requests_in_words()} "
            f"{self._calibration()} {self.stopped} {self.warning}"
        ).rstrip()

    def _calibration(self) -> str:
        """The basis of the guard's rule, in a sentence; "" if it judged nothing."""
        if not {"offered", "no better", "refused by the guard"}.intersection(self.outcomes):
            return ""
        if not self.calibrated_on:
            return "Too few captions to calibrate the guard on: it used its default rule."
        phrases = f"{self.calibrated_on} phrases of the dataset's captions"
        return f"The guard was calibrated on {phrases}."


@dataclass(frozen=True)
class BoostDryRun(DryRun):
    """`pictures_to`, `captions_to`: the servers that would get them; None: they stay on this
    machine."""

    pictures_to: str | None
    captions_to: str | None

    def in_words(self) -> str:
        """With what goes to which server."""
        pictures, captions = (
            f"{what}s go to {server}." if server else f"No {what.lower()} leaves this machine."
            for what, server in (("Picture", self.pictures_to), ("Caption", self.captions_to))
        )
        return f"{super().in_words()}\n{pictures} {captions}"
