"""What `lint` finds in captions that are right is counted against it."""

from research.evaluation.lint_precision import SPOILS, measure_rules

COLOURS = ("red", "blue", "green", "black", "white", "brown", "small", "large", "old", "wet")
THINGS = ("dog", "cat", "horse", "bus", "boat", "tree", "lamp", "house", "kite", "bear")
CAPTIONS = [
    f"A {colour} {thing} stands near the {other} in a park."
    for colour in COLOURS
    for thing in THINGS
    for other in THINGS
]


def test_each_rule_finds_its_faults_and_nothing_else_in_a_mixed_file() -> None:
    results = measure_rules(CAPTIONS)
    assert results.keys() == SPOILS.keys()
    for name, rule in results.items():
        assert rule.precision >= 0.95, (name, rule.others[:3])
        assert rule.hits >= 0.9 * rule.put > 0, name


def test_a_fault_that_nobody_put_there_lowers_the_precision() -> None:
    odd = ["A dog on the the the bench near a park and a red house."] * 3
    results = measure_rules([*CAPTIONS, *(f"{caption} {n}" for n, caption in enumerate(odd))])
    assert results["loop"].precision < 1
    assert results["camera"].precision == 1
