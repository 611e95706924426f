"""Tags of pairs, and of many."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from markupsafe import Markup

from backend.counts import count_of
from backend.errors import SettingsError
from backend.review.pair_selection import tag_name
from backend.review.queue_form import id_in, with_value
from backend.workspace import QueueFilter
from traced_ui import review_page
from traced_ui.page_actions import FilledForm, PageActions, Parts, Selection, on
from traced_ui.page_state import MOST_TAGGED, TagChange


class TagActions(PageActions):
    def _change_tags(
        self, changes: Sequence[TagChange], verb: str, request: str | None
    ) -> list[TagChange]:
        """Make the changes, and tell them; returns what takes them back."""
        inverse: list[TagChange] = []
        for number, change in enumerate(changes):
            changed_ids = self.review.tag(
                self._pairs_here(change.pairs), change.name, self.author, change.remove,
                request and f"{request}:{number}",
            )  # fmt: skip
            back = TagChange(name=change.name, pairs=changed_ids, remove=not change.remove)
            inverse.insert(0, back)
        self.say(f"{verb}: the tags of {count_of(len(inverse[0].pairs))}.", "good")
        self._clear_outdated_filter()
        return inverse

    def _pairs_here(self, pair_ids: list[int]) -> list[int]:
        """Those of the pairs that are in this dataset."""
        among = QueueFilter(int(self.state.dataset or 0), among=tuple(pair_ids[:MOST_TAGGED]))
        return [row.pair_id for row in self.review.queue_page(among, None, MOST_TAGGED).rows]

    @on("tag", opens_form=True)
    def _tag_form(self, act: Selection) -> Parts:
        pair_ids = [card.pair for card in act.pairs]
        if self.state.grid and not pair_ids:
            raise SettingsError("Select pairs first: click them, or all with Ctrl+A.")
        return {"edit": self._tags_of(pair_ids or [act.pair or 0], {})}

    def _tags_of(self, pair_ids: list[int], entries: dict[str, Any], question: str = "") -> Markup:
        every_tag = list(self.review.tags(int(self.state.dataset or 0)))
        tags = Counter(chain.from_iterable(self.review.tags_of(pair_ids).values()))
        return review_page.tags(pair_ids, tags, every_tag, entries, question)

    @on("tag-add", "tag-remove", writes=True)
    def _tag(self, act: FilledForm) -> Parts:
        """Tag the pairs that the form names, or take the tag from them."""
        is_removal, name = act.action == "tag-remove", str(act.edit.get("name", ""))
        pair_ids = self._pairs_here(ids_in(str(act.edit.get("of", ""))))
        changed_ids = self.review.tag(pair_ids, name, self.author, is_removal, act.request)
        if changed_ids:
            back = TagChange(name=tag_name(name), pairs=changed_ids, remove=not is_removal)
            self.state.advance([back])
        verb = "removed from" if is_removal else "added to"
        self.say_undoable(f"Tag {verb} {count_of(len(changed_ids))}.")
        self._clear_outdated_filter()
        return {**self.parts(), "edit": self._tags_of(pair_ids, {})}

    @on("tag-rename", writes=True)
    def _rename_tag(self, act: FilledForm) -> Parts:
        """Rename a tag, or merge it into another. What Z cannot take back is asked for first."""
        dataset, entries = int(self.state.dataset or 0), act.edit
        counts, pair_ids = self.review.tags(dataset), ids_in(str(entries.get("of", "")))
        tags = set(chain.from_iterable(self.review.tags_of(pair_ids).values()))
        old = str(entries.get("name", "")) or (tags.pop() if len(tags) == 1 else "")
        if not old:
            raise SettingsError("Which tag? Click it, or type it into the field Tag.")
        name, new = tag_name(old), tag_name(str(entries.get("new", "")))
        is_large = counts.get(name, 0) > MOST_TAGGED
        if is_large and entries.get("meant") != f"{name};{new}":
            question = f"{counts[name]:,} pairs have the tag “{name}”: Z cannot take this back."
            return {"toast": "", "edit": self._tags_of(pair_ids, entries, question)}
        moved_ids, added_ids = self.review.rename_tag(dataset, name, new, self.author, act.request)
        can_undo = not is_large and name != new
        if can_undo:
            self.state.advance([
                TagChange(name=new, pairs=added_ids, remove=True),
                TagChange(name=name, pairs=moved_ids, remove=False),
            ])  # fmt: skip
        tell = self.say_undoable if can_undo else self.say
        tell(f"The tag of {count_of(len(moved_ids))} is “{new}” now.")
        self.state.filter = with_value(self.state.filter, "tag", name, new)
        self._clear_outdated_filter()
        return {**self.parts(), "edit": self._tags_of(pair_ids, {})}


def ids_in(text: str) -> list[int]:
    """The ids of a list with commas; what is none is left out.

    >>> ids_in("3,x,12")
    [3, 12]
    """
    return [id for part in text.split(",") if (id := id_in(part)) is not None]
