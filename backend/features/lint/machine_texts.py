"""Texts that programs write for each other, in place of a description or around it: coordinates,
settings of an image generator, subtitles, values of Python, and words of a web page."""

import re

from backend.engine.claims.tags import is_tag_list
from backend.engine.constants.endings import cut_at, flags_start

_NUMBER = r"-?(?:\d{1,6}(?:\.\d{1,20})?|\.\d{1,20})"

# ---------------------------------------------------------------- coordinates

_COORDINATES = re.compile(
    # Four numbers in brackets, two points, one point between nought and one.
    rf"[\[({{<]\s*{_NUMBER}(?:\s*,\s*{_NUMBER}){{3,8}}\s*[\])}}>]"
    rf"|\(\s*-?[\d.]{{2,20}}\s*,\s*{_NUMBER}\s*\)\s*,\s*\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)"
    r"|[\[(]\s*0?\.\d{1,20}\s*,\s*0?\.\d{1,20}\s*[\])]"
    r"|(?:<\d{1,4}>\s{0,3}){2}|<points?\s+x\d?=|\bbbox(?:_2d)?\b"
    rf"|\bx_?1\s{{0,3}}[=:]\s{{0,3}}{_NUMBER},?\s{{0,3}}y_?1\s{{0,3}}[=:]",
    re.IGNORECASE,
)
#: Numbers alone, or names with numbers of a detector.
_NUMBERS_ALONE = re.compile(
    rf"\s*(?:[\w ]{{1,30}}:)?\s*{_NUMBER}(?:\s*[\s,;]\s*{_NUMBER}){{3,200}}\s*"
    r"|\s*(?:[\w ]{1,30}:\s*[01]?\.\d{1,20}\s*(?:[,;]\s*)?){1,200}"
)


def has_coordinates(text: str) -> bool:
    """
    >>> has_coordinates("a dog [12, 34, 56, 78]"), has_coordinates("A dog (left) and 2 cats")
    (True, False)
    """
    if not any(character.isdigit() for character in text):
        return False
    return _COORDINATES.search(text) is not None or _NUMBERS_ALONE.fullmatch(text) is not None


# ---------------------------------------------------------------- image generators

_SETTINGS = re.compile(
    r"<(?:lora|lyco|hypernet|embedding|wlr):[^<>]{1,200}>"
    r"|\b(?:steps|seed|clip skip|denoising strength|cfg scale):\s{0,3}[\d.]{1,20}(?=\s*(?:,|$))"
    r"|\bsampler:\s(?:euler|dpm|ddim|heun|lms|uni|plms|k_)|\bmodel hash:"
    r"|\bnegative prompt\s?:|^\s*negative\s?:\s?\(?(?:bad|worst|low|ugly)|\bcfg scale\b"
    r"|\bembedding:\w"
    r"|(?<!\S)--(?:ar|aspect|v|niji|no|stylize|seed|chaos|style|sref|cref|iw)\s\S"
    r"|\blow ?res, (?:[\w ]{1,30}, ){0,3}bad (?:anatomy|hands)\b|\{[^{}|]{1,80}\|[^{}]{1,80}\}",
    re.IGNORECASE,
)
_SETTINGS_WORDS = ("<", "steps:", "seed:", "skip:", "strength:", "sampler:", "hash:", "negative",
                   "cfg scale", "embedding:", "--", "res, ", "|")  # fmt: skip


def has_generator_settings(text: str) -> bool:
    """
    >>> has_generator_settings("a dog <lora:fur:0.8>"), has_generator_settings("(blue eyes:1.2)")
    (True, False)
    """
    lower = text.lower()
    return any(word in lower for word in _SETTINGS_WORDS) and _SETTINGS.search(text) is not None


#: What can be taken out beside flags: marks of models, and all that follows the prompt.
_MARKS = re.compile(r"\s?<(?:lora|lyco|hypernet|embedding|wlr):[^<>]{1,200}>", re.IGNORECASE)
_BEHIND = re.compile(
    r"[\s,.]{0,20}(?:\bnegative prompt\s?:|\bsteps:\s{0,3}\d).*\Z", re.IGNORECASE | re.DOTALL
)


def without_generator_settings(text: str) -> str:
    """Words in braces to choose from stay: only a person can tell which is right.

    >>> without_generator_settings("a dog <lora:fur:0.8> runs --ar 16:9 --v 6")
    'a dog runs'
    >>> without_generator_settings("a dog\\nNegative prompt: cat\\nSteps: 20, Sampler: Euler a")
    'a dog'
    """
    plain = _MARKS.sub("", _BEHIND.sub("", text))
    plain = cut_at(plain, flags_start(plain)).strip(" ,")
    return plain or text


#: As prompts have them: below 2, and without a blank, unlike what is measured ("(fat: 4.5)").
_WEIGHTED = re.compile(r"(\({1,4})([^():]{0,78}[^\W\d_]{2}):[01]?\.\d{1,3}(\){1,4})")


def has_weights(text: str) -> bool:
    """In a list of tags they are read as such (`claims.tags`).

    >>> has_weights("A (dog:1.2) runs."), has_weights("1girl, solo, (blue eyes:1.2), smile")
    (True, False)
    """
    return ":" in text and _WEIGHTED.search(text) is not None and not is_tag_list(text)


def without_weights(text: str) -> str:
    """
    >>> without_weights("A ((dog:1.2)) on a (red sofa:0.8).")
    'A dog on a red sofa.'
    >>> without_weights("((A dog:1.2) on a sofa)")
    '(A dog on a sofa)'
    """

    def plain(match: re.Match[str]) -> str:
        opened, words, closed = match.groups()
        pairs = min(len(opened), len(closed))  # others belong to what is around it
        return f"{opened[pairs:]}{words}{closed[pairs:]}"

    return _WEIGHTED.sub(plain, text)


# ---------------------------------------------------------------- subtitles

_TIME = r"(?:\d{1,2}:)?\d{1,2}:\d\d(?:[.,]\d{1,3})?"
_SUBTITLES = re.compile(
    rf"{_TIME}\s*--?>\s*{_TIME}|^\s*WEBVTT\b|<v(?:\.\w{{1,20}})? [^<>]{{1,60}}>|\{{\\an?\d\}}"
    rf"|^\s*[\[(<]{_TIME}[\])>]|<{_TIME}>|(?:<\d{{1,5}}\.\d{{1,3}}>\s*){{2}}|^\s*SPEAKER_\d"
    r"|^\s*\d{1,5}(?:\.\d{1,3})?\s*(?:-|–|to)\s*\d{1,5}(?:\.\d{1,3})?\s?(?:sec|seconds)\b"
    r"|^\s*[\[(](?:music|applause|laughter|laughs|inaudible|blank_audio|silence|noise|speaking)"
    r"(?: [\w ]{1,30})?[\])]\s*$"
    r"|^\W*(?:thanks for watching|please (?:like and )?subscribe)\b|\bamara\.org\b",
    re.IGNORECASE,
)
_SUBTITLES_WORDS = (":", "<", "{\\", "speaker_", "[", "(", "webvtt", "sec",
                    "watching", "subscribe", "amara")  # fmt: skip


def is_subtitle(text: str) -> bool:
    """
    >>> is_subtitle("[Music]"), is_subtitle("00:00:01,000 --> 00:00:02,000"), is_subtitle("[dog]")
    (True, True, False)
    """
    lower = text.lower()
    return any(word in lower for word in _SUBTITLES_WORDS) and _SUBTITLES.search(text) is not None


# ---------------------------------------------------------------- values of Python

_PYTHON = re.compile(
    r"\s*(?:b(?:'.*'|\".*\")|(?:tensor|array|dict_keys|dict_values|timestamp|np\.\w{1,20})\(.*\)"
    r"|\(\s*(?:'.*'|\".*\")\s*,\s*\)|\[\s*(?:'.*'|\".*\")\s*\]|\{'.*'\}"
    r"|<(?:class '|PIL\.|function |built-in |generator |module ').*|\[Errno \d+\].*)\s*",
    re.DOTALL,
)


def is_python(text: str) -> bool:
    """
    >>> is_python("b'a dog'"), is_python("tensor([1, 2])"), is_python("'Caption' on a cover")
    (True, True, False)
    """
    return _PYTHON.fullmatch(text) is not None


# ---------------------------------------------------------------- words in place of a text

#: What stands where nobody wrote anything, after marks around it.
_NOTHING = frozenset({
    "none", "#n/a", "null", "nan", "n/a", "na", "n.a", "nil", "nat", "\\n", "undefined",
    "object object",
    "removed", "deleted", "error",
    "timeout", "idk", "ditto", "same as above", "see above", "no text", "nothing", "no objects",
    "no objects detected", "not available", "not applicable", "todo", "tba", "tbc", "fixme", "xxx",
    "asdf", "lorem", "caption", "description", "caption goes here", "your caption here",
    "enter caption", "add a caption", "insert text", "insert caption", "unused", "unanswerable",
    "keine", "keine beschreibung", "k. a", "sans légende", "aucune", "sin descripción",
    "senza descrizione", "sem descrição", "geen", "нет описания", "brak opisu",
    "无", "無", "暂无", "なし", "없음", "无描述",
})  # fmt: skip
_NO_TEXT = re.compile(
    r"no (?:image |photo |alt(?:ernative)? )?(?:captions?|descriptions?|title|alt(?: text)?|text)"
    r"(?: (?:is |was )?(?:available|provided|found|given|yet))?|#(?:ref|name|value|div/0)"
)
_AROUND = " \t\n\r\"'“”‘’`.,;:!?*_~-–—…()[]<>{}。！？、"


def is_nothing(text: str) -> bool:
    """Whether a text says that there is none, or has neither a letter nor a digit nor a picture.

    >>> [is_nothing(text) for text in ("#N/A", "No caption available.", "---", "None of them")]
    [True, True, True, False]
    """
    if len(text) > _LONGEST:
        return not text.strip(_AROUND + "#")
    word = text.strip(_AROUND).casefold()
    return not word.strip("#") or word in _NOTHING or _NO_TEXT.fullmatch(word) is not None


#: Longer texts are more than one of these.
_LONGEST = 80
#: Words of a page that are the same under any picture.
_OF_PAGES = re.compile(
    r"(?:an? |the )?(?:(?:my|new|product|stock|featured|hero|header|profile|cover|main|sample) )?"
    r"(?:image|img|photo|picture|pic|thumbnail|untitled|alt(?: ?text)?)(?: \d{1,3})?"
    r"|(?:image|photo|picture|thumbnail) (?:for|of)(?: (?:product|post|article|item))?"
    r"|spacer|default|(?:fig(?:ure)?\.?) \d{1,3}|loading|enlarge|read more|learn more|see more"
    r"|(?:click|tap)(?: here| image| photo| picture| on image)? (?:to|for) "
    r"(?:enlarge|zoom|view|see|open|expand|play|watch|download|larger?|full|more|details)"
    r"\b[\w ]{0,30}"
    r"|(?:view|show|see|open) (?:full|larger|large|original|all|bigger)"
    r"(?: (?:images?|pictures?|photos?|size|version|resolution))?"
    r"|(?:play|watch) video|add to (?:cart|basket|bag)|(?:buy|shop|order) now|sold out"
    r"|advertisement|(?:no (?:image|photo|picture)|image not)(?: (?:available|found|yet))?"
    r"|getty images|image placeholder|(?:sku|price|art\.? ?no\.?)\s?:?\s?[$€£#]?\d[\w.,-]{0,20}"
    r"|(?:image may contain|may be an? (?:image|picture|photo|graphic|illustration)|"
    r"image result for|no photo description)\b.*",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"(?:https?|ftp|file|s3|gs)://\S+|www\.\S+\.\S+|data:[\w/+.-]+[;,]\S*|mailto:\S+"
    r"|[\w.+-]{1,60}@[\w-]{1,60}\.[\w.]{2,20}|@\w{1,40}",
    re.IGNORECASE,
)
#: Names that cameras and programs give, digests and paths.
_FILE = re.compile(
    r"[\w() .:+&',/\\-]{1,200}\.(?:jpe?g|png|gif|webp|bmp|tiff?|heic|avif|mp4|mov|webm)"
    r"|(?:_?dscn?|dscf|gopr|pxl|fb_img|mvimg|shutterstock|istock|adobestock)"
    r"[-_ ]?\(?\d{1,}(?:[-_ ]\d+)*\)?|_dsc\d{2,}"
    r"|(?:file|frame|vid|download)(?:[-_]\d+|[-_ ]?\(\d+\)|\d{3,})"
    r"|(?:screenshot|screen shot|whatsapp image|photo) \d{4}-\d\d-\d\d\b.*"
    r"|(?:19|20)\d{6}[-_ ]\d{4,9}|[\da-f]{32}|[\da-f]{40}|[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}",
    re.IGNORECASE,
)


def is_of_page_or_file(text: str) -> bool:
    """
    >>> is_of_page_or_file("Click to enlarge"), is_of_page_or_file("PXL_20210101_123456")
    (True, True)
    >>> is_of_page_or_file("logo"), is_of_page_or_file("Picture of 2 dogs")
    (False, False)
    """
    word = text.strip()
    if len(word) > _LONGEST and " " in word and not word.lower().startswith(("image ", "may be ")):
        return False
    plain = word.strip(".!…\"'“”:[]() ")
    return (
        _OF_PAGES.fullmatch(plain) is not None
        or _LINK.fullmatch(word) is not None
        or _FILE.fullmatch(word) is not None
    )
