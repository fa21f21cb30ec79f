"""Keys of row patterns are numbered alike by compiled look-ups and by Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.engine.row_patterns.sorting import MAX_SHORT_KEYS, SortedTable, key_numbers
from augury.jit.tier import Tier
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options

COMPILED = Tier(row_pattern_support(), Options(jit=True))


def assert_numbered_alike(chunks: Sequence[Sequence[Any]], type: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(c, type) for c in chunks], type)
    found = key_numbers([column], len(column), support=COMPILED)
    expected = key_numbers([column], len(column))
    assert found is not None
    assert expected is not None
    assert found.tolist() == expected.tolist()


@given(st.lists(st.lists(st.text("ab\0é", max_size=9), max_size=5), min_size=1, max_size=4))
@settings(max_examples=200, deadline=None)
def test_short_strings(chunks: list[list[str]]) -> None:
    assert_numbered_alike(chunks, pa.string())


@given(st.lists(st.one_of(st.integers(-9, 9), st.sampled_from([-(2**63), 2**63 - 1])), min_size=1, max_size=9))
@settings(max_examples=200, deadline=None)
def test_integers(values: list[int]) -> None:
    assert_numbered_alike([values], pa.int64())


@pytest.mark.parametrize(
    "values",
    [
        ["a", "a" * 16, "a" * 17, "a"],
        ["a", None, "", "a"],
        [f"key {k}" for k in range(MAX_SHORT_KEYS + 2)] * 2,
    ],
    ids=["long", "null", "many"],
)
def test_other_strings_are_left_to_arrow(values: list[str | None]) -> None:
    assert_numbered_alike([values], pa.string())


def test_slices_of_strings() -> None:
    column = pa.chunked_array([pa.array(["long enough", "b", "c", "b", ""]).slice(1, 3)])
    found = key_numbers([column], 3, support=COMPILED)
    assert found is not None
    assert found.tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.bool_, np.uint8])
def test_values_are_brought_to_their_places(dtype: Any) -> None:
    order = np.array([2, 0, 3, 1])
    place = np.argsort(order)
    values = np.array([1, 0, 1, 5]).astype(dtype)
    table = SortedTable(pa.table({"x": values}), order, np.array([0, 2, 4]), place=place)
    found = table.sorted(values, COMPILED)
    assert found.dtype == values.dtype
    assert found.tolist() == values[order].tolist()
