"""Marks that tokenizers put around texts and into them, and that decoding should have taken out:
special tokens of the common families, and the signs for blanks and for parts of words."""

import re

#: Of one word between angle brackets, as they are written: `<start>`, but not "<Start>".
_WORDS = (
    "s|unk|pad|eos|bos|sos|eot|eod|eop|sep|cls|mask|nl|start|end|START|END|UNK|PAD|EOS|BOS|SOS|"
    "image|IMAGE|img|video|audio|image_placeholder|image_soft_token|image_pad|image_start|image_end|"
    "im_start|im_end|im_patch|im_col_sep|image_newline|start_of_turn|end_of_turn|start_of_image|"
    "end_of_image|end_of_utterance|end_of_text|end_of_sequence|start_of_text|begin_of_text|"
    "begin_of_image|startoftext|endoftext|end_of_sentence|begin_of_sentence|end_of_prompt|"
    "fake_token_around_image|global-img|row_\\d+_col_\\d+|grounding|patch_index_\\d+|"
    "extra_id_\\d+|loc_?\\d+|seg\\d+|unused\\d+|ref|box|quad|eoc|boi|eoi|soi|end_of_chunk|"
    "start_header_id|end_header_id|0x[0-9A-F]{2}|bot|sop|gMASK|fim_[a-z]+|image_\\d+|seg_\\d+|"
    # Florence's tasks.
    "(?:[A-Z]+_)*(?:CAPTION|OD|OCR)(?:_[A-Z]+)*|[A-Z]+(?:_TO)?_(?:PROPOSAL|SEGMENTATION|CATEGORY|"
    "DESCRIPTION|OCR|VOCABULARY_DETECTION)|REFERRING_EXPRESSION_SEGMENTATION|poly|coor|delim|bbox"
)
_MARKS = re.compile(
    rf"</?(?:{_WORDS})>"
    # <|eot_id|>, <|im_end|>; with the bars and blanks of DeepSeek's.
    r"|<[|\uff5c][\w\u2581./ -]{1,60}[|\uff5c]>"
    r"|<\|[a-z_]{2,30}$"  # cut
    r"|\[(?:CLS|gMASK|SEP|PAD|UNK|MASK|BOS|EOS|ENC|DEC|IMG|/IMG|IMG_END|unused\d+|/?INST)\]"
    r"|<<SYS>>"
    # Parts of words: "play ##ing", "do@@ g", "dog</w>".
    r"|(?<=\w )##[a-z]{1,20}(?![#\w])|(?<=[a-z])@@ (?=[a-z])|(?<=\w)</w>"
    # A blank before a word, unless it is part of a drawing of blocks.
    r"|(?<![\u2580-\u259f])\u2581(?=\w)"
    # A blank or a line's end as byte-level BPE writes them, in the middle of a word; at its
    # beginning they are Maltese letters.
    r"|(?<=[a-z0-9.,!?])[\u0120\u010a](?=[A-Za-z\u0120])"
)
_FIRST_LOOK = ("<", "[", "##", "@@ ", "\u2581", "\u0120", "\u010a")
#: Words with the sign for a blank, each after a blank.
_BLANK_WORD = re.compile(r"(?<!\S)\u0120[a-z]+")
#: So many of them, and this share of the words, are no Maltese.
_FEWEST, _SHARE = 3, 0.5


def has_token_marks(text: str) -> bool:
    """
    >>> [has_token_marks(text) for text in ("<start> a dog <end>", "a dog [SEP]", "play ##ing")]
    [True, True, True]
    >>> [has_token_marks(text) for text in ("A sign that says [EXIT]", "x <3 y", "## A title")]
    [False, False, False]
    """
    if not any(mark in text for mark in _FIRST_LOOK):
        return False
    if _MARKS.search(text) is not None:
        return True
    words = len(_BLANK_WORD.findall(text))
    return words >= _FEWEST and words >= _SHARE * len(text.split())
