"""The keys of the review page; `board/keys.js` has none of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: What keys are for, in the order of the list of keys.
TASKS = ("Judge", "Edit", "Claims", "Move", "See", "Find", "Many pairs", "Undo and help")


@dataclass(frozen=True)
class Key:
    """`keys`: values of KeyboardEvent.key; `action`: the review page's action; `task`: the group
    of `TASKS` in the list of keys."""

    keys: tuple[str, ...]
    action: str
    shown: str
    description: str
    task: str = "Many pairs"


def _key(key: str, action: str, description: str, task: str) -> Key:
    """A key that is shown as it is; Shift makes no difference."""
    return Key(tuple(dict.fromkeys((key, key.upper()))), action, key.upper(), description, task)


KEYS = (
    _key("a", "correct", "right: the caption is correct", "Judge"),
    _key("d", "drop", "remove: wrong, leave the pair out", "Judge"),
    _key("l", "wrong", "wrong: label it and keep the pair", "Judge"),
    _key("b", "abstract", "vague: nothing visible is described (low ICC)", "Judge"),
    _key("u", "unsure", "not sure", "Judge"),
    _key("1", "suggestion-1", "wrong: use the first suggestion", "Edit"),
    _key("2", "suggestion-2", "wrong: use the second suggestion", "Edit"),
    _key("3", "suggestion-3", "wrong: use the third suggestion", "Edit"),
    _key("e", "edit", "fix the caption (Ctrl+Enter saves, Esc cancels)", "Edit"),
    _key("s", "suggest", "ask for suggestions", "Edit"),
    _key("n", "note", "write a note (Ctrl+Enter saves it at once)", "Edit"),
    Key(("[",), "claim-previous", "[", "previous claim of a long caption", "Claims"),
    Key(("]",), "claim-next", "]", "next claim", "Claims"),
    Key(("+", "="), "claim-right", "+", "this claim is right; again to take that back", "Claims"),
    Key(("-",), "claim-wrong", "-", "this claim is wrong; again to take that back", "Claims"),
    Key(
        ("Delete", "Backspace"),
        "claim-remove",
        "Del",
        "take the claim out of the caption",
        "Claims",
    ),
    Key(("j", "J", "ArrowDown"), "next", "J or ↓", "next pair", "Move"),
    Key(("k", "K", "ArrowUp"), "previous", "K or ↑", "previous pair", "Move"),
    _key("q", "skip", "skip: the pair returns at the end of the queue", "Move"),
    _key("c", "next-caption", "next caption of this picture", "Move"),
    Key(("ArrowRight",), "step-forward", "→", "one step along the trajectory", "Move"),
    Key(("ArrowLeft",), "step-back", "←", "one step back", "Move"),
    _key("x", "zoom", "enlarge the picture, or fit it again", "See"),
    _key("w", "words", "select words (← → move, Enter marks as wrong, Esc leaves)", "See"),
    _key("h", "phrases", "support of each phrase", "See"),
    _key("i", "guidelines", "the dataset's guidelines", "See"),
    _key("/", "search", "search the captions", "Find"),
    _key("m", "same-word", "same suspect word; again for all pairs", "Find"),
    _key("p", "same-picture", "pictures like this one; again for all pairs", "Find"),
    _key("g", "grid", "grid of many pairs, or back to one", "Many pairs"),
    _key("t", "tag", "tag this pair, or those selected in the grid", "Many pairs"),
    _key("z", "undo", "undo the last verdict", "Undo and help"),
    _key("y", "redo", "redo", "Undo and help"),
    _key("?", "help", "show or hide this list", "Undo and help"),
)


def by_task(keys: Sequence[Key]) -> dict[str, list[Key]]:
    """The keys of each task, in the order of `TASKS`; a task without keys is left out."""
    groups = {task: [key for key in keys if key.task == task] for task in TASKS}
    return {task: group for task, group in groups.items() if group}


def key_table(keys: Iterable[Key]) -> dict[str, str]:
    """KeyboardEvent.key to action."""
    return {name: key.action for key in keys for name in key.keys}
