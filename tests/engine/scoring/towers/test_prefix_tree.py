"""A common prefix is stored once, and dropped after two rounds without use."""

from backend.engine.scoring.towers.prefix_tree import PrefixTree


def test_a_common_prefix_is_stored_once() -> None:
    tree = PrefixTree(8)
    end, new = tree.insert((5, 6, 7))
    again, none = tree.insert((5, 6, 7))
    assert (end, none, len(new)) == (again, [], 3)
    other, first = tree.insert((5, 6, 8))
    assert first == [other] != [end]
    assert tree.path[other, :3].tolist() == [*new[:2], other]
    assert tree.path[other, 3:].tolist() == [-1] * 5
    assert tree.depth[other] == 2


def test_nodes_live_for_two_rounds() -> None:
    tree = PrefixTree(8)
    tree.insert((1, 2))
    tree.next_round()
    tree.insert((1, 3))
    assert len(tree) == 3
    tree.next_round()
    assert len(tree) == 3  # (1, 2) was touched in the round before the last
    tree.insert((1, 3))
    tree.next_round()
    assert len(tree) == 2
    _, new = tree.insert((1, 2))
    assert len(new) == 1


def test_slots_are_reused_and_grow_when_none_is_free() -> None:
    tree = PrefixTree(4, capacity=2)
    for number in range(100):
        tree.insert((number, 1, 2))
        tree.next_round()
    assert len(tree) <= 6
    assert tree.capacity <= 16
    tree.insert((1, 2, 3, 4))
    tree.drop([slot for slot in tree.path[tree.insert((1, 2, 3, 4))[0]].tolist() if slot >= 0])
    assert len(tree.insert((1, 2, 3, 4))[1]) == 4
