"""What `Z` would take back, the next thing first: verdicts of the store and changes of tags."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from backend.counts import count_of
from backend.progress import duration
from backend.verdict_texts import saved_text
from backend.workspace import VerdictRow
from traced_ui.page_state import Step, TagChange

#: Acts that are listed.
LISTED = 10


class Undoable(NamedTuple):
    """`pair`: that a press opens; `name`: its id in the source; `caption`: its new text, "" if the
    act gave none; `at`: None where it is not known."""

    pair: int
    name: str
    words: str
    caption: str
    at: datetime | None
    age: str


def list_undoable(
    done: Sequence[Step], verdicts: Sequence[VerdictRow], names: dict[int, str], now: datetime
) -> list[Undoable]:
    """The last acts. `done`: those of the page, the newest last: changes of tags, or verdicts,
    which the store knows: `verdicts`, the newest first, with those before them. `names`: of their
    pairs; acts on pairs that are gone are left out."""
    waiting = iter(verdicts)
    acts: list[Undoable | None] = []
    for step in reversed(done):
        if step.tags:
            acts.append(_of_tags(step.tags[0], step.at, names, now))
        elif (verdict := next(waiting, None)) is not None:
            acts.append(_of_verdict(verdict, names, now))
    acts += [_of_verdict(verdict, names, now) for verdict in waiting]
    return [act for act in acts if act is not None][:LISTED]


def _of_verdict(verdict: VerdictRow, names: dict[int, str], now: datetime) -> Undoable | None:
    if verdict.pair_id not in names:
        return None
    if verdict.claim is not None:
        words = "Label of a claim"
    elif verdict.is_edit:
        words = "Edited"
    elif verdict.restores is not None:
        words = "Earlier state restored"
    else:
        words = saved_text(verdict.decision, verdict.enriches, verdict.suggestion_id).rstrip(".")
    if verdict.together > 1:
        words += f", {count_of(verdict.together)} at once"
    text = verdict.corrected_caption or ""
    when = verdict.created_at
    return Undoable(verdict.pair_id, names[verdict.pair_id], words, text, when, _age(when, now))


def _of_tags(
    back: TagChange, at: datetime | None, names: dict[int, str], now: datetime
) -> Undoable | None:
    """`back`: what takes the change back."""
    pair = next((pair for pair in back.pairs if pair in names), None)
    if pair is None:
        return None
    verb = "added to" if back.remove else "removed from"
    words = f"Tag {back.name} {verb} {count_of(len(back.pairs))}"
    return Undoable(pair, names[pair], words, "", at, _age(at, now) if at is not None else "")


def _age(at: datetime, now: datetime) -> str:
    return f"{duration(max((now - at).total_seconds(), 0))} ago"
