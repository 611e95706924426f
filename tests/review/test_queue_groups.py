"""Groups of conditions: their text, and which pairs they select."""

import operator
import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.errors import SettingsError
from backend.review.queue_form import as_query, clean_fields, from_fields, from_text, groups_of
from backend.review.queue_groups import Condition, Node, add, parse, text_of
from db import Store
from db.queries import queue_queries, tag_queries
from db.queries.pair_queries import PairRow, iterate_pairs
from db.queries.queue_filter import Group
from tests.db.test_queue import reviewed_pairs

CONDITIONS = st.builds(
    Condition, st.sampled_from(["split", "tag", "text"]), st.text(min_size=1, max_size=9)
) | st.sampled_from([Condition("p_error_from", "0.5"), Condition("s_0", "0.2..0.5")])
#: As the parser makes them: no group directly within one of its kind, none of one part but "none".
NODES = st.recursive(
    CONDITIONS,
    lambda nodes: st.builds(
        Group, st.sampled_from(["all", "any"]), st.lists(nodes, min_size=2, max_size=3).map(tuple)
    ) | st.builds(Group, st.just("none"), st.lists(nodes, min_size=1, max_size=2).map(tuple)),
    max_leaves=8,
)  # fmt: skip


@given(NODES)
def test_a_group_is_read_back_from_its_text(node: Node) -> None:
    read = parse(text_of(node), lambda _: None)
    assert parse(text_of(read), lambda _: None) == read
    assert list(read.leaves()) == ([node] if isinstance(node, Condition) else list(node.leaves()))
    rng = random.Random(str(node))
    is_met = {leaf: rng.random() < 0.5 for leaf in read.leaves()}
    assert holds(read, is_met.__getitem__) == holds(node, is_met.__getitem__)


def holds(node: Any, leaf: Callable[[Any], bool]) -> bool:
    """Whether a group is true, evaluated the plain way."""
    if not isinstance(node, Group):
        return leaf(node)
    parts = [holds(part, leaf) for part in node.parts]
    return all(parts) if node.how == "all" else any(parts) == (node.how == "any")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("split=val", "split = val"),
        ("NOT (split = a OR tag = b) and icc>=.5", "not (split = a or tag = b) and icc >= .5"),
        ("Chance > 0.5 and word = dog and gain<1", "p_error >= 0.5 and text = dog and gain <= 1"),
        ("split = a and (tag = b and tag = c)", "split = a and tag = b and tag = c"),
        ("split = a or tag = b and tag = c", "(split = a or tag = b and tag = c)"),
        (r'text = "a \"b\" \\"', r'text = "a \"b\" \\"'),
        ('text = "or"', 'text = "or"'),
        ("p_error = 0.1..0.2", "p_error = 0.1..0.2"),
        ("not not split = a", "not not split = a"),
        ("  ", ""),
    ],
)  # fmt: skip
def test_a_group_has_one_text(text: str, canonical: str) -> None:
    fields = clean_fields({"where": text})
    assert fields.get("where", "") == canonical
    assert from_text(as_query(fields)) == fields


def test_addresses_without_groups_mean_what_they_meant() -> None:
    fields = from_text("review=all&split=val&p_error_from=0.5&text=a+(b+or+c)")
    assert "where" not in fields
    assert from_fields(1, fields).where is None
    assert from_fields(1, fields).text == "a (b or c)"


@pytest.mark.parametrize(
    ("text", "character"),
    [
        ("split val", 7), ("split = val tag = x", 13), ("(split = val", 0), ("split =", 0),
        ('split = "val', 9), ("split = val and", 0), ("and", 1), ("splt = val", 1),
        ("tag = a or p_error = 0.5", 12), ("p_error = 0.5..7", 1), ("p_error ! 1", 9),
        ("tag = a and order = icc", 13), ("meaning = dog", 1), ("where = x", 1), ("((" * 20, 22),
        ("tag = a) or tag = b", 8), ("s_0 <= much", 1), ("decision = maybe", 1),
    ],
)  # fmt: skip
def test_a_fault_is_shown_with_its_place(text: str, character: int) -> None:
    with pytest.raises(SettingsError) as caught:
        from_text(f"where={text}")
    place = f"character {character}" if character else "at the end"
    assert place in str(caught.value)


def test_a_long_group_is_refused_and_not_cut() -> None:
    text = " or ".join(f"tag = t{i}" for i in range(100))
    assert clean_fields({"where": text})["where"] == f"({text})"
    with pytest.raises(SettingsError):
        clean_fields({"where": " or ".join([text] * 3)})


def test_a_click_adds_to_the_last_group_of_its_kind_or_takes_away() -> None:
    group = groups_of({"where": "split = a"})
    steps = [
        (Condition("tag", "b"), "any", "(split = a or tag = b)"),
        (Condition("tag", "c"), "none", "(split = a or tag = b) and not tag = c"),
        (Condition("s_0", "0..1"), "none",
         "(split = a or tag = b) and not (tag = c or s_0 = 0..1)"),
        (Condition("tag", "b"), "any", "split = a and not (tag = c or s_0 = 0..1)"),
        (Condition("tag", "c"), "none", "split = a and not s_0 = 0..1"),
        (Condition("s_0", "0..1"), "none", "split = a"),
        (Condition("split", "a"), "any", ""),
    ]  # fmt: skip
    for part, how, text in steps:
        group = add(group, part, how)
        assert text_of(group) == text


def test_groups_select_what_a_plain_evaluation_selects(store: Store) -> None:
    dataset = reviewed_pairs(store)
    with store.writing() as session:
        rows = {row.id: row for row in iterate_pairs(session, dataset)}
        tagged = set(list(rows)[::3])
        tag_queries.add(session, sorted(tagged), "todo", "Ada")

    def is_met(row: PairRow, part: Condition) -> bool:
        ((key, value),) = part.fields.items()
        name, _, end = key.rpartition("_")
        if end in ("from", "to"):
            number = getattr(row, name)
            compare = operator.ge if end == "from" else operator.le
            return number is not None and compare(number, float(value))
        if key == "tag":
            return row.id in tagged
        if key == "text":
            return value.lower() in row.caption.lower()
        return bool(getattr(row, key) == value)

    conditions = [
        Condition("split", "train"), Condition("tag", "todo"), Condition("text", "dog"),
        Condition("decision", "drop"), Condition("p_error_from", "0.5"), Condition("icc_to", "0.4"),
        Condition("suspect_kind", "colour"),
    ]  # fmt: skip
    choose = random.Random(3)

    def some(depth: int) -> Any:
        if depth == 0 or choose.random() < 0.3:
            return choose.choice(conditions)
        how = choose.choice(["all", "any", "none"])
        return Group(how, tuple(some(depth - 1) for _ in range(choose.randint(1, 3))))

    sizes = set()
    for _ in range(60):
        node = some(3)
        filter = from_fields(dataset, {"review": "all", "where": text_of(node)})
        with store.reading() as session:
            listed = queue_queries.page(session, filter, None, 100).rows
            assert queue_queries.count(session, filter) == len(listed)
        expected = {
            id for id, row in rows.items() if holds(node, lambda part, row=row: is_met(row, part))
        }
        assert {row.pair_id for row in listed} == expected, text_of(node)
        sizes.add(len(expected))
    assert len(sizes) > 10, "the groups must differ"
