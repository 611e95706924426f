"""The text that tokens were cut from, as far as they say it.

Tokens are joined by a blank, but there is none

* before . , ! ? ; : % and closing brackets or quotes, before 's, n't and the like;
* after opening brackets and quotes, $ and #; straight quotes open and close in turn;
* between two characters of Chinese, Japanese or Thai, or beside their punctuation.

Where tokens carry the marks of their tokenizer, these decide: "##" (WordPiece) and "@@" join
pieces, "▁" (SentencePiece), "Ġ" (byte-level BPE) and "</w>" (CLIP) stand for the blanks. Single
characters among which there are blanks are put together as they are. Special tokens at the ends
([CLS], <start>) are no text.
"""

import re
from collections.abc import Sequence

_UNSPACED = r"\u0e00-\u0e7f\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_WIDE = re.compile(f"[{_UNSPACED}\u3000-\u303f\uff01-\uff65]")
_NO_BLANK_BEFORE = re.compile(
    r"[.,!?;:%…)\]}”’]+|''|['’](s|re|ve|ll|d|m|t)|['’]|n['’]t|-rrb-|-rsb-", re.IGNORECASE
)
_NO_BLANK_AFTER = re.compile(r"[(\[{“‘$#]+|``|-lrb-|-lsb-", re.IGNORECASE)
_PUNCTUATION = re.compile(r"[.,!?;:…。，、！？；：·\"“”()（）-]+|``|''|n['’]t|['’](s|re|ve|ll|d|m)")
#: How the Penn Treebank's tokenizer writes what would confuse its brackets.
_PLAIN = {"``": '"', "''": '"', "-lrb-": "(", "-rrb-": ")", "-lsb-": "[", "-rsb-": "]"}
_MARKED = re.compile(r"##.+|[▁Ġ].*|.+</w>|.+@@")
_SPECIAL = re.compile(
    r"\[(cls|sep|pad|bos|eos|unk)\]|<(s|/s|pad|start|end|bos|eos|sos|cls|sep)>|"
    r"<\|(startoftext|endoftext|begin_of_text|end_of_text)\|>",
    re.IGNORECASE,
)


def is_punctuation(token: str) -> bool:
    """Whether it is a mark of punctuation, or an ending that tokenizers cut off."""
    return _PUNCTUATION.fullmatch(token) is not None


def has_token_marks(tokens: Sequence[str]) -> bool:
    """Whether a token has a mark of the tokenizer's, or is a special one."""
    return any(_MARKED.fullmatch(t) or _SPECIAL.fullmatch(t) for t in tokens)


def unspaced_letters(text: str) -> int:
    """How many of its letters are of a script that puts no blanks between words."""
    return 0 if text.isascii() else len(_UNSPACED_LETTER.findall(text))


def join_tokens(tokens: Sequence[str]) -> str:
    """The text of the tokens.

    >>> join_tokens(["A", "man", "'s", "dog", "(", "brown", ")", ",", "which", "is", "n't", "."])
    "A man's dog (brown), which isn't."
    >>> join_tokens(["[CLS]", "a", "surf", "##er", "[SEP]"]), join_tokens(["▁A", "▁sur", "f"])
    ('a surfer', 'A surf')
    """
    texts = list(tokens)
    while texts and _SPECIAL.fullmatch(texts[0].strip()):
        del texts[0]
    while texts and _SPECIAL.fullmatch(texts[-1].strip()):
        del texts[-1]
    if any(text.startswith("▁") for text in texts):
        return "".join(texts).replace("▁", " ").strip()
    if any(text.startswith("Ġ") for text in texts):
        return _text_of_bytes("".join(texts)).strip()
    if any(text.endswith("</w>") for text in texts):
        words = "".join(texts).replace("</w>", " ").split()
        return _join_words(words)
    if any(not text.strip() for text in texts) and max(map(len, texts)) == 1:
        return "".join(texts).strip()
    return _join_words(_whole_words(texts))


def _whole_words(pieces: Sequence[str]) -> list[str]:
    """The pieces of each word put together, by "##" before and "@@" behind them."""
    words: list[str] = []
    is_open = False
    for piece in (text.strip() for text in pieces):
        follows = is_open or (piece.startswith("##") and len(piece) > 2 and bool(words))
        is_open = piece.endswith("@@") and len(piece) > 2
        plain = piece.removesuffix("@@") if is_open else piece
        if follows:
            words[-1] += plain.removeprefix("##")
        elif plain:
            words.append(plain)
    return words


def _join_words(words: Sequence[str]) -> str:
    text, is_open, is_quoted = "", True, False
    for word in words:
        opens = _NO_BLANK_AFTER.fullmatch(word) is not None
        closes = _NO_BLANK_BEFORE.fullmatch(word) is not None
        if word == '"':
            opens, closes, is_quoted = not is_quoted, is_quoted, not is_quoted
        plain = _PLAIN.get(word.lower(), word)
        is_wide = bool(text and _WIDE.fullmatch(text[-1]) and _WIDE.match(plain))
        is_wide = is_wide or bool(text and _is_wide_mark(text[-1])) or _is_wide_mark(plain[0])
        text += plain if is_open or closes or is_wide else f" {plain}"
        is_open = opens
    return text


def _is_wide_mark(character: str) -> bool:
    return bool(_WIDE.fullmatch(character)) and not _UNSPACED_LETTER.fullmatch(character)


def _text_of_bytes(text: str) -> str:
    """The text behind byte-level BPE, which writes each byte as one printable character; unchanged
    where it is none."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    bytes_by_letter = {chr(byte): byte for byte in printable}
    bytes_by_letter |= {chr(256 + place): byte for place, byte in enumerate(others)}
    try:
        return bytes(bytes_by_letter[letter] for letter in text).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return text.replace("Ġ", " ")
