import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.blobs import (
    decode_floats,
    decode_integers,
    decode_suspects,
    encode_floats,
    encode_integers,
    encode_suspects,
)


@given(st.lists(st.floats(width=32, allow_nan=False)))
def test_floats_round_trip_exactly(values: list[float]) -> None:
    blob = encode_floats(values)
    assert len(blob) == 4 * len(values)
    assert decode_floats(blob).tolist() == values


def test_floats_are_stored_as_little_endian() -> None:
    assert encode_floats(np.array([1.0], dtype=">f8")) == b"\x00\x00\x80\x3f"


@given(st.lists(st.integers(0, 2**32 - 1)))
def test_integers_round_trip_exactly(values: list[int]) -> None:
    assert decode_integers(encode_integers(values)) == tuple(values)


@pytest.mark.parametrize(("largest", "width"), [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_integers_take_the_narrowest_width(largest: int, width: int) -> None:
    assert len(encode_integers([0, largest])) == 1 + 2 * width


@pytest.mark.parametrize("value", [-1, 2**32])
def test_integers_out_of_range_are_refused(value: int) -> None:
    with pytest.raises(ValueError, match="can be packed"):
        encode_integers([1, value])


@given(
    st.lists(
        st.tuples(st.integers(0, 2_000_000), st.integers(0, 2_000_000), st.floats(0, 1)), max_size=9
    )
)
def test_suspects_round_trip_within_a_quantisation_step(
    suspects: list[tuple[int, int, float]],
) -> None:
    decoded = decode_suspects(encode_suspects(suspects))
    assert [(start, end) for start, end, _ in decoded] == [(s, e) for s, e, _ in suspects]
    for (_, _, score), (_, _, original) in zip(decoded, suspects, strict=True):
        assert score == pytest.approx(original, abs=1 / 510 + 1e-12)


def test_a_suspect_score_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\[0, 1\]"):
        encode_suspects([(0, 3, 1.01)])
