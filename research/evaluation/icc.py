"""`evaluate icc`: correlation of concreteness scores with human ratings, as in ICC's Table 3."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backend.engine.concreteness.scoring import score_captions
from backend.errors import SettingsError
from research.concreteness.correlations import Agreement, agreement
from research.concreteness.pipeline import read_ratings
from research.markdown_tables import table

SENTENCES, WORDS = "captions", "words"
#: ICC, Table 3: 14,562 nouns of Hessel et al. 2018, and 200 LAION captions that the authors rated.
PAPER: dict[str, dict[str, tuple[float, float, float]]] = {
    WORDS: {
        "CLIP Stroop probing": (0.60, 0.62, 0.44),
        "aveCLIP": (0.55, 0.56, 0.39),
        "ICC": (0.75, 0.75, 0.55),
    },
    SENTENCES: {
        "CLIP Stroop probing": (-0.36, -0.35, -0.27),
        "aveCLIP": (0.29, 0.28, 0.22),
        "ICC": (0.69, 0.67, 0.54),
    },
}


@dataclass(frozen=True)
class IccRow:
    """One model on one file; `source`: "measured", or where the result was published."""

    kind: str
    file: str
    model: str
    agreement: Agreement
    source: str = "measured"


@dataclass(frozen=True)
class IccReport:
    rows: list[IccRow]


def evaluate_icc(
    captions: Sequence[Path],
    words: Sequence[Path],
    models: Sequence[str | None],
    device: str | None = None,
) -> IccReport:
    """Evaluate every model on every file, and add the paper's results for that kind of text.

    `captions`, `words`: CSV files with text and rating. `models`: see `score_captions`; None is the
    embedded one. Raises DatasetFormatError, ModelUnavailable, SettingsError without a file.
    """
    if not captions and not words:
        raise SettingsError("Name a file with ratings: --ratings FILE (captions) or --words FILE.")
    rows: list[IccRow] = []
    for kind, files in ((SENTENCES, captions), (WORDS, words)):
        for path in files:
            ratings = read_ratings(path)
            for model in models:
                scores = score_captions([text for text, _ in ratings], model, device)
                correlation = agreement(scores, [rating for _, rating in ratings])
                rows.append(IccRow(kind, path.name, model or "embedded", correlation))
        if files:
            for name, figures in PAPER[kind].items():
                published_figures = Agreement(*figures, {WORDS: 14_562, SENTENCES: 200}[kind])
                rows.append(
                    IccRow(kind, "the paper's own", name, published_figures, "ICC, Table 3")
                )
    return IccReport(rows)


def markdown(report: IccReport) -> str:
    rows = [
        (row.kind, row.file, row.model, a.count, f"{a.pearson:.3f}", f"{a.spearman:.3f}",
         f"{a.kendall:.3f}", row.source)
        for row in report.rows
        for a in (row.agreement,)
    ]  # fmt: skip
    head = ("text", "file", "model", "n", "Pearson", "Spearman", "Kendall", "source")
    return table(head, rows)
