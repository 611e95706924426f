"""Describe the losses of a two-stage selection, for the command line and the page."""

from backend.jobs.reports import SelectionReport

#: Captions of at most this many words are short.
SHORT = 4
#: A split is reported if it loses this many percentage points more than the whole.
_THINNED = 0.1


def losses(report: SelectionReport) -> list[str]:
    """The losses of a selection, in sentences: a filter that silently removes all captions with
    "left of" is worse than none."""
    gone = report.lost
    kinds = ", ".join(f"{kind} {share:.0%}" for kind, share in gone.kinds.items())
    lines = [f"Kept, by kind of word: {kinds}."] if kinds else []
    if gone.short is not None:
        lines.append(f"Captions of at most {SHORT} words: {gone.short:.0%} stay.")
    if gone.words:
        lines.append(f"{gone.words} words are lost: {', '.join(gone.examples)}.")
    whole = report.kept / report.taking_part if report.taking_part else 1.0
    thin = [
        f"{name} {share:.0%}" for name, share in gone.splits.items() if share < whole - _THINNED
    ]
    if thin:
        lines.append(f"Splits that lose more than the dataset as a whole: {', '.join(thin)}.")
    if gone.images:
        lines.append(f"{gone.images} images lose all their captions.")
    return lines
