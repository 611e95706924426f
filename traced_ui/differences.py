"""Word differences between two captions, as one text with deletions and insertions."""

from markupsafe import Markup

from backend.engine.captions import Caption, align
from backend.review.views import ClaimView
from traced_ui.templates import render

#: Words on either side of an arrow.
LONGEST_SWAP = 3
#: Words that change at several places, up to which replaced ones are shown beside their
#: replacements.
MOST_CHANGED = 6


def difference(before: str, after: str, around: int | None = None) -> Markup:
    """Inline HTML: deleted words in <del>, new ones in <ins>, all else as in `after`.

    Without the parts in <del> the text is `after`, byte for byte. `around`: characters before the
    first change, at most; what is left out has an ellipsis.
    """
    differences = changes(before, after)
    if around is not None and differences and differences[0][0] == "kept":
        text = differences[0][1]
        if len(text) > around:
            differences[0] = ("kept", f"… {text[len(text) - around :].partition(' ')[2]}")
    return render("difference.html", changes=differences)


def parts_that_differ(before: str, after: str, claim: ClaimView | None) -> tuple[str, str]:
    """The claim of a caption and what another one has in its place, or both captions if they differ
    elsewhere."""
    if claim is not None:
        head, tail = before[: claim.start], before[claim.end :]
        if after.startswith(head) and after.endswith(tail):
            return before[claim.start : claim.end], after[len(head) : len(after) - len(tail)]
    return before, after


def readable(before: str, after: str) -> Markup:
    """A proposed caption in readable form: with changes marked if most words are kept or no word is
    new, without words that others replace where many change, otherwise in full, because two
    interleaved sentences would be unreadable."""
    old, new = Caption.parse(before).words, Caption.parse(after).words
    runs = align(old, new)
    kept_length = sum(len(run.new) for run in runs if run.kept)
    if 2 * kept_length < max(len(old), len(new)) and kept_length < len(new):
        return render("difference.html", changes=[("kept", after)])
    changed = [len(run.old) + len(run.new) for run in runs if not run.kept]
    if len(changed) <= 1 or sum(changed) <= MOST_CHANGED:
        return difference(before, after)
    return render("difference.html", changes=changes(before, after, shows_replaced=False))


def replacements(before: str, after: str) -> list[tuple[str, str]]:
    """The words that `after` has in place of words of `before`, if these are all that differs and
    at most two places do; otherwise empty.

    >>> replacements("Two flowers at the lake.", "Two sheep at the lake.")
    [('flowers', 'sheep')]
    >>> replacements("A dog.", "A red dog."), replacements("A dog.", "It is late now.")
    ([], [])
    """
    old, new = Caption.parse(before).words, Caption.parse(after).words
    runs = [run for run in align(old, new) if not run.kept]
    pairs = [
        (" ".join(old[run.old.start : run.old.stop]), " ".join(new[run.new.start : run.new.stop]))
        for run in runs
    ]
    kept_words = len(new) - sum(run.new.stop - run.new.start for run in runs)
    is_short = len(pairs) <= 2 and 2 * kept_words >= max(len(old), len(new))
    is_readable = all(0 < len(text.split()) <= LONGEST_SWAP for pair in pairs for text in pair)
    return pairs if is_short and is_readable else []


def changes(before: str, after: str, shows_replaced: bool = True) -> list[tuple[str, str]]:
    """The changes from `before` to `after`, in order: ("kept" | "gone" | "added", text).
    `shows_replaced`: also words in whose place others come, not only those that are left out.

    >>> changes("A red dog", "A brown dog")
    [('kept', 'A '), ('gone', 'red'), ('kept', ' '), ('added', 'brown'), ('kept', ' dog')]
    """
    old, new = _pieces(before), _pieces(after)
    changes: list[tuple[str, str]] = []
    for run in align(old, new):
        removed_text = "".join(old[run.old.start : run.old.stop])
        added_text = "".join(new[run.new.start : run.new.stop])
        if run.kept:
            changes.append(("kept", added_text))
            continue
        if removed_text and (shows_replaced or not added_text.strip()):
            changes.append(("gone", removed_text))
            if added_text and not removed_text[-1:].isspace():
                changes.append(("kept", " "))  # only for display
        if added_text:
            changes.append(("added", added_text))
    return changes


def _pieces(text: str) -> list[str]:
    """Words and the text between them; their concatenation is `text`."""
    pieces: list[str] = []
    position = 0
    for start, end in Caption.parse(text).spans:
        if start > position:
            pieces.append(text[position:start])
        pieces.append(text[start:end])
        position = end
    if position < len(text):
        pieces.append(text[position:])
    return pieces
