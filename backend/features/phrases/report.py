"""What measuring support reports."""

from dataclasses import dataclass

from backend.counts import count_of, counted


@dataclass(frozen=True)
class SupportReport:
    """Phrases of `computed` pairs were attributed now: `phrases` in all, of which `covered` could
    be tested. `untested`: pairs of the dataset without support. `notes`: caveats for the user."""

    dataset_id: int
    pairs: int
    computed: int
    untested: int
    phrases: int
    covered: int
    seconds: float
    run_id: int
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        share = f" ({self.covered / self.phrases:.2%})" if self.phrases else ""
        return (
            f"Support of {count_of(self.computed, 'pair')} measured now: "
            f"{count_of(self.phrases, 'phrase')}, {self.covered} of them tested{share}; "
            f"{counted(self.untested, 'pair has', 'pairs have')} no phrase to test; "
            f"{self.seconds:.0f} s."
        )
