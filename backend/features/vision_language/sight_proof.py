"""How many looks show that a model sees.

A model is believed once its answers tell texts' own pictures from others as answers that ignore the
picture do not: whether they are always the same, at random, or follow the text. Counting the
answers above the average of all leaves a model free to say yes too often, and makes the test exact
for every model that answers about both pictures alike (Fisher's exact test).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from statistics import fmean
from typing import Literal

from backend.errors import PictureUnseen
from backend.features.vision_language.sight import Example, Look, drawn_examples, in_words

#: What the answers of a model that is not seen to look are like.
Fault = Literal["blind", "stale", "reversed", "unclear"]
#: Log-odds of yes that differ by less do not differ: numbers of 16 bits are a few hundredths to an
#: eighth apart.
SAME = 0.25
#: A mean difference of the log-odds of yes that is no chance: a factor of e.
CLEAR = 1.0
#: Looks after which the answers are judged; seven without an error are certain.
GROUP = 7
#: The most looks at a dataset's pictures.
MOST_LOOKS = 5 * GROUP
#: A chance that makes certain: all the times that one model's answers are judged, six, those of a
#: model that answers at random seem to see in one of 1,700 checks; a model that is right about four
#: pictures of five passes in nine of ten.
CERTAIN = 1 / 3000
#: A chance after which further looks are not worth their price.
HOPELESS = 0.3
#: During the work: looks at a time, and the odds for and against sight that end them.
ROUND = 3
_FOR, _AGAINST = 20.0, 1000.0

LookAt = Callable[[Sequence[Example]], list[Look]]


@dataclass
class SightWatch:
    """Looks again during the work, at these examples in turn: a server may lose its sight.

    A look is right where `middle`, in log-odds of yes, lies between its answers: it is for `share`
    of the looks of this model while it sees, and for at most a quarter where the answers do not
    depend on the picture."""

    look: LookAt
    examples: Iterator[Example]
    middle: float
    share: float

    def still_sees(self) -> bool:
        """Ask 2 × `ROUND` questions or a few times as many, at most 2 × `MOST_LOOKS`."""
        evidence = 0.0
        for _ in range(0, MOST_LOOKS - ROUND, ROUND):
            looks = self.look(list(islice(self.examples, ROUND)))
            evidence += sum(map(self._evidence, looks))
            if evidence >= math.log(_FOR):
                return True
            if evidence <= -math.log(_AGAINST):
                return False
        return False

    def _evidence(self, look: Look) -> float:
        if look.is_right(self.middle):
            return math.log(self.share / 0.25)
        return math.log((1 - self.share) / 0.75)


def prove_sight(examples: Iterator[Example], look: LookAt, where: str) -> SightWatch:
    """Look at examples of a dataset until it is certain that the model sees; if that does not show,
    at drawn ones: a dataset's captions may be wrong, and its pictures look alike. `where`: the
    model and its server. Raises PictureUnseen."""
    seen, looks = list[Example](), list[Look]()
    while group := list(islice(examples, GROUP)):
        seen += group
        looks += look(group)
        if (p := chance(looks)) <= CERTAIN:
            return _watch(look, cycle(chain(examples, seen)), looks)
        if p > HOPELESS or len(seen) >= MOST_LOOKS:
            break
    fault = fault_of(looks)
    if len(looks) < GROUP or fault == "unclear":
        words = drawn_examples()
        looks_at_words = look(words)
        if chance(looks_at_words) <= CERTAIN:
            return _watch(look, cycle(words), looks_at_words)
        looks += looks_at_words
    raise unseen(looks, where)


def unseen(looks: Sequence[Look], where: str) -> PictureUnseen:
    """What to say of a model at which these looks are not certain."""
    fault = fault_of(looks)
    return PictureUnseen(f"{where} {_REASONS[fault]} {in_words(looks)}", sight=fault)


def chance(looks: Sequence[Look]) -> float:
    """The probability that answers which ignore the picture are above the average of all as often
    about own pictures, and as rarely about unlike ones, as these.

    >>> round(1 / chance([Look("a", 2.0, -1.0, True)] * 7)), chance([])
    (3432, 1.0)
    """
    middle = _middle(looks)
    n, own = len(looks), sum(look.own_odds > middle for look in looks)
    above = own + sum(look.unlike_odds > middle for look in looks)
    ways = sum(math.comb(n, k) * math.comb(n, above - k) for k in range(own, min(n, above) + 1))
    return ways / math.comb(2 * n, above)


def fault_of(looks: Sequence[Look]) -> Fault:
    """What may be the matter with a model that is not seen to look.

    *blind*: no answer changes with the picture; *stale*: nor with a later one, those about the
    first picture differ; *reversed*: they change to the opposite; *unclear*: at random."""
    if looks and max(abs(look.gain) for look in looks) < SAME:
        first = [look.own_odds for look in looks if look.own_first]
        later = [look.own_odds for look in looks if not look.own_first]
        is_first_kept = first and later and fmean(first) >= CLEAR + fmean(later)
        return "stale" if is_first_kept else "blind"
    exchanged = [Look(k.text, k.unlike_odds, k.own_odds, k.own_first) for k in looks]
    return "reversed" if chance(exchanged) <= CERTAIN else "unclear"


_REASONS: dict[Fault, str] = {
    "blind": "does not see the pictures: its answers to the same question do not change with the "
    "picture. The server, or what lies before it, removes the picture, or the model has no vision.",
    "stale": "answers about earlier pictures, not about the one that is sent. Switch the server's "
    "prefix cache off, or update the server.",
    "reversed": "says the opposite of what the pictures show: yes and no seem to be exchanged.",
    "unclear": "does not tell the picture that a text describes from another: its answers are too "
    "seldom right to be more than chance. The model may be too weak or see too little of the "
    "pictures, or the server mixes up the answers to questions in flight.",
}


def _middle(looks: Sequence[Look]) -> float:
    return sum(look.own_odds + look.unlike_odds for look in looks) / max(1, 2 * len(looks))


def _watch(look: LookAt, examples: Iterator[Example], looks: Sequence[Look]) -> SightWatch:
    middle = _middle(looks)
    right = sum(look.is_right(middle) for look in looks)
    share = (right + 1) / (len(looks) + 2)
    return SightWatch(look, examples, middle, min(0.9, max(0.4, share)))
