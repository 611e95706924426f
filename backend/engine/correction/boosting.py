"""Richer captions for pictures whose captions are true and generic (SR, Visual Caption Boosting).

    Blend      a language model joins the captions of one picture            text alone
    Visual     a vision-language model describes the picture                 picture alone
    Holistic   a language model enriches the Blend by the Visual; Blend wins text alone

Hallucinations of such models must not get into a dataset, so a proposal has to pass a *guard*: it
checks for words from none of the sources, attributes that human captions contradict, phrases that
the picture does not support (`Doubts`), and finally that the caption is as likely correct as before
and more specific. Phrases written by people are never removed because of the picture.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction import answers, prompting
from backend.engine.correction.anchoring import (
    Unanchored,
    anchored_share,
    conflicts,
    misplaced_negations,
    unsupported,
)
from backend.engine.correction.said import Said, left_out, new_phrases, said_in
from backend.engine.correction.shortening import is_sentence
from backend.engine.correction.striking import shortened, without
from backend.engine.english import FUNCTION_WORDS
from backend.engine.language_models import Answer, ChatModel, Question
from backend.engine.language_models.question import harmless
from backend.engine.languages import LATIN_LANGUAGES, MIXED, UNKNOWN, language_of
from backend.engine.phrases.spans import Phrase
from backend.errors import Unreadable

Kind = Literal["blend", "visual", "holistic"]
KINDS: tuple[Kind, ...] = ("blend", "visual", "holistic")
VERSIONS: dict[Kind, int] = {"blend": 1, "visual": 1, "holistic": 1}
#: Captions of one picture that are joined at most, and words of what comes of it.
MOST_CAPTIONS, MOST_WORDS = 8, 60
#: A run of this many words copied from a prompt's examples is not a description of the picture.
_COPIED = 6
#: Maximum number of phrases removed because of the picture, and the threshold for doubt.
MOST_STRUCK, SUSPECT, DROP, UNSUPPORTED = 3, 0.5, 0.1, -0.2
#: Maximum increase in probability of error, and minimum gain in specificity.
P_SLACK, LEAST_GAIN = 0.05, 0.2
#: Specificity that a word from no source costs an enrichment in their order: four of them outweigh
#: the least gain.
UNSUPPORTED_COST = 0.05
_MIXES = "the caption mixes languages"

_ANSWER = {
    "type": "object",
    "properties": {"caption": {"type": "string"}},
    "required": ["caption"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Booster:
    """`sees`: a vision-language model, `blends`: a language model; may be the same. `kinds`: what
    is made; Visual is asked for Holistic as well."""

    sees: ChatModel | None
    blends: ChatModel | None
    kinds: tuple[Kind, ...] = KINDS

    def proposer(self, kind: Kind) -> str:
        """How a suggestion of this kind is called, at most 64 characters."""
        model = self.sees if kind == "visual" else self.blends or self.sees
        name = model.name if model is not None else "captions"
        return f"{(Path(name).name or name)[:40]} · {kind} v{VERSIONS[kind]}"


@dataclass(frozen=True)
class Boost:
    """One richer caption as a model gave it. `sources`: what it had to go by; `visual`: what a
    model said of the picture, of which this was made; None if of captions alone."""

    kind: Kind
    caption: str
    sources: tuple[str, ...]
    visual: str | None = None


@dataclass(frozen=True)
class Boosts:
    """What a picture's captions became, and why there is no more: (kind, outcome, message)."""

    made: tuple[Boost, ...] = ()
    failed: tuple[tuple[Kind, str, str], ...] = ()


def make(image: Image.Image | None, captions: Sequence[str], booster: Booster) -> Boosts:
    """Ask for each kind. `captions`: those that people have left standing, first the one that would
    be enriched. Raises ModelUnavailable, BudgetSpent."""
    made: list[Boost] = []
    failed: list[tuple[Kind, str, str]] = []
    if captions and language_of(captions[0]) == MIXED:
        joined: tuple[Kind, ...] = ("blend", "holistic")
        failed += [(kind, "refused", _MIXES) for kind in joined if kind in booster.kinds]
    captions = joinable(captions)

    def keep(
        kind: Kind, sources: Sequence[str], text: str | None, message: str, seen: str | None = None
    ) -> str | None:
        if text is None:
            failed.append((kind, "unreadable", message))
        elif kind in booster.kinds:
            made.append(Boost(kind, text, tuple(sources), seen))
        return text

    blend: str | None = captions[0] if captions else None
    language = booster.blends or booster.sees
    if len(captions) > 1 and language is not None and {"blend", "holistic"} & set(booster.kinds):
        text, message = _asked(language, blend_question(captions), captions)
        blend = keep("blend", captions, text, message)
    if image is None or booster.sees is None or not {"visual", "holistic"} & set(booster.kinds):
        return Boosts(tuple(made), tuple(failed))
    visual, message = _asked(booster.sees, visual_question(image), captions)
    keep("visual", (), visual, message, visual)
    if visual is None or blend is None or "holistic" not in booster.kinds or language is None:
        return Boosts(tuple(made), tuple(failed))
    text, message = _asked(language, holistic_question(blend, visual), [blend, visual])
    keep("holistic", (*captions, blend, visual), text, message, visual)
    return Boosts(tuple(made), tuple(failed))


def joinable(captions: Sequence[str]) -> list[str]:
    """The distinct captions that are in the language of the first, as far as words and script tell;
    none if the first mixes languages.

    >>> joinable(["A dog on a bench.", "Ein Hund auf einer Bank.", "A brown dog."])
    ['A dog on a bench.', 'A brown dog.']
    """
    languages = [language_of(caption) for caption in captions]
    if not captions or languages[0] == MIXED:
        return []
    # What says too little goes with any language of its script.
    known = [name for name in languages if name in LATIN_LANGUAGES]
    language = known[0] if languages[0] == UNKNOWN and known else languages[0]
    also = UNKNOWN if language in LATIN_LANGUAGES else language
    return distinct(
        [
            caption
            for caption, name in zip(captions, languages, strict=True)
            if name in (language, also, "")
        ]
    )


def distinct(captions: Sequence[str]) -> list[str]:
    """Captions that differ by more than case and white space, in their order. Of more than
    MOST_CAPTIONS the first, then each time the one whose words are least like those taken."""
    once = {
        " ".join(caption.lower().split()).rstrip("."): caption
        for caption in reversed(list(captions))
    }
    listed = list(reversed(once.values()))
    if len(listed) <= MOST_CAPTIONS:
        return listed
    words = [frozenset(map(str.lower, Caption.parse(caption).words)) for caption in listed]
    words = [listed_words - FUNCTION_WORDS for listed_words in words]
    taken = [0]
    distances = [_distance(words[0], other) for other in words]
    while len(taken) < MOST_CAPTIONS:
        rest = (place for place in range(len(listed)) if place not in taken)
        farthest = max(rest, key=lambda place: (distances[place], -place))
        taken.append(farthest)
        distances = [
            min(distance, _distance(words[farthest], other))
            for distance, other in zip(distances, words, strict=True)
        ]
    return [listed[place] for place in sorted(taken)]


def _distance(first: frozenset[str], second: frozenset[str]) -> float:
    """The share of their words that two captions do not have in common."""
    return 1 - len(first & second) / len(first | second) if first | second else 0.0


# ------------------------------------------------------------------------------- questions


def blend_question(captions: Sequence[str]) -> Question:
    tagged = "\n".join(f"<caption>{_safe(caption)}</caption>" for caption in captions)
    return _question("blend", tagged)


def visual_question(image: Image.Image) -> Question:
    asked = _question("visual", "Describe this picture.")
    return replace(asked, image=prompting.encoded(image))


def holistic_question(trusted: str, other: str) -> Question:
    return _question(
        "holistic", f"<trusted>{_safe(trusted)}</trusted>\n<other>{_safe(other)}</other>"
    )


def _question(kind: Kind, user: str) -> Question:
    return Question(
        prompting.prompt(kind), user, temperature=0.0, longest_answer=prompting.LONGEST_ANSWER,
        schema=_ANSWER,
    )  # fmt: skip


def _safe(text: str) -> str:
    return harmless(text[: prompting.LONGEST_CAPTION])


def _asked(model: ChatModel, asked: Question, sources: Sequence[str]) -> tuple[str | None, str]:
    """The caption, or None and why; one repair where an answer cannot be read."""
    answer = model.ask(asked)
    try:
        return _read(answer, asked, sources), ""
    except Unreadable as problem:
        again = model.ask(prompting.repaired(asked, answer.text, str(problem)))
    try:
        return _read(again, asked, sources), ""
    except Unreadable as problem:
        return None, str(problem)


def _read(answer: Answer, asked: Question, sources: Sequence[str]) -> str:
    if not answer.finished:
        raise Unreadable("it was cut off before its end.")
    longest = max(map(len, sources), default=0)
    text = answers.read_caption(answer.text, 6 * longest + 200)
    if len(text.split()) > MOST_WORDS:
        raise Unreadable(f"the caption has more than {MOST_WORDS} words.")
    if re.search(r"[.!?]\s+[A-Z]", text):
        raise Unreadable("it is more than one sentence.")
    if _copies(text, asked.system, " ".join(sources)):
        raise Unreadable("it repeats the prompt's own example.")
    return text


def _copies(text: str, prompt: str, sources: str) -> bool:
    """Whether a run of words comes from the prompt and not from what was to be described."""
    words = [word.lower() for word in re.findall(r"\w+", text)]
    prompt_words, source_words = (
        " ".join(re.findall(r"\w+", text.lower())) for text in (prompt, sources)
    )
    runs = (" ".join(words[n : n + _COPIED]) for n in range(len(words) - _COPIED + 1))
    return any(run in prompt_words and run not in source_words for run in runs)


# ------------------------------------------------------------------------------- the guard


@dataclass(frozen=True)
class Doubt:
    """Evidence against a phrase (characters start:end). `support`: its attribution in the
    scorer's logits (s times its scale), None if it cannot be computed; `suspect`: the highest
    suspicion of its words; `drop`: the decrease in the caption's probability of error without it.
    Small negative support is not a doubt: half of the true phrases that a caption names last have
    it."""

    start: int
    end: int
    support: float | None
    suspect: float
    drop: float

    @property
    def doubtful(self) -> bool:
        return (
            (self.support is not None and self.support <= UNSUPPORTED)
            or self.suspect >= SUSPECT
            or self.drop >= DROP
        )

    @property
    def strength(self) -> tuple[float, float, float]:
        """Most doubtful first, in descending order."""
        return self.drop, self.suspect, -(self.support or 0.0)


#: These phrases of a caption as the picture sees them.
Doubts = Callable[[str, Sequence[Phrase]], Sequence[Doubt]]


@dataclass(frozen=True)
class Guarded:
    """A proposal after the guard. `caption` "": refused. `struck`: what was removed and why, in
    characters of the text at that moment; `anchored`: share of its words that occur in a
    source."""

    caption: str
    refused: str = ""
    struck: tuple[Unanchored, ...] = ()
    anchored: float = 1.0
    notes: tuple[str, ...] = field(default=())


def guard(boost: Boost, human: Sequence[str], doubts: Doubts, read_words: int | None) -> Guarded:
    """Anchoring, conflict, the picture's word; what remains is to be judged (`keeps`).

    `human`: the people's captions of this picture, first the one that would be enriched, all of
    which has to stay (a Visual describes the picture anew); `read_words`: how many of the caption's
    words the scorer reads, None for all: the rest cannot be judged and is left out, what people
    wrote last.
    """
    text, notes = boost.caption, []
    if boost.kind == "blend" and (added := unsupported(text, boost.sources)):
        return Guarded("", added[0].why)
    struck: list[Unanchored] = []
    while conflicting := _contradictions(boost, text, human):
        conflict = conflicting[0]
        struck.append(conflict)
        shorter = without(text, conflict.start, conflict.end)
        if not _stays_a_sentence(text, shorter):
            return Guarded("", conflict.why, tuple(struck))
        text = shorter
    said = said_in(human)
    count = len(Caption.parse(text))
    if read_words is not None and read_words < count:
        notes.append(f"the model reads {read_words} of {count} words; the rest is left out")
        text = _fitting(text, said, read_words)
    for _ in range(MOST_STRUCK):
        asked = doubts(text, new_phrases(text, said))
        doubtful = [doubt for doubt in asked if doubt.doubtful]
        if not doubtful:
            break
        worst = max(doubtful, key=lambda doubt: doubt.strength)
        phrase = text[worst.start : worst.end]
        struck.append(
            Unanchored(worst.start, worst.end, phrase, f"the picture does not show '{phrase}'")
        )
        shorter = without(text, worst.start, worst.end)
        if not _stays_a_sentence(text, shorter):
            return Guarded("", struck[-1].why, tuple(struck))
        text = shorter
    if not text.strip():
        return Guarded("", "nothing holds", tuple(struck))
    if boost.kind != "visual" and (lost := left_out(without_opener(human[0]), text)):
        return Guarded("", f"leaves out part of the caption: '{lost}'", tuple(struck))
    return Guarded(
        text, "", tuple(struck), anchored_share(text, boost.sources or human), tuple(notes)
    )


def _contradictions(boost: Boost, text: str, human: Sequence[str]) -> list[Unanchored]:
    """What the people's captions contradict, above all the one that would be enriched, and
    negations that occur in no source."""
    return [
        *conflicts(text, human),
        *misplaced_negations(text, human[:1]),
        *misplaced_negations(text, boost.sources, unmentioned=bool(boost.sources)),
    ]


def _stays_a_sentence(text: str, shorter: str) -> bool:
    """Whether a phrase has been taken out of a sentence so that a sentence is left, or nothing."""
    return not shorter or is_sentence(shorter) or not is_sentence(text)


def keeps(p_before: float | None, p_after: float | None, gain: float, rank_gain: int) -> str:
    """Why a richer caption is not suggested; "" if it is. `gain`: of specificity."""
    if p_before is not None and p_after is not None and p_after > p_before + P_SLACK:
        return "more likely to be wrong than the caption"
    if gain < LEAST_GAIN and rank_gain <= 0:
        return "no more specific"
    return ""


def unsupported_words(boost: Boost, guarded: Guarded, human: Sequence[str]) -> int:
    """Words of a proposal after the guard that occur in none of its sources; of a Visual, which has
    none, in no human caption."""
    return len(unsupported(guarded.caption, boost.sources or human))


def worth(gain: float, unsupported_words: int) -> float:
    """By what the enrichments of a pair are ordered, best first: the gain in specificity minus the
    cost of words from no source."""
    return gain - UNSUPPORTED_COST * unsupported_words


_OPENER = re.compile(
    r"^\s*(?:(?:this|there|here)\s+(?:is|are)\s+)?(?:an?|the)?\s*(?:close-?up\s+)?"
    r"(?:picture|photo|photograph|image|drawing|view|shot|close-?up)\s+of\s+",
    re.IGNORECASE,
)


def without_opener(caption: str) -> str:
    """The caption without "A picture of", which says nothing of what is in it.

    >>> without_opener("A photo of a dog."), without_opener("A dog with a photo of a cat.")
    ('a dog.', 'A dog with a photo of a cat.')
    """
    return _OPENER.sub("", caption)


def _fitting(text: str, said: Said, words: int) -> str:
    """The caption as far as it fits: what nobody has said goes first, from its end."""
    while len(Caption.parse(text)) > words:
        things = [phrase for phrase in new_phrases(text, said) if phrase.kind == "object"]
        if not things:
            return shortened(text, words)
        text = without(text, things[-1].start, things[-1].end)
    return text
