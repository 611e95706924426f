"""The keys of the review page; `board/keys.js` has none of its own."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Key:
    """`keys`: values of KeyboardEvent.key; `action`: the review page's action."""

    keys: tuple[str, ...]
    action: str
    shown: str
    description: str


def _key(key: str, action: str, description: str) -> Key:
    """A key that is shown as it is; Shift makes no difference."""
    return Key(tuple(dict.fromkeys((key, key.upper()))), action, key.upper(), description)


KEYS = (
    _key("a", "correct", "the caption is correct"),
    _key("d", "drop", "wrong: remove the pair"),
    _key("l", "wrong", "wrong: label only, the pair stays in exports"),
    _key("1", "suggestion-1", "wrong: use the first suggestion"),
    _key("2", "suggestion-2", "wrong: use the second suggestion"),
    _key("3", "suggestion-3", "wrong: use the third suggestion"),
    _key("e", "edit", "write your own correction (Ctrl+Enter saves, Esc cancels)"),
    _key(
        "w",
        "words",
        "select words, see where suspect ones are: ← → move, Enter marks as wrong, Esc leaves",
    ),
    Key(("[",), "claim-previous", "[", "the claim before this one, in a caption of several"),
    Key(("]",), "claim-next", "]", "the next claim"),
    Key(("+", "="), "claim-right", "+", "this claim is right (again: take that back)"),
    Key(("-",), "claim-wrong", "-", "this claim is wrong (again: take that back)"),
    Key(("Delete", "Backspace"), "claim-remove", "Del", "take this claim out of the caption"),
    _key("b", "abstract", "vague: abstract (low ICC), describes nothing visible"),
    _key("u", "unsure", "not sure"),
    _key("z", "undo", "undo the last verdict"),
    _key("y", "redo", "redo"),
    Key(("j", "J", "ArrowDown"), "next", "J or ↓", "next pair"),
    Key(("k", "K", "ArrowUp"), "previous", "K or ↑", "previous pair"),
    _key("q", "skip", "skip this pair: it comes back at the end of the queue"),
    _key("c", "next-caption", "next caption of this picture"),
    Key(("ArrowRight",), "step-forward", "→", "one step along the trajectory"),
    Key(("ArrowLeft",), "step-back", "←", "one step back"),
    _key("g", "grid", "grid of many pairs, or back to one pair"),
    _key("t", "tag", "tag this pair, or those selected in the grid"),
    _key("v", "rule", "one verdict for all pairs of this queue, with a preview"),
    _key("m", "same-word", "more like this: the same suspect word (press again for all pairs)"),
    _key("p", "same-picture", "pictures like this one (press again for all pairs)"),
    _key("s", "suggest", "ask for suggestions"),
    _key("r", "richer", "suggest a richer caption: this one is right but says too little"),
    _key("n", "note", "write a note, saved with the next verdict (or at once: Ctrl+Enter)"),
    _key("i", "guidelines", "show or hide the dataset's guidelines"),
    _key("h", "phrases", "show or hide the support of each phrase"),
    _key("o", "look", "zoom to word: the suspect word fills the view, or back"),
    _key("x", "zoom", "enlarge the picture, or fit it again"),
    _key("/", "search", "search the captions"),
    _key("?", "help", "show or hide this list"),
)


def key_table(keys: Iterable[Key]) -> dict[str, str]:
    """KeyboardEvent.key to action."""
    return {name: key.action for key in keys for name in key.keys}
