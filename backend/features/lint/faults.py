"""Rules about one caption. Each has examples of what it finds and of what it must leave alone in
`tests/features/lint/test_faults.py`; a rule that finds what is right costs more than it is worth.
"""

import html
import json
import operator
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from backend.datasets.cells import without_surrogates
from backend.datasets.reading.json_captions import has_json
from backend.datasets.reading.questions import is_request
from backend.engine.constants.endings import credit_start, cut_at, page_ending_start
from backend.features.lint.chat_answers import (
    is_no_description,
    is_reasoning,
    without_reasoning,
)
from backend.features.lint.machine_texts import (
    has_coordinates,
    has_generator_settings,
    has_weights,
    is_nothing,
    is_of_page_or_file,
    is_python,
    is_subtitle,
    without_generator_settings,
    without_weights,
)
from backend.features.lint.refusals import is_refusal
from backend.features.lint.token_marks import has_token_marks


@dataclass(frozen=True)
class Rule:
    """`finds`: whether a caption has the fault; `mend`: the caption without it, None where only a
    person can tell what is right."""

    name: str
    about: str
    finds: Callable[[str], bool]
    mend: Callable[[str], str] | None = None

    def without(self, text: str) -> str:
        """The caption without this fault; as it is if it has not the fault, or if only a person
        can tell.

        >>> RULES["markup"].without("A dog &amp; a cat<br>on a mat")
        'A dog & a cat on a mat'
        """
        return self.mend(text) if self.mend is not None and self.finds(text) else text


def _searches(*patterns: str, only_with: tuple[str, ...] = ()) -> Callable[[str], bool]:
    """Whether one of the patterns is found. `only_with`: every match contains one of these texts,
    in lower case; looking for them is much faster, and most captions have none."""
    expression = re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)

    def finds(text: str) -> bool:
        plain = text.replace("\u2019", "'")
        lower = plain.lower()
        may_match = not only_with or any(part in lower for part in only_with)
        return may_match and expression.search(plain) is not None

    return finds


# ---------------------------------------------------------------- loops of a captioner

#: A word three times in a row, two or three words likewise, or four to six words twice, in scripts
#: with blanks. "Very very" is somebody's word.
_W = r"[\w'’-]{1,40}"
_WORDS_AGAIN = re.compile(rf"\b(\w{_W}|\w)(?:\s+\1\b){{2,}}", re.IGNORECASE)
_PHRASE_AGAIN = re.compile(
    rf"\b((?:{_W}[\s,]+){{3,5}}{_W})(?:[\s,]+\1\b)+|\b((?:{_W}[\s,]+){{1,2}}{_W})(?:[\s,]+\2\b){{2,}}",
    re.IGNORECASE,
)
_LISTED_AGAIN = re.compile(rf"\b(\w{_W}|\w)(?:,\s*\1\b){{4,}}", re.IGNORECASE)
#: Two signs or more three times, or one seven times, in scripts without blanks.
_SIGNS_AGAIN = re.compile(
    r"(?=([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])(?!\1))([\u3040-\u9fff\uac00-\ud7a3]{2,20}?)\2{2,}"
    r"|([\u3400-\u9fff])\3{6,}"
)
_TOKEN = re.compile(r"[\w'’-]+")
_EXCLAMATIONS = frozenset(
    {"no", "ha", "very", "really", "so", "la", "oh", "ok", "okay", "bye", "go", "yeah"}
)
_SENTENCE_END = re.compile(r"[.!?。！？]+\s*")
#: Shorter sentences may be said twice.
_FEWEST_WORDS = 3


def _sentences_again(text: str) -> list[tuple[int, int]]:
    """Where a sentence stands that stood before, word for word."""
    before: set[str] = set()
    places, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        words = text[start : match.end()].casefold().split()
        sentence = " ".join(words)
        if len(words) >= _FEWEST_WORDS and sentence in before:
            places.append((start, match.end()))
        before.add(sentence)
        start = match.end()
    return places


def _words_again(text: str) -> list[re.Match[str]]:
    """Where a word stands three times or more that is no exclamation."""
    matches = _WORDS_AGAIN.finditer(text)
    return [match for match in matches if match.group(1).casefold() not in _EXCLAMATIONS]


def _loops(text: str) -> bool:
    if not text.isascii() and _SIGNS_AGAIN.search(text) is not None:
        return True
    # Nearly all captions are told by their words alone, which is much faster than the expressions.
    words = _TOKEN.findall(text.casefold())
    if len(set(pairwise(words))) >= len(words) - 1:  # no two words come again
        return False
    if _come_again(words) and (
        _words_again(text)
        or _PHRASE_AGAIN.search(text) is not None
        or _LISTED_AGAIN.search(text) is not None
    ):
        return True
    threes = set(zip(words, words[1:], words[2:], strict=False))
    return len(threes) < len(words) - 2 and bool(_sentences_again(text))


def _come_again(words: list[str]) -> bool:
    """Whether one to three words stand three times in a row, or four to six words twice."""
    for size in range(1, 7):
        same = size * (2 if size <= 3 else 1)
        if b"\1" * same in bytes(map(operator.eq, words, words[size:])):
            return True
    return False


def _without_loops(text: str) -> str:
    for start, end in reversed(_sentences_again(text)):
        text = text[:start] + text[end:]
    text = _SIGNS_AGAIN.sub(lambda match: match.group(2) or match.group(3), text)
    text = _LISTED_AGAIN.sub(r"\1", text)
    text = _PHRASE_AGAIN.sub(lambda match: match.group(1) or match.group(2), text)
    for match in reversed(_words_again(text)):
        text = text[: match.start()] + match.group(1) + text[match.end() :]
    return text.strip()


# ---------------------------------------------------------------- endings

#: Words after which an English caption goes on; prepositions that also end one ("the lights are
#: on", "a cup to put change into") are left out.
_GOES_ON = re.compile(
    r"\b(?:a|an|the|of|with|and|or|from|near|between|their|which|while|"
    r"und|oder|einem|eines|une)\s*$",
    re.IGNORECASE,
)
#: Not after a blank: there a comma is somebody's full stop, and dots are a pause. ":(" is a face.
_ENDS_OPEN = re.compile(
    r"(?:\S(?:[,:;]|\.\.\.|…)|(?<![:;'-])[(\[]|[–—]|\w-|\[(?:\.{3}|…|truncated)\])\s*$"
)
#: More characters than the words and marks above have.
_LONGEST_ENDING = 20
_TAG_SEPARATOR = re.compile(r"[,;|]")


def _is_cut(text: str) -> bool:
    end = text.rstrip()[-_LONGEST_ENDING:]
    goes_on = _GOES_ON.search(end) is not None
    if not goes_on and _ENDS_OPEN.search(end) is None:
        return False
    # "boy, dog, tree," is how tags are written.
    is_sentence = goes_on or len(_TAG_SEPARATOR.findall(text)) < 3
    return is_sentence and len(text.split()) >= 4


# ---------------------------------------------------------------- characters

#: Controls and formats that show nothing. What scripts and emoji need to be joined or kept apart is
#: none of them next to a letter of such a script, or to a symbol.
_INVISIBLE = (
    "\u200b\u2060\ufeff\u00ad\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_JOINERS = "\u200c\u200d"


def _is_invisible(text: str, index: int) -> bool:
    character = text[index]
    if character in _JOINERS:
        beside = text[max(index - 1, 0) : index] + text[index + 1 : index + 2]
        return all(c.isascii() for c in beside)
    if character in "\u200e\u200f\u202a\u202b\u202c\u2066\u2067\u2068\u2069":
        return not any(unicodedata.bidirectional(c) in ("R", "AL") for c in text)
    return character in _INVISIBLE or (
        unicodedata.category(character) == "Cc" and character not in "\t\n\r"
    )


def _invisible_in(text: str) -> list[int]:
    """The places of characters that show nothing."""
    if text.isascii() and text.isprintable():
        return []
    return [index for index in range(len(text)) if _is_invisible(text, index)]


def _without_invisible(text: str) -> str:
    places = set(_invisible_in(text))
    return "".join(c for index, c in enumerate(text) if index not in places)


def _is_mojibake(text: str) -> bool:
    if text.isascii():
        return False
    from ftfy.badness import is_bad

    return "\ufffd" in text or (is_bad(text) and _decoded_again(text) != text)


def _decoded_again(text: str) -> str:
    from ftfy import fix_encoding

    return fix_encoding(text)


# ---------------------------------------------------------------- markup

_TAG = re.compile(
    r"</?(?:a|b|br|i|p|u|em|li|ul|ol|div|img|font|span|strong|small|center|h[1-6]|table|tr|td)"
    r"(?:\s[^<>]{0,300})?/?>",
    re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:[a-z][a-z\d]{1,30}|#\d{1,6}|#x[\da-f]{1,5});", re.I)
#: A heading and links of Markdown.
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(?=[^\W\d_])", re.MULTILINE)
_LINK = re.compile(
    r"!?\[([^\[\]\n]{1,200})\]\((?:https?:|[\w./%-]{1,200}\.\w{2,4}\b)[^()\s]{0,300}\)"
)


#: Bold words of Markdown, and line breaks that were written as text.
_BOLD = re.compile(r"\*\*(?=\w)([^*\n]{1,200}?)\*\*")
_BREAK = re.compile(r"(?<!\\)(?:\\r)?\\n(?![a-z])|(?<=[.!?])(?:\\r)?\\n")


#: Characters that were written as JSON writes them.
_ESCAPED = re.compile(r"(?:\\u[\da-fA-F]{4})+")


def _has_entity(text: str) -> bool:
    return any(html.unescape(match[0]) != match[0] for match in _ENTITY.finditer(text))


def _has_markup(text: str) -> bool:
    if ("<" in text and _TAG.search(text)) or ("&" in text and _has_entity(text)):
        return True
    if ("# " in text and _HEADING.search(text)) or ("](" in text and _LINK.search(text)):
        return True
    if "**" in text and _BOLD.search(text):
        return True
    if "\\u" in text and _ESCAPED.search(text):
        return True
    return "\\n" in text and _BREAK.search(text) is not None


def _without_markup(text: str) -> str:
    plain = _LINK.sub(r"\1", _HEADING.sub("", _TAG.sub(" ", text)))
    plain = _BOLD.sub(r"\1", _BREAK.sub(" ", plain))
    plain = _ESCAPED.sub(lambda match: without_surrogates(json.loads(f'"{match[0]}"')), plain)
    return " ".join(html.unescape(plain).replace("\u00a0", " ").split())


#: A fence of Markdown or Python's quotes at an end, and a text that is code as a whole.
_FENCED = re.compile(r"^\s*(?:~~~|\'\'\'|\"\"\")|(?:~~~|\'\'\'|\"\"\")\s*$|^\s*`[^`]+`\s*$")


def _is_answer_in_code(text: str) -> bool:
    return (
        has_json(text)
        or _FENCED.search(text) is not None
        or _LISTED.search(text) is not None
        or is_python(text)
    )


#: Two lines of a list of Markdown, or the line under the head of a table.
_LISTED = re.compile(
    r"^\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+\S[^\n]*\n\s*(?:[-*+•]|\d{1,2}[.)])[ \t]+\S"
    r"|^\s*\|?[ \t]*:?-{3,}:?[ \t]*\|",
    re.MULTILINE,
)


# ---------------------------------------------------------------- words of a prompt

#: The names of parts of an answer, as its tags or headings.
_PART = r"(?:caption|description|output|response|result|answer)"

#: What a caption is called, before it: with a mark behind it, or in brackets.
_CALLED = (
    r"(?:(?:short|long|brief|detailed|final|new|image|photo|picture|generated|ai[- ]generated)[ -])"
    r"{0,3}(?:captions?|descriptions?|alt(?:ernative)?[- ]text)(?: \d{1,2})?"
)
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_LABEL = "|".join((
    rf"(?:\d{{1,2}}[.)]\s*)?{_CALLED}\s*(?:[:=>]|[-–—]\s)|(?:output|prompt)\s*:",
    rf"[(\[{{<*]{{1,3}}{_CALLED}\s*:?[)\]}}>*]{{1,3}}\s*[:=>–—-]?",
    rf"[\"']{_CALLED}(?:\s*:\s*[\"']|[\"']\s*[:=>–—-])",
    r"[(\[](?:image|photo|picture)[)\]]\s*:?",
    # In brackets around all of the text.
    *(rf"\{start}(?:{_CALLED}|image|photo|picture)\s*:(?=[^\{end}]*\{end}\s*$)"
      for start, end in _BRACKETS.items()),
))  # fmt: skip

#: What a chat model says before a caption, up to the colon.
_LEAD_IN = re.compile(
    rf"^\s*(?:{_LABEL}|"
    r"(?:sure|certainly|of course|okay|ok|absolutely)\b[^:\n]{0,80}:|"
    r"(?:sure|certainly|of course|absolutely)[!.]\s+|"
    r"here(?:'s| is| are)\s+(?:a|an|the|my|your|one)\b"
    r"[^:\n]{0,80}\b(?:caption|description)\b[^:\n]{0,60}:|"
    r"(?:hier ist|voici|aquí (?:está|tienes)|ecco|aqui está|вот)\b[^:\n]{0,80}"
    r"\b(?:beschreibung|bildunterschrift|description|légende|descripción|descrizione|didascalia|"
    r"descrição|legenda|описание|подпись)\b[^:\n]{0,60}:|"
    r"(?:好的|当然)?[，,。！!]?\s*(?:以下|这)是[^:：\n]{0,40}(?:描述|说明|标题)\s*[:：]|"
    rf"#{{1,6}}\s*{_PART}\b\s*(?::|\n)|<{_PART}>|\\boxed\{{)\s*",
    re.IGNORECASE,
)


_LEAD_OUT = re.compile(rf"</{_PART}>\s*$", re.IGNORECASE)


def _without_lead_in(text: str) -> str:
    lead = _LEAD_IN.match(text)
    rest = _LEAD_OUT.sub("", text[lead.end() :] if lead is not None else text).strip()
    if lead is not None and "boxed" in lead[0]:
        # A full stop may stand behind the brace, and in it too.
        inner, _, behind = rest.rpartition("}")
        rest = inner if inner and inner.endswith(behind) else inner + behind
    label = lead[0].strip() if lead is not None else ""
    if (closing := _BRACKETS.get(label[:1])) and closing not in label:
        rest = rest.removesuffix(closing).strip()
    return rest[1:-1].strip() if len(rest) > 2 and rest[0] == rest[-1] == '"' else rest


_GLUED = re.compile(r"(?<=[a-z]{2}[.!?])(?=[A-Z][a-z]+\s)")
_END_AND_CAPITAL = re.compile(r"[.!?][A-Z]")
_GLUED_TAGS = re.compile(r"(?:#\w{2,}){3,}")


def _is_glued(text: str) -> bool:
    # The first look is much faster, and most captions have nothing of it.
    if _END_AND_CAPITAL.search(text) and _GLUED.search(text):
        return True
    return "#" in text and _GLUED_TAGS.search(text) is not None


_has_placeholder = _searches(
    r"\b(?:lorem ipsum|placeholder|todo:|tbd\b)",
    r"\[(?:insert|your|name|caption|description|object|person|location|color)\b[^\]]{0,40}\]",
    r"\{\{?\s*(?:caption|name|object|description|prompt|text)\s*\}?\}",
    r"^\s*(?:user|assistant|system|human|gpt)\s*[:\n]",
    r"\n\s*(?:user|assistant|human|gpt)\s*:",
    r"(?<!\S)(?-i:USER|ASSISTANT|HUMAN)\s?:|#{2,3}\s?(?:human|assistant|instruction|user|response)\b",
    only_with=("<", "[", "{", "lorem ipsum", "placeholder", "todo:", "tbd", ":", "\n", "##"),
)


_has_words_of_chat = _searches(
    _LEAD_IN.pattern,
    r"\b(?:write|generate|provide|create) (?:a|an|one) (?:\w+ ){0,3}"
    r"(?:caption|description|prompt) (?:for|of|that)\b",
    r"\b(?:the|your) caption should\b",
    r"^\s*describe (?:the|this) (?:image|picture|photo)",
    r"^\s*(?:sure|certainly|of course|absolutely)[!.]\s+\S",
    rf"</{_PART}>\s*$",
    r"^\s*you are (?:a|an) (?:\w+ ){0,3}(?:assistant|captioner|annotator|expert|ai)\b",
    r"^\s*your (?:task|job) is to\b",
    r"^\s*(?:system prompt|instruction)\s*:|^\s*v?qa>|^\s*(?:caption|describe|detect|ocr) en\s*$",
    r"^\s*(?:q|question)\s*:.{1,400}\b(?:a|answer)\s*:",
    r"\bi hope this helps\b",
    r"\blet me know if you\b",
    r"\bfeel free to ask\b",
    r"\bwould you like me to\b",
    r"\bis there anything (?:else|specific|in particular) (?:that )?you(?:'d| would)\b",
    only_with=(
        ":",
        "#",
        "<",
        ">",
        "\\boxed",
        "caption",
        "description",
        "alt text",
        "alt-text",
        "(image",
        "[image",
        "(photo",
        "[photo",
        "(picture",
        "[picture",
        "you are",
        "your ",
        "describe",
        "detect",
        "ocr",
        "i hope",
        "let me know",
        "sure",
        "certainly",
        "prompt",
        "of course",
        "absolutely",
        "feel free",
        "would you",
        "is there any",
        "\uff1a",
    ),
)


_is_of_camera = _searches(
    r"^\W*(?:olympus|konica minolta|minolta|samsung|kodak|pentax|sanyo|exif|casio)?\s*"
    r"digital (?:still )?camera\W*$",
    r"^\W*(?:sony dsc|exif[_ ]jpeg[_ ]picture|processed with \w+(?: with .{1,40})?)\W*$",
    r"^\W*(?:dsc|dscn|dscf|img|imgp|pict|p|mvc|screenshot|untitled|image|photo|picture)"
    r"[-_ ]?\d{2,}(?:[-_ ]\d+)*(?:\.\w{3,4})?\W*$",
    r"^\S+\.(?:jpe?g|png|gif|webp|bmp|tiff?|heic)$",
)


_is_error = _searches(
    r"^\s*[{\[]\s*\"?(?:error|detail|message|status|code)\"?\s*:",
    r"<think>\s*</think>",
    r"^\s*<?(?:error|http error|exception|traceback)\b\s*(?:[:>]|\d{3}\b|\()",
    r"\b(?:rate limit (?:exceeded|reached)|internal server error|bad gateway|"
    r"service unavailable|cuda out of memory|connection (?:timed out|refused))\b",
    only_with=(
        "error",
        "detail",
        "message",
        "status",
        "code",
        "think>",
        "exception",
        "traceback",
        "rate limit",
        "bad gateway",
        "unavailable",
        "out of memory",
        "connection",
    ),
)


def _ending(name: str, about: str, start: Callable[[str], int | None]) -> Rule:
    """Of an ending that begins at `start`, which scoring leaves out too."""
    return Rule(
        name, about, lambda text: start(text) is not None, lambda text: cut_at(text, start(text))
    )


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("loop", "words or sentences are repeated, as by a captioner in a loop",
             _loops, _without_loops),
        Rule("refusal", "a language model's refusal instead of a caption", is_refusal),
        Rule("failed answer", "an error message, or an answer without a text",
             lambda text: is_nothing(text) or _is_error(text)),
        Rule("reasoning", "what a language model thinks, instead of a caption or before it",
             is_reasoning, without_reasoning),
        Rule("answer", "a question, or the answer to one, instead of a description",
             is_no_description),
        Rule("cut ending", "the text ends in the middle of a sentence", _is_cut),
        Rule("placeholder", "a placeholder, or the marks of a prompt's roles or of a tokenizer",
             lambda text: has_token_marks(text) or _has_placeholder(text)),
        Rule("characters", "characters of a text that was read in another encoding",
             _is_mojibake, _decoded_again),
        Rule("invisible", "characters that show nothing",
             lambda text: bool(_invisible_in(text)), _without_invisible),
        Rule("markup", "tags or entities of HTML, marks of Markdown, or \\n written as text",
             _has_markup, _without_markup),
        Rule("json", "JSON, a value of Python, a list or a fence of Markdown instead of a caption",
             _is_answer_in_code),
        Rule("camera", "words of a camera, a file or a web page, or a link, instead of a caption",
             lambda text: (is_of_page_or_file(text) or _is_of_camera(text))
             and page_ending_start(text) is None),
        _ending("page ending", "hashtags, the name of a file, a shop or a site, behind the caption",
                page_ending_start),
        _ending("credit", "who took or owns the picture, behind the caption", credit_start),
        Rule("coordinates", "places of boxes or points, or numbers of a detector", has_coordinates),
        Rule("generator", "settings of an image generator",
             has_generator_settings, without_generator_settings),
        Rule("weights", "weights of a prompt in a sentence, such as (dog:1.2)",
             has_weights, without_weights),
        Rule("subtitles", "times or marks of subtitles", is_subtitle),
        Rule("glued", "words without the blank between them", _is_glued,
             lambda text: _GLUED.sub(" ", text)),
        Rule("prompt", "words of a prompt or of a chat around the caption",
             lambda text: is_request(text) or _has_words_of_chat(text), _without_lead_in),
    )
}  # fmt: skip


def faults_of(caption: str) -> list[str]:
    """The names of the rules that find something.

    >>> faults_of("A dog on the the the beach &amp; a cat."), faults_of("A dog on the beach.")
    (['loop', 'markup'], [])
    """
    return [rule.name for rule in RULES.values() if rule.finds(caption)]


#: Those that need nobody's look, by name.
MENDS: dict[str, Callable[[str], str]] = {
    rule.name: rule.without for rule in RULES.values() if rule.mend is not None
}
