"""The numbers about a caption: what each says, where it is stored and how people see it. No SQL.

Each is one `Measure`. The queue's orders, ranges and drawer, the table, the bars beside a pair, the
API, exports, score files, notebooks and the documentation read `MEASURES`, in this order; none of
them lists measures of its own. Those of plug-ins join in `backend.measures`.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

#: Computes a number from a caption and from what opens its picture as an RGB `PIL.Image`.
Compute = Callable[[str, Callable[[], Any]], float | None]
#: Numbers of a pair by the names of their measures; None: not known.
Numbers = Mapping[str, float | None]

#: Captions below this look abstract. On `captions.tsv`, cross-validated, nine in ten captions rated
#: 0 score below it and nine in ten rated 3 above.
ABSTRACT_THRESHOLD = 0.35
#: The unit of scores that are comparable within a dataset only.
OF_THE_MODEL = "the model's units"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number about a caption and its picture.

    `name`: in addresses, files and the API. `title`, `explanation` (sentences) and `symbol` (the
    paper's) are for people. `worst`: the end of its range that the queue shows first. `low`,
    `high`: its bounds, None: unbounded. `line`: captions beyond it, towards the worst end, are
    doubtful. `sound_in`: measures within whose lines alone it means something: its order leaves the
    other pairs out.

    `operation`: the kind of job that computes it; "measure" calls `compute`, where None is no
    number.
    `is_column`: stored as a column of `pairs` of this name (p_error: see `ranking_queries`),
    else in `pair_numbers`. `of_claims`: claims have it too, as a column of `claims`.

    `filters`: people filter and sort by it, and see it in tables, notebooks and the API. `exports`:
    it is a column of exports and score files. `order`: what the order by it is called, if not
    "by TITLE"; `hint`: about this order. `word`: before its value in a list, "": it is not there;
    `write`: the value as text. `bar`: its name among the bars beside a pair, "": it has none;
    `scale`: the ends of the bar, by default the bounds; `share`: how full it is, if it does not
    follow from the value alone.
    """

    name: str
    title: str
    explanation: str
    symbol: str = ""
    unit: str = ""
    worst: Literal["low", "high"] = "low"
    low: float | None = None
    high: float | None = None
    line: float | None = None
    sound_in: tuple[str, ...] = ()
    operation: str = "measure"
    compute: Compute | None = None
    is_column: bool = False
    of_claims: bool = False
    order: str = ""
    hint: str = ""
    filters: bool = True
    exports: bool = True
    word: str = ""
    write: Callable[[float], str] = "{:.2f}".format
    bar: str = ""
    scale: tuple[float, float] | None = None
    share: Callable[[Numbers], float | None] | None = None

    @property
    def sound_side(self) -> tuple[float | None, float | None]:
        """The range, from and to, up to the line.

        >>> MEASURES["p_error"].sound_side, MEASURES["icc"].sound_side
        ((None, 0.5), (0.35, None))
        """
        return (None, self.line) if self.worst == "high" else (self.line, None)

    def fullness(self, numbers: Numbers) -> float | None:
        """How full its bar is, 0 to 1; None: there is none.

        >>> MEASURES["support"].fullness({"support": 0.0}), MEASURES["gain"].fullness({})
        (0.5, None)
        """
        if self.share is not None:
            return self.share(numbers)
        value, (low, high) = numbers.get(self.name), self.scale or (self.low, self.high)
        if value is None or low is None or high is None:
            return None
        return min(1.0, max(0.0, (value - low) / (high - low)))


@dataclass(frozen=True, kw_only=True)
class MeasuredRecord:
    """A record with the numbers of a pair. Those of the method itself are attributes as well."""

    numbers: Numbers

    @property
    def s_0(self) -> float | None:
        return self.numbers.get("s_0")

    @property
    def gain(self) -> float | None:
        return self.numbers.get("gain")

    @property
    def p_error(self) -> float | None:
        return self.numbers.get("p_error")

    @property
    def icc(self) -> float | None:
        return self.numbers.get("icc")


def _of_best(name: str) -> Callable[[Numbers], float | None]:
    """A score relative to that of the caption without the words that do not fit."""

    def share(numbers: Numbers) -> float | None:
        value, s_0 = numbers.get(name), numbers.get("s_0") or 0.0
        best = s_0 + max(numbers.get("gain") or 0.0, 0.0)
        return None if value is None or best <= 0 else min(1.0, max(0.0, value / best))

    return share


#: By name, in the order in which people see them.
MEASURES: dict[str, Measure] = {}


def add(measures: Iterable[Measure]) -> None:
    """Let measures take part everywhere. Raises ValueError for a name that is taken or that files
    and addresses cannot hold."""
    for measure in measures:
        if not re.fullmatch("[a-z][a-z0-9_]{0,39}", measure.name):
            raise ValueError(
                f"A measure's name begins with a small letter and has at most 40 small letters, "
                f"digits and _, unlike '{measure.name}'."
            )
        if measure.name in MEASURES:
            raise ValueError(f"There is a measure '{measure.name}' already.")
        MEASURES[measure.name] = measure


_OWN = (
    Measure(
        name="p_error", title="Chance of error", symbol="p", worst="high", low=0.0, high=1.0,
        line=0.5, operation="score", is_column=True, of_claims=True, order="most likely wrong",
        explanation="The TRACED probability of error: how likely the caption is wrong, by a "
        "classifier (the error finder) that learns from planted errors and from verdicts. "
        "Of a caption in a language that the model does not read it says nothing: pages show none, "
        "files have it.",
    ),
    Measure(
        name="s_0", title="Match (s)", symbol="s", unit=OF_THE_MODEL, operation="score",
        is_column=True, of_claims=True, order="lowest match", word="match", write="{:.3f}".format,
        bar="Match", share=_of_best("s_0"),
        explanation="How well picture and caption fit together, by an image-text model. Higher is "
        "better; compare it within a dataset only.",
    ),
    Measure(
        name="gain", title="Better without (gain)", symbol="gain", unit=OF_THE_MODEL, worst="high",
        operation="score", is_column=True, of_claims=True, order="better without some words",
        exports=False, word="gain", write="{:.3f}".format, bar="Better without",
        share=_of_best("gain"),
        explanation="By how much s rises at most while words are left out, step by step. Correct "
        "captions usually gain less than wrong ones.",
    ),
    Measure(
        name="icc", title="Concrete (ICC)", symbol="ICC", low=0.0, high=1.0,
        line=ABSTRACT_THRESHOLD, operation="score", is_column=True, of_claims=True,
        order="most vague", word="concrete", bar="Concrete",
        explanation="How concrete the caption is: 1 says what can be seen, 0 is vague (abstract).",
    ),
    Measure(
        name="disagreement", title="Models disagree", worst="high", low=0.0, high=1.0,
        operation="score", is_column=True, order="models disagree",
        hint="Pairs that only one scorer has scored come last.", exports=False, word="disagree",
        bar="Scorers differ",
        explanation="By how much the scorers' ranks of a pair differ, 0 to 1.",
    ),
    Measure(
        name="support", title="Backed by the picture", symbol="support",
        unit="standard deviations", operation="support", is_column=True,
        order="empty phrases first", hint="According to this model.", word="backed",
        write="{:+.2f}".format, bar="Backed", scale=(-3.0, 3.0),
        explanation="How far the picture supports the caption's phrases. A low value means empty, "
        "not wrong.",
    ),
    Measure(
        name="weakest", title="Weakest phrase", unit="standard deviations", operation="support",
        is_column=True, order="weakest phrase first", word="weakest", write="{:+.2f}".format,
        explanation="How far the picture supports the caption's weakest phrase.",
    ),
    Measure(
        name="specificity", title="Specificity", unit="logarithm of a probability", high=0.0,
        line=math.log(0.5),  # its own picture gets less than all similar ones together
        sound_in=("p_error", "icc"), operation="specificity", is_column=True,
        order="generic first", word="share",
        write=lambda log: f"{math.exp(log):.1%}".replace("%", " %"),
        hint="Only captions that are neither likely wrong (chance to 0.5) nor vague; set the "
        "chance to 1 and ICC from 0 to see all. Not comparable between datasets.",
        explanation="The logarithm of the chance that the caption finds its own picture among "
        "similar ones. A low value means generic: it fits those as well.",
    ),
    Measure(
        name="second_opinion", title="A second model agrees", unit="spreads of its answers",
        operation="second-opinion", filters=False, exports=False,
        explanation="How far a second model agrees with the caption: below 0 less than with most "
        "pairs.",
    ),
    Measure(
        name="claims", title="Claims", low=1.0, operation="score", is_column=True, filters=False,
        exports=False, explanation="How many claims the caption makes.",
    ),
    Measure(
        name="vague_claims", title="Vague claims", worst="high", low=0.0, operation="score",
        is_column=True, filters=False, exports=False,
        explanation="How many of several claims are vague.",
    ),
)  # fmt: skip
add(_OWN)


def filter_names() -> list[str]:
    """The measures that people filter by and see in tables."""
    return [name for name, measure in MEASURES.items() if measure.filters]


def export_names() -> list[str]:
    """The measures that exports and score files have."""
    return [name for name, measure in MEASURES.items() if measure.exports]
