"""Richer captions in place of correct but generic ones (SR, Visual Caption Boosting).

    Blend      a language model merges the captions of one picture           text only
    Visual     a vision-language model describes the picture                 picture only
    Holistic   a language model enriches Blend with Visual; Blend wins       text only

Such models hallucinate, so every proposal has to pass a *guard* before it can reach a dataset: it
checks for words found in no source, attributes that contradict human captions, phrases that the
picture does not support (`Doubts`), and finally that the caption is as likely to be correct as
before and more specific. Phrases written by people are never removed because of the picture.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction.anchoring import (
    UnanchoredWord,
    conflicts,
    misplaced_negations,
)
from backend.engine.english.shortening import is_sentence
from backend.engine.english.word_lists import FUNCTION_WORDS
from backend.engine.language_models.answers import read_caption
from backend.engine.language_models.asking import (
    LONGEST_ANSWER,
    LONGEST_CAPTION,
    ask_again,
    encode_picture,
)
from backend.engine.language_models.chat_model import Answer, ChatModel, Question, harmless
from backend.engine.languages.identification import LATIN_LANGUAGES, MIXED, UNKNOWN, language_of
from backend.errors import QuestionRefused, Unreadable
from backend.features.specificity.anchoring import anchored_share, find_unsupported
from backend.features.specificity.caption_facts import CaptionFacts, facts_in, left_out, new_phrases
from backend.features.specificity.doubting import DEFAULT, DoubtRule, Doubts
from backend.features.specificity.phrase_removal import leading_phrases, without_phrase
from db.texts import is_blank

Kind = Literal["blend", "visual", "holistic"]
KINDS: tuple[Kind, ...] = ("blend", "visual", "holistic")
PROMPTS = Path(__file__).parent / "prompts"
VERSIONS: dict[Kind, int] = {"blend": 1, "visual": 1, "holistic": 1}
#: Maximum number of captions merged per picture, and of words in a richer caption.
MOST_CAPTIONS, MOST_WORDS = 8, 60
#: A run of this many words copied from a prompt's examples is not a description of the picture.
_COPIED = 6
#: Maximum number of phrases removed because of the picture.
MOST_STRUCK = 3
#: Maximum increase in probability of error, and minimum gain in specificity.
P_SLACK, LEAST_GAIN = 0.05, 0.2
#: Penalty in specificity per word found in no source, when enrichments are ordered: four such
#: words outweigh the minimum gain.
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
    """`sees`: a vision-language model, `blends`: a language model; they may be the same. `kinds`:
    the kinds to return; Holistic requests a Visual as well."""

    sees: ChatModel | None
    blends: ChatModel | None
    kinds: tuple[Kind, ...] = KINDS

    def proposer(self, kind: Kind) -> str:
        """Proposer name stored with suggestions of this kind, at most 64 characters."""
        model = self.sees if kind == "visual" else self.blends or self.sees
        name = model.name if model is not None else "captions"
        return f"{(Path(name).name or name)[:40]} · {kind} v{VERSIONS[kind]}"


@dataclass(frozen=True)
class Boost:
    """One richer caption as generated. `sources`: the texts it is based on, empty for Visual;
    `visual`: the model's description of the picture among them, None if made from captions
    alone."""

    kind: Kind
    caption: str
    sources: tuple[str, ...]
    visual: str | None = None


@dataclass(frozen=True)
class Boosts:
    """The richer captions of a picture; `failed`: (kind, outcome, message) of failed requests."""

    made: tuple[Boost, ...] = ()
    failed: tuple[tuple[Kind, str, str], ...] = ()


def make(image: Image.Image | None, captions: Sequence[str], booster: Booster) -> Boosts:
    """Request each of the booster's kinds. `captions`: human captions not rejected in review,
    starting with the one to enrich. Raises ModelUnavailable or BudgetSpent."""
    boosts: list[Boost] = []
    failures: list[tuple[Kind, str, str]] = []
    if captions and language_of(captions[0]) == MIXED:
        joined_kinds: tuple[Kind, ...] = ("blend", "holistic")
        failures += [(kind, "refused", _MIXES) for kind in joined_kinds if kind in booster.kinds]
    captions = joinable(captions)

    def keep(
        kind: Kind,
        sources: Sequence[str],
        text: str | None,
        message: str,
        picture_text: str | None = None,
    ) -> str | None:
        if text is None:
            failures.append((kind, "unreadable", message))
        elif kind in booster.kinds:
            boosts.append(Boost(kind, text, tuple(sources), picture_text))
        return text

    blend: str | None = captions[0] if captions else None
    language = booster.blends or booster.sees
    if len(captions) > 1 and language is not None and {"blend", "holistic"} & set(booster.kinds):
        text, message = _ask(language, blend_question(captions), captions)
        blend = keep("blend", captions, text, message)
    if image is None or booster.sees is None or not {"visual", "holistic"} & set(booster.kinds):
        return Boosts(tuple(boosts), tuple(failures))
    visual, message = _ask(booster.sees, visual_question(image), captions)
    keep("visual", (), visual, message, visual)
    if visual is None or blend is None or "holistic" not in booster.kinds or language is None:
        return Boosts(tuple(boosts), tuple(failures))
    text, message = _ask(language, holistic_question(blend, visual), [blend, visual])
    keep("holistic", (*captions, blend, visual), text, message, visual)
    return Boosts(tuple(boosts), tuple(failures))


def joinable(captions: Sequence[str]) -> list[str]:
    """The distinct captions in the language of the first, judged by words and script; none if the
    first mixes languages.

    >>> joinable(["A dog on a bench.", "Ein Hund auf einer Bank.", "A brown dog."])
    ['A dog on a bench.', 'A brown dog.']
    """
    languages = [language_of(caption) for caption in captions]
    if not captions or languages[0] == MIXED:
        return []
    # A caption too short to identify its language is accepted with any language of its script.
    latin_names = [name for name in languages if name in LATIN_LANGUAGES]
    language = latin_names[0] if languages[0] == UNKNOWN and latin_names else languages[0]
    also = UNKNOWN if language in LATIN_LANGUAGES else language
    return distinct(
        [
            caption
            for caption, name in zip(captions, languages, strict=True)
            if name in (language, also, "")
        ]
    )


def distinct(captions: Sequence[str]) -> list[str]:
    """Captions without duplicates up to case, white space and final full stops, in order. Of more
    than MOST_CAPTIONS, the first, then repeatedly the one whose words differ most from those
    chosen."""
    once = {
        " ".join(caption.lower().split()).rstrip("."): caption
        for caption in reversed(list(captions))
    }
    captions_by_order = list(reversed(once.values()))
    if len(captions_by_order) <= MOST_CAPTIONS:
        return captions_by_order
    words = [
        frozenset(map(str.lower, Caption.parse(caption).words)) for caption in captions_by_order
    ]
    words = [listed_words - FUNCTION_WORDS for listed_words in words]
    places = [0]
    distances = [_distance(words[0], other) for other in words]
    while len(places) < MOST_CAPTIONS:
        rest = (place for place in range(len(captions_by_order)) if place not in places)
        farthest = max(rest, key=lambda place: (distances[place], -place))
        places.append(farthest)
        distances = [
            min(distance, _distance(words[farthest], other))
            for distance, other in zip(distances, words, strict=True)
        ]
    return [captions_by_order[place] for place in sorted(places)]


def _distance(first: frozenset[str], second: frozenset[str]) -> float:
    """The share of their words that two captions do not have in common."""
    return 1 - len(first & second) / len(first | second) if first | second else 0.0


# ------------------------------------------------------------------------------- questions


def blend_question(captions: Sequence[str]) -> Question:
    text = "\n".join(f"<caption>{_safe(caption)}</caption>" for caption in captions)
    return _question("blend", text)


def visual_question(image: Image.Image) -> Question:
    question = _question("visual", "Describe this picture.")
    return replace(question, image=encode_picture(image))


def holistic_question(trusted: str, other: str) -> Question:
    return _question(
        "holistic", f"<trusted>{_safe(trusted)}</trusted>\n<other>{_safe(other)}</other>"
    )


@cache
def prompt(kind: Kind) -> str:
    return (PROMPTS / f"{kind}.md").read_text("utf-8")


def _question(kind: Kind, user: str) -> Question:
    return Question(
        prompt(kind), user, temperature=0.0, longest_answer=LONGEST_ANSWER,
        schema=_ANSWER,
    )  # fmt: skip


def _safe(text: str) -> str:
    return harmless(text[:LONGEST_CAPTION])


def _ask(model: ChatModel, question: Question, sources: Sequence[str]) -> tuple[str | None, str]:
    """(caption, ""), or (None, reason); an unreadable answer is retried once with a repair
    prompt. Raises ModelUnavailable as `propose` does."""
    try:
        return _answer(model, question, sources)
    except QuestionRefused as problem:
        if not model.spending.requests:
            raise
        return None, str(problem)


def _answer(model: ChatModel, question: Question, sources: Sequence[str]) -> tuple[str | None, str]:
    answer = model.ask(question)
    try:
        return _read(answer, question, sources), ""
    except Unreadable as problem:
        again = model.ask(ask_again(question, answer.text, str(problem)))
    try:
        return _read(again, question, sources), ""
    except Unreadable as problem:
        return None, str(problem)


def _read(answer: Answer, question: Question, sources: Sequence[str]) -> str:
    if not answer.finished:
        raise Unreadable("it was cut off before its end.")
    longest = max(map(len, sources), default=0)
    text = read_caption(answer.text, 6 * longest + 200)
    if len(text.split()) > MOST_WORDS:
        raise Unreadable(f"the caption has more than {MOST_WORDS} words.")
    if re.search(r"[.!?]\s+[A-Z]", text):
        raise Unreadable("it is more than one sentence.")
    if _copies(text, question.system, " ".join(sources)):
        raise Unreadable("it repeats the prompt's own example.")
    return text


def _copies(text: str, prompt: str, sources: str) -> bool:
    """Whether a run of _COPIED words is copied from the prompt and not from the sources."""
    words = [word.lower() for word in re.findall(r"\w+", text)]
    prompt_words, source_words = (
        " ".join(re.findall(r"\w+", text.lower())) for text in (prompt, sources)
    )
    runs = (" ".join(words[n : n + _COPIED]) for n in range(len(words) - _COPIED + 1))
    return any(run in prompt_words and run not in source_words for run in runs)


# ------------------------------------------------------------------------------- the guard


@dataclass(frozen=True)
class GuardedProposal:
    """A proposal after the guard. `caption`: "" if `refused`. `struck`: what was removed and why,
    with offsets into the text before each removal; `anchored`: share of the caption's words that
    occur in a source."""

    caption: str
    refused: str = ""
    struck: tuple[UnanchoredWord, ...] = ()
    anchored: float = 1.0
    notes: tuple[str, ...] = field(default=())


def guard(
    boost: Boost,
    human: Sequence[str],
    doubts: Doubts,
    read_words: int | None,
    rule: DoubtRule = DEFAULT,
) -> GuardedProposal:
    """Check anchoring, conflicts with human captions, and support by the picture, in this order.

    The result still has to pass `keeps`. `human`: the human captions of this picture, starting
    with the one to enrich; all of its phrases must be kept, except by a Visual, which is written
    from scratch. `read_words`: how many of the caption's words the scorer reads, None for all; the
    rest cannot be scored and is cut, human-written phrases last. `rule`: which evidence makes a
    phrase doubtful.
    """
    text, notes = boost.caption, []
    if boost.kind == "blend" and (faults := find_unsupported(text, boost.sources)):
        return GuardedProposal("", faults[0].why)
    struck: list[UnanchoredWord] = []
    while conflicting := _contradictions(boost, text, human):
        conflict = conflicting[0]
        struck.append(conflict)
        shorter = without_phrase(text, conflict.start, conflict.end)
        if not _stays_a_sentence(text, shorter):
            return GuardedProposal("", conflict.why, tuple(struck))
        text = shorter
    facts = facts_in(human)
    count = len(Caption.parse(text))
    if read_words is not None and read_words < count:
        notes.append(f"the model reads {read_words} of {count} words; the rest is left out")
        text = _fitting(text, facts, read_words)
    for _ in range(MOST_STRUCK):
        phrase_doubts = doubts(text, new_phrases(text, facts))
        doubtful = [doubt for doubt in phrase_doubts if rule.doubts(doubt)]
        if not doubtful:
            break
        worst = max(doubtful, key=rule.strength)
        phrase = text[worst.start : worst.end]
        struck.append(
            UnanchoredWord(worst.start, worst.end, phrase, f"the picture does not show '{phrase}'")
        )
        shorter = without_phrase(text, worst.start, worst.end)
        if not _stays_a_sentence(text, shorter):
            return GuardedProposal("", struck[-1].why, tuple(struck))
        text = shorter
    if is_blank(text):
        return GuardedProposal("", "nothing holds", tuple(struck))
    if boost.kind != "visual" and (omission := left_out(without_opener(human[0]), text)):
        return GuardedProposal("", f"leaves out part of the caption: '{omission}'", tuple(struck))
    return GuardedProposal(
        text, "", tuple(struck), anchored_share(text, boost.sources or human), tuple(notes)
    )


def _contradictions(boost: Boost, text: str, human: Sequence[str]) -> list[UnanchoredWord]:
    """What the human captions, starting with the one to enrich, contradict, and negations that
    occur in no source."""
    return [
        *conflicts(text, human),
        *misplaced_negations(text, human[:1]),
        *misplaced_negations(text, boost.sources, with_unmentioned=bool(boost.sources)),
    ]


def _stays_a_sentence(text: str, shorter: str) -> bool:
    """Whether removing a phrase left a sentence or nothing; true if the text was no sentence."""
    return not shorter or is_sentence(shorter) or not is_sentence(text)


def keeps(p_before: float | None, p_after: float | None, gain: float, rank_gain: int) -> str:
    """Why a richer caption is not suggested; "" if it is. `gain`: increase in specificity;
    `rank_gain`: places that its picture gains in retrieval."""
    if p_before is not None and p_after is not None and p_after > p_before + P_SLACK:
        return "more likely to be wrong than the caption"
    if gain < LEAST_GAIN and rank_gain <= 0:
        return "no more specific"
    return ""


def unsupported_words(boost: Boost, proposal: GuardedProposal, human: Sequence[str]) -> int:
    """Words of a proposal after the guard that occur in none of its sources; for a Visual, which
    has no sources, in no human caption."""
    return len(find_unsupported(proposal.caption, boost.sources or human))


def worth(gain: float, unsupported_words: int) -> float:
    """Sort key of a pair's enrichments, higher is better: the gain in specificity minus the
    penalty for words found in no source."""
    return gain - UNSUPPORTED_COST * unsupported_words


_OPENER = re.compile(
    r"^\s*(?:(?:this|there|here)\s+(?:is|are)\s+)?(?:an?|the)?\s*(?:close-?up\s+)?"
    r"(?:picture|photo|photograph|image|drawing|view|shot|close-?up)\s+of\s+",
    re.IGNORECASE,
)


def without_opener(caption: str) -> str:
    """The caption without "A picture of", which says nothing about the content.

    >>> without_opener("A photo of a dog."), without_opener("A dog with a photo of a cat.")
    ('a dog.', 'A dog with a photo of a cat.')
    """
    return _OPENER.sub("", caption)


def _fitting(text: str, facts: CaptionFacts, words: int) -> str:
    """The caption cut to `words` words: objects not in `facts` go first, starting at the end."""
    while len(Caption.parse(text)) > words:
        things = [phrase for phrase in new_phrases(text, facts) if phrase.kind == "object"]
        if not things:
            return leading_phrases(text, words)
        text = without_phrase(text, things[-1].start, things[-1].end)
    return text
