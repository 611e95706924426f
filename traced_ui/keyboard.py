"""All keys of the review page. `script.js` gets this table and knows no key of its own."""

from dataclasses import dataclass

from traced_ui.markup import safe


@dataclass(frozen=True)
class Key:
    """`keys`: values of KeyboardEvent.key; `action`: what the review page is asked to do."""

    keys: tuple[str, ...]
    action: str
    shown: str
    told: str


KEYS = (
    Key(("a", "A"), "correct", "A", "the caption is correct"),
    Key(("d", "D"), "drop", "D", "wrong: drop the pair"),
    Key(("1",), "suggestion-1", "1", "wrong: use the first suggestion"),
    Key(("2",), "suggestion-2", "2", "wrong: use the second suggestion"),
    Key(("3",), "suggestion-3", "3", "wrong: use the third suggestion"),
    Key(("e", "E"), "edit", "E", "write your own correction (Ctrl+Enter saves, Esc leaves)"),
    Key(("w", "W"), "words", "W", "to the words: ← → choose one, Enter calls it wrong, Esc leaves"),
    Key(("b", "B"), "abstract", "B", "abstract: describes nothing that can be seen"),
    Key(("u", "U"), "unsure", "U", "unsure"),
    Key(("z", "Z"), "undo", "Z", "undo the last verdict"),
    Key(("y", "Y"), "redo", "Y", "redo"),
    Key(("j", "J", "ArrowDown"), "next", "J or ↓", "next pair"),
    Key(("k", "K", "ArrowUp"), "previous", "K or ↑", "previous pair"),
    Key(("ArrowRight",), "step-forward", "→", "one step along the trajectory"),
    Key(("ArrowLeft",), "step-back", "←", "one step back"),
    Key(("g", "G"), "grid", "G", "many pairs at once, or one again"),
    Key(("m", "M"), "same-word", "M", "more like this: the same suspect word (again: all pairs)"),
    Key(("p", "P"), "same-picture", "P", "pictures like this one (again: all pairs)"),
    Key(("s", "S"), "suggest", "S", "ask for suggestions"),
    Key(("x", "X"), "zoom", "X", "picture large or fitted"),
    Key(("/",), "search", "/", "search the captions"),
    Key(("?",), "help", "?", "show or hide this list"),
)


def key_table() -> dict[str, str]:
    """KeyboardEvent.key to action."""
    return {name: key.action for key in KEYS for name in key.keys}


def help_overlay() -> str:
    """The list of all keys, hidden until it is asked for."""
    rows = "".join(f"<dt><kbd>{safe(k.shown)}</kbd></dt><dd>{safe(k.told)}</dd>" for k in KEYS)
    return (
        '<div id="traced-help" role="dialog" aria-label="Keys" hidden><div class="panel">'
        "<h2>Keys</h2><p>They rest while you type.</p><dl>" + rows + "</dl>"
        '<button type="button" data-local="help">Close (Esc)</button></div></div>'
    )
