"""What a training on verdicts has led to, in words: for pages and commands alike."""

from collections.abc import Mapping
from typing import Any

#: With fewer verdicts on pairs drawn at random, the level of the probabilities is not known.
FEWEST_FOR_LEVEL = 30


def trained_on(basis: str) -> str:
    """What a detector with this basis has learnt from.

    >>> trained_on("injected")
    'planted errors'
    """
    return "verdicts and planted errors" if basis == "verdicts" else "planted errors"


def level_caveat(report: Mapping[str, Any]) -> str:
    """Why a threshold on the probabilities of this classifier cannot be trusted; "" if it can."""
    if report.get("level_is_known"):
        return ""
    return (
        "The level of the probabilities is not known yet, so a threshold says only which pairs are "
        f"more suspicious than others: judge {FEWEST_FOR_LEVEL} pairs drawn at random, then train."
    )


def learnt_in_words(report: Mapping[str, Any]) -> str:
    """What a classifier has learnt from verdicts, and what its use would change, by its report (see
    `backend.engine.detection.verdict_learning`); "" for one that has not learnt from verdicts."""
    if "learnt" not in report:
        return ""
    count = report["verdicts_wrong"] + report["verdicts_right"]
    sample_size = report["verdicts_at_random"]
    first, wrong = report.get("compared_pairs", 0), report.get("first_places", 0)
    if report["learnt"] == "order":
        learnt = f"Learned a new order from {count:,} verdicts."
    elif sample_size < FEWEST_FOR_LEVEL:
        learnt = (
            f"Too few random checks to tell ({sample_size} of {FEWEST_FOR_LEVEL}). The ranking "
            "stays as it is."
        )
    else:
        learnt = f"The ranking stays as it is; the chances follow {count:,} verdicts."
    sentences = [learnt]
    if wrong and (report["learnt"] == "order" or sample_size >= FEWEST_FOR_LEVEL):
        change = report["errors_first_after"] - report["errors_first_before"]
        interval = f"between {report['errors_first_low']:+} and {report['errors_first_high']:+}"
        what = "no other number of errors" if not change else f"{abs(change)} " + (
            ("error" if abs(change) == 1 else "errors") + (" more" if change > 0 else " fewer")
        )  # fmt: skip
        would = "puts" if report["learnt"] == "order" else "would have put"
        sentences.append(
            f"Of {first} pairs drawn at random, {wrong} of them wrong, the new order {would} "
            f"{what} among the first {wrong} ({interval})."
        )
    if report.get("words_learnt"):
        before, after = report["words_first_before"], report["words_first_after"]
        sentences.append(
            f"Suspect words have learnt from {report['marked_captions']:,} captions whose wrong "
            f"words are known: of {report['words_compared']} drawn at random, the most suspect "
            f"word is a wrong one in {after} ({before} before)."
        )
    if report.get("words_refused") and report["marked_captions"]:
        sentences.append("Marked words teach nothing here: that takes the packages of models.")
    if report.get("without") and report["learnt"] == "order":
        sentences.append(f"It ignores {' and '.join(report['without'])}.")
    if report.get("signs"):
        sentences.append(report["signs"])
    if not report["level_is_known"] and report["learnt"] == "order":
        sentences.append(
            f"The level is not known yet: it takes verdicts on {FEWEST_FOR_LEVEL} pairs drawn at "
            f"random, and there are {sample_size}."
        )
    return " ".join(sentences)
