"""Endings that say nothing about the picture: who took or owns it, hashtags, the name or the size
of the file, a shop, its price, a site that sells pictures, an address, a licence, and flags of an
image generator.

They belong to no claim: models read them as something that the picture shows, so that a
photographer's name becomes the most suspicious word.
"""

import re
from collections.abc import Callable
from itertools import islice

# ---------------------------------------------------------------- credits

_CAPITAL = r"[A-ZÀ-ÖØ-Þ@][\w.'’-]{0,40}"
_NAME = rf"{_CAPITAL}(?: (?:{_CAPITAL}|de|da|di|del|van|von|der|la)){{0,5}}"
_NAMES = rf"{_NAME}(?:\s?[/,|]\s?{_NAME}){{0,3}}"
_LABEL = (
    r"(?i:(?:photo(?:graph)?|image|picture|pic)s?"
    r"(?: by|\s?:|\s?/|\s?©|,? (?:courtesy of|courtesy|credits?)(?:\s?:)?)"
    r"|credits?\s?:|courtesy of|copyright(?:\s?:|\s?©)?|©|\(c\))"
)
#: Behind a sentence, in brackets or behind a dash: "A photo by Lake Como" is a caption.
_CREDIT = re.compile(
    rf"(?:(?<=[.!?…;,)\]\"”])\s?|\s[|–—-]{{1,2}}\s|\s(?=[(\[]))"
    rf"(?:{_LABEL}\s?{_NAMES}|[(\[]\s?{_LABEL}\s?{_NAMES}\s?[)\]]"
    rf"|[(\[](?:AP|AFP) Photo/{_NAMES}[)\]])"
    r"\.?\s*\Z"
)
#: One of them is in every credit, in lower case; no credit is longer.
_CREDIT_WORDS = ("photo", "image", "pic", "credit", "courtesy", "copyright", "©", "(c)")
_LONGEST_CREDIT = 200


def credit_start(text: str) -> int | None:
    """Where the credit at the end of a caption starts; None if there is none.

    >>> credit_start("A dog runs. Photo by Jane Doe / Reuters"), credit_start("A photo by Jane.")
    (11, None)
    """
    lower = text[-_LONGEST_CREDIT:].lower()  # nearly all captions are told by that
    if not any(word in lower for word in _CREDIT_WORDS) or "(b)" in lower:  # "(c)" of a list
        return None
    match = _CREDIT.search(text, max(1, len(text) - _LONGEST_CREDIT))
    return match.start() if match is not None and text[: match.start()].strip() else None


#: In front it ends with a mark: "Photo by Jane Doe is on the wall" is a caption.
_CREDIT_BEFORE = re.compile(
    rf"\s*[(\[]?(?:(?i:(?:photo(?:graph)?|image|picture|pic)s? (?:by|courtesy of)|courtesy of|©"
    rf"|via) ?{_NAMES}|@[\w.]{{2,40}})[)\]]?\s?[:|]\s+(?=\S)"
)


def credit_before(text: str) -> int:
    """Where the credit in front of a caption ends; 0 if there is none.

    >>> credit_before("Photo by Jane Doe: a dog"), credit_before("A photo by Jane: a dog")
    (19, 0)
    """
    match = _CREDIT_BEFORE.match(text[:_LONGEST_CREDIT])
    return match.end() if match is not None else 0


# ---------------------------------------------------------------- pages and files

_SEPARATOR = r"\s(?:[|·•»–—-]{1,2})\s"
_SITES = (
    r"(?:shutterstock|i ?stock(?:photo)?|getty ?images|alamy|dreamstime|adobe ?stock|depositphotos"
    r"|123rf|freepik|vecteezy|unsplash|pexels|pixabay|flickr|pinterest|etsy|e ?bay|amazon"
    r"|aliexpress|walmart|redbubble|zazzle|wikipedia|wikimedia commons)(?:\.(?:com|org|de|co\.uk))?"
)
_SHOP_WORDS = (
    r"free shipping|free delivery|(?:buy|shop|order)(?: it)? (?:online|now|here)|in stock|on sale"
    r"|best price|free download|(?:hd |4k |free )?wallpapers?|\d{1,2} ?% off"
)
_STOCK = (
    r"(?:royalty[- ]free )?stock (?:photo(?:graph(?:y|s)?|s)?|images?|pictures?|vectors?"
    r"|illustrations?)(?: #?\d{3,})?|royalty[- ]free(?: (?:photos?|images?|pictures?|vectors?))?"
)
#: Without a mark before it: "A man sells stock photos" is a caption.
_TITLED = r"(?-i:(?:Royalty[- ]Free )?Stock (?:Photo|Image|Vector|Illustration))(?: #?\d{3,})?"
#: An address of a page is one that somebody typed; others may be what a sign says, unless they
#: stand in brackets or behind the sentence.
_ADDRESS = (
    r"\s[(\[<]?https?://[^\s<>()]{1,300}[)\]>]?"
    r"|(?:(?<=[.!?])\s|\s(?=[(\[<])|\s[|·•–—-]{1,2}\s)[(\[<]?"
    r"(?:www\.[^\s<>()]{1,300}|(?:pic\.twitter\.com|t\.co)/\w{1,40}"
    r"|[\w.+-]{1,60}@[\w-]{1,60}(?:\.[\w-]{2,20}){1,3}"
    r"|(?:licen[cs]e: ?)?CC(?:0| BY(?:-(?:NC|SA|ND)){0,2})(?:[ -]\d\.\d)?"
    r"|ID:? ?#?\d{3,20})[)\]>]?"
)
#: A single hashtag belongs to the caption, unless that ends before it.
_PAGE_ENDING = re.compile(
    r"(?:"
    rf"{_SEPARATOR}(?:(?:at|on|from|by|via) )?(?:{_SITES}|{_SHOP_WORDS}|{_STOCK})"
    rf"|,\s?(?:{_STOCK})|\s{_TITLED}"
    r"|(?:\s#[^\W\d]\w{1,40}){2,150}|(?<=[.!?])\s#[^\W\d]\w{1,40}"
    r"|\s[(\[]?[\w-]{0,40}\d[\w-]{0,40}\.(?:jpe?g|png|gif|webp|bmp|tiff?|heic)[)\]]?"
    r"|\s(?:\d{3,5}[x×]\d{3,5}(?: ?px)?|[(\[]\d{3,5} ?[x×] ?\d{3,5}(?: ?px)?[)\]])"
    rf"|{_SEPARATOR}(?:US ?)?[$€£] ?\d[\d.,]{{0,12}}|{_ADDRESS}"
    r")[.!]?\s*\Z",
    re.IGNORECASE,
)
#: None is longer; several may follow each other; what stands before has so many words of letters.
_LONGEST_PAGE_ENDING, _MOST_PAGE_ENDINGS, _FEWEST_WORDS = 600, 5, 3
_WORD = re.compile(r"[^\W\d_]+")


def page_ending_start(text: str) -> int | None:
    """Where hashtags, a file's, shop's or site's name, a size, a price, an address or a licence at
    the end of a caption start; None if there are none.

    >>> page_ending_start("A dog on grass | Etsy"), page_ending_start("A dog in a shop, on sale")
    (14, None)
    """
    start = None
    for _ in range(_MOST_PAGE_ENDINGS):
        end = len(text) if start is None else start
        match = _PAGE_ENDING.search(text[:end], max(0, end - _LONGEST_PAGE_ENDING))
        if match is None or not _has_words(text, match.start()):
            break
        start = match.start()
    return start


def _has_words(text: str, end: int) -> bool:
    words = islice(_WORD.finditer(text, 0, end), _FEWEST_WORDS)
    return sum(1 for _ in words) == _FEWEST_WORDS


# ---------------------------------------------------------------- image generators

_FLAG = (
    r"(?:ar|aspect|v|version|niji|style|stylize|s|seed|chaos|c|quality|q|weird|tile|iw|sref|sw|cref"
    r"|cw|oref|ow|hd|raw|stop|repeat|profile|p|exp|draft|fast|turbo|relax|video|motion|loop)"
)
#: Longer ones are none.
_LONGEST_FLAGS = 1_000
_FLAGS = re.compile(
    rf"(?:\s--(?:no(?:\s(?!--)\S{{1,60}}){{1,20}}|{_FLAG}(?:\s(?!--)[\w.:/?=&-]{{1,200}})?)){{1,20}}"
    r"\s*\Z",
    re.IGNORECASE,
)


def flags_start(text: str) -> int | None:
    """Where flags of an image generator at the end of a caption start, as Midjourney's
    (https://docs.midjourney.com); None if there are none.

    >>> flags_start("a dog --ar 16:9 --no cats, text"), flags_start("a dog --nice")
    (5, None)
    """
    match = _FLAGS.search(text, max(0, len(text) - _LONGEST_FLAGS)) if " --" in text else None
    return match.start() if match is not None and text[: match.start()].strip() else None


# ---------------------------------------------------------------- all of them

#: Of nonsense that is endings alone, the rest is read.
_MOST_ROUNDS = 10
_STARTS: tuple[Callable[[str], int | None], ...] = (credit_start, page_ending_start, flags_start)


def cut_at(text: str, start: int | None) -> str:
    """The caption without its ending.

    >>> cut_at("A dog, © Jane Doe", credit_start("A dog, © Jane Doe"))
    'A dog'
    """
    return text if start is None else text[:start].rstrip(" ,;")


def blank_out_endings(text: str) -> str:
    """The caption with line breaks in place of its endings and of a credit in front, as long as
    before.

    >>> blank_out_endings("A red dog. © AP #dog #cute").rstrip()
    'A red dog.'
    """
    described = text
    for _ in range(_MOST_ROUNDS):
        start = min((s for f in _STARTS if (s := f(described)) is not None), default=0)
        if not start:
            break
        described = described[:start]
    first = credit_before(described)
    return "\n" * first + described[first:] + "\n" * (len(text) - len(described))
