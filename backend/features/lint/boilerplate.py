"""What pages and programs put behind a caption: hashtags, the name of the file, of a shop or of a
site that sells pictures. Models read it as something that the picture shows."""

import re

_SEPARATOR = r"\s(?:[|·•»–—-]{1,2})\s"
_SITES = (
    r"(?:shutterstock|i ?stock(?:photo)?|getty ?images|alamy|dreamstime|adobe ?stock|depositphotos"
    r"|123rf|freepik|vecteezy|unsplash|pexels|pixabay|flickr|pinterest|etsy|e ?bay|amazon"
    r"|aliexpress|walmart|redbubble|zazzle|wikipedia|wikimedia commons)(?:\.(?:com|org|de|co\.uk))?"
)
_OFFERS = (
    r"free shipping|free delivery|(?:buy|shop|order)(?: it)? (?:online|now|here)|in stock|on sale"
    r"|best price|free download|(?:hd |4k |free )?wallpapers?|\d{1,2} ?% off"
)
_STOCK = (
    r"(?:royalty[- ]free )?stock (?:photo(?:graph(?:y|s)?|s)?|images?|pictures?|vectors?"
    r"|illustrations?)(?: #?\d{3,})?|royalty[- ]free(?: (?:photos?|images?|pictures?|vectors?))?"
)
#: Without a mark before it: "A man sells stock photos" is a caption.
_TITLED = r"(?-i:(?:Royalty[- ]Free )?Stock (?:Photo|Image|Vector|Illustration))(?: #?\d{3,})?"
#: A single hashtag belongs to the caption, unless that ends before it.
_ENDING = re.compile(
    r"(?:"
    rf"{_SEPARATOR}(?:(?:at|on|from|by|via) )?(?:{_SITES}|{_OFFERS}|{_STOCK})"
    rf"|,\s?(?:{_STOCK})|\s{_TITLED}"
    r"|(?:\s+#[^\W\d]\w{1,40}){2,40}|(?<=[.!?])\s+#[^\W\d]\w{1,40}"
    r"|\s[(\[]?[\w-]{0,40}\d[\w-]{0,40}\.(?:jpe?g|png|gif|webp|bmp|tiff?|heic)[)\]]?"
    r"){1,5}[.!]?\s*\Z",
    re.IGNORECASE,
)
#: No match is longer; and a caption has at least so many words, of letters.
_LONGEST, _FEWEST_WORDS = 600, 3
_WORD = re.compile(r"[^\W\d_]+")


def has_boilerplate(text: str) -> bool:
    """
    >>> has_boilerplate("A dog runs on grass | Etsy"), has_boilerplate("A dog on grass, on sale")
    (True, False)
    """
    return _match(text) is not None


def without_boilerplate(text: str) -> str:
    """
    >>> without_boilerplate("A dog runs. #dog #cute"), without_boilerplate("A red dog DSC_0012.JPG")
    ('A dog runs.', 'A red dog')
    """
    match = _match(text)
    return text if match is None else text[: match.start()].rstrip(" ,;")


def _match(text: str) -> re.Match[str] | None:
    match = _ENDING.search(text, max(0, len(text) - _LONGEST))
    if match is None or len(_WORD.findall(text[: match.start()])) < _FEWEST_WORDS:
        return None
    return match
