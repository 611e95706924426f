"""Agreement between curators, against values computed by hand."""

import pytest

from backend.engine.statistics.agreement import agreement


def judged(*rows: str) -> list[dict[str, str]]:
    """One row of letters for each person, "-" where one did not judge."""
    return [
        {f"person {n}": letter for n, letter in enumerate(column) if letter != "-"}
        for column in zip(*rows, strict=True)
    ]


@pytest.mark.parametrize(
    ("rows", "alpha"),
    [
        # Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", B: 10 units, two
        # observers, o_01 = 4, n = 20, n_0 = 14, n_1 = 6: 1 - 19 * 4 / (14 * 6).
        (("0100000010", "1110010000"), 1 - 19 * 4 / (14 * 6)),
        # The same, C: four observers with gaps, the last unit judged once. n = 40,
        # n_c = 9, 13, 10, 5, 3; on the diagonal 7 + 10 + 8 + 4 + 3.
        (
            ("123321412---", "1233224125-3", "-3332342251-", "12332441251-"),
            (39 * 32 - 344) / (40 * 39 - 344),
        ),
        (("aabb", "aabb"), 1.0),
        # n = 8, all of it off the diagonal.
        (("aabb", "bbaa"), 1 - 7 * 8 / 32),
        (("aaaa", "aaaa"), None),
        (("a", "b"), None),
    ],
)
def test_alpha_equals_the_computation_by_hand(rows: tuple[str, ...], alpha: float | None) -> None:
    result = agreement(judged(*rows))
    measured = result.alpha
    assert all(two.kappa is None or -1 <= two.kappa <= 1 for two in result.people)
    assert measured == (None if alpha is None else pytest.approx(alpha, abs=1e-12))


def test_kappa_matches_a_worked_example_and_may_be_undefined() -> None:
    # p_o = 0.75, p_e = 0.5 * 0.75 + 0.5 * 0.25 = 0.5
    result = agreement(judged("cdcd-", "cdddd"))
    assert (result.pairs, result.same) == (4, 3)
    (two,) = result.people
    assert (two.first, two.second, two.pairs, two.same) == ("person 0", "person 1", 4, 3)
    assert two.kappa == pytest.approx(0.5)
    assert agreement(judged("ddd", "ddd")).people[0].kappa is None
    assert agreement([]).pairs == agreement(judged("d")).pairs == 0
