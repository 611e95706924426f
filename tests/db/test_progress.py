"""Who decided how much, and up to which point queue and audit are decided without a gap."""

from db import Store
from db.queries import pairs, progress, verdicts
from db.queries.pairs import lot_of
from tests.db.building import add_dataset, set_probabilities


def decide(store: Store, pair_id: int, decision: str, author: str = "Ada") -> None:
    with store.writing() as session:
        version = pairs.get_pair(session, pair_id).verdict_version
        verdicts.add_verdict(session, pair_id, version, decision, author=author)


def reached(store: Store, dataset_id: int) -> progress.Reached:
    with store.reading() as session:
        return progress.reached(session, dataset_id)


def test_the_point_and_the_sample(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 20)
    set_probabilities(store, ids, [i / 20 for i in range(19)] + [None])
    lots = sorted(range(20), key=lambda i: lot_of(dataset_id, f"photo-{i}"))
    assert reached(store, dataset_id) == progress.Reached(0.9, 20, 0, 0, 0)
    for i in (18, 17, 16):  # the head of the queue
        decide(store, ids[i], "drop")
    now = reached(store, dataset_id)
    assert (now.point, now.below, now.found) == (0.75, 17, 0)
    first = [i for i in lots if i not in (16, 17, 18)][:4]
    for number, i in enumerate(first):
        decide(store, ids[i], ("drop", "correct", "unsure", "abstract")[number])
    now = reached(store, dataset_id)
    # Of the pairs without a gap in the order of lots, those below the point that say something.
    gap = next(i for i in lots if i not in (16, 17, 18, *first))
    open_point = max(i / 20 for i in range(19) if i not in (16, 17, 18, *first))
    below = [i for i in range(20) if i == 19 or i / 20 <= open_point]
    drawn = [i for i in first if i in below and lots.index(i) < lots.index(gap)]
    assert now.point == open_point
    assert now.below == len(below)
    assert now.sample == len([i for i in drawn if i != first[2]])
    assert now.wrong_in_sample == len([i for i in drawn if i == first[0]])
    assert now.found == len([i for i in first[:1] if i in below])


def test_lots_are_even_and_stay(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 400)
    with store.reading() as session:
        lots = [lot_of(dataset_id, pairs.get_pair(session, i).external_id) for i in ids]
    assert len(set(lots)) == 400
    assert all(0 <= lot < 1 for lot in lots)
    assert abs(sum(lots) / 400 - 0.5) < 0.06
    assert abs(sum(lots[:200]) - sum(lots[200:])) < 25


def test_the_pace_counts_decisions_by_curator_and_day(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 6)
    _, (other, *_) = add_dataset(store, 1, "elsewhere")
    for i in ids[:3]:
        decide(store, i, "correct")
    decide(store, ids[3], "drop", "Ben")
    decide(store, other, "drop", "Ben")
    with store.writing() as session:
        verdicts.undo_last(session, dataset_id, "Ada")  # an undo is no decision
    with store.writing() as session:
        verdicts.redo_last(session, dataset_id, "Ada")
    with store.reading() as session:
        found = progress.pace(session, dataset_id)
        said = [decision for _, decision in progress.decided(session, dataset_id)]
    assert {(one.author, one.verdicts) for one in found} == {("Ada", 3), ("Ben", 1)}
    assert all(len(one.day) == 10 and one.day[4] == "-" for one in found)
    assert sorted(said) == ["correct", "correct", "correct", "drop"]


def test_everything_decided(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    for i in ids:
        decide(store, i, "correct")
    assert reached(store, dataset_id) == progress.Reached(None, 3, 0, 3, 0)
