"""All keys of the review page; `board/keys.js` has none of its own."""

from dataclasses import dataclass

from markupsafe import Markup

from traced_ui.templates import render


@dataclass(frozen=True)
class Key:
    """`keys`: values of KeyboardEvent.key; `action`: the review page's action."""

    keys: tuple[str, ...]
    action: str
    shown: str
    description: str


KEYS = (
    Key(("a", "A"), "correct", "A", "the caption is correct"),
    Key(("d", "D"), "drop", "D", "wrong: remove the pair"),
    Key(("l", "L"), "wrong", "L", "wrong: label only, the pair stays in exports"),
    Key(("1",), "suggestion-1", "1", "wrong: use the first suggestion"),
    Key(("2",), "suggestion-2", "2", "wrong: use the second suggestion"),
    Key(("3",), "suggestion-3", "3", "wrong: use the third suggestion"),
    Key(("e", "E"), "edit", "E", "write your own correction (Ctrl+Enter saves, Esc cancels)"),
    Key(
        ("w", "W"), "words", "W", "select words: ← → move, Enter marks a word as wrong, Esc leaves"
    ),
    Key(("b", "B"), "abstract", "B", "vague: describes nothing visible"),
    Key(("u", "U"), "unsure", "U", "not sure"),
    Key(("z", "Z"), "undo", "Z", "undo the last verdict"),
    Key(("y", "Y"), "redo", "Y", "redo"),
    Key(("j", "J", "ArrowDown"), "next", "J or ↓", "next pair"),
    Key(("k", "K", "ArrowUp"), "previous", "K or ↑", "previous pair"),
    Key(("c", "C"), "next-caption", "C", "next caption of this picture"),
    Key(("ArrowRight",), "step-forward", "→", "one step along the trajectory"),
    Key(("ArrowLeft",), "step-back", "←", "one step back"),
    Key(("g", "G"), "grid", "G", "grid of many pairs, or back to one pair"),
    Key(("f", "F"), "replace", "F", "edit many captions: find and replace, prefix, suffix"),
    Key(("t", "T"), "tag", "T", "tag this pair, or those selected in the grid"),
    Key(("v", "V"), "rule", "V", "one verdict for all pairs of this queue, with a preview"),
    Key(
        ("m", "M"),
        "same-word",
        "M",
        "more like this: the same suspect word (press again for all pairs)",
    ),
    Key(("p", "P"), "same-picture", "P", "pictures like this one (press again for all pairs)"),
    Key(("s", "S"), "suggest", "S", "ask for suggestions"),
    Key(
        ("r", "R"), "richer", "R", "suggest a richer caption: this one is right but says too little"
    ),
    Key(
        ("n", "N"),
        "note",
        "N",
        "write a note, saved with the next verdict (Ctrl+Enter: keep the verdict, save the note)",
    ),
    Key(("i", "I"), "guidelines", "I", "show or hide the dataset's guidelines"),
    Key(("h", "H"), "phrases", "H", "show or hide the support of each phrase"),
    Key(("x", "X"), "zoom", "X", "enlarge the picture, or fit it again"),
    Key(("/",), "search", "/", "search the captions"),
    Key(("?",), "help", "?", "show or hide this list"),
)


def key_table() -> dict[str, str]:
    """KeyboardEvent.key to action."""
    return {name: key.action for key in KEYS for name in key.keys}


def help_overlay() -> Markup:
    """The list of all keys, hidden until requested."""
    return render("help.html", keys=KEYS)
