"""Keys of row patterns are numbered alike by compiled look-ups and by Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.engine.row_patterns.keys import MAX_SHORT_KEYS, KeyShare, NumberedKeys, key_numbers, number_keys
from augury.engine.row_patterns.sorting import SortedTable, sort_by_key
from augury.jit.tier import Tier
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options
from augury.testing.row_patterns import bound_clause

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
    assert_numbered_alike(chunks, pa.large_string())


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 15, 16])
def test_strings_of_any_length_at_the_end_of_a_buffer(length: int) -> None:
    words = ["x" * length, "", "y", "x" * length, "z" * length]
    assert_numbered_alike([["y", "y", *words], [], words[::-1]], pa.string())


def test_lookups_of_integers_and_strings_count_their_rows() -> None:
    values = pa.chunked_array([pa.array([3, 1, 3]), pa.array([1, 7, 3])])
    for column in (values, values.cast(pa.string())):
        found = number_keys([column], 6, support=COMPILED)
        assert found is not None
        assert found.count == 3
        assert found.rows_by_key().tolist() == [3, 2, 1]
        assert found.numbers().tolist() == [0, 1, 0, 1, 2, 0]


def shares_of(parts: Sequence[Sequence[int]]) -> NumberedKeys:
    """Keys as several threads number them: each part by itself."""
    keys = {k: n for n, k in enumerate(dict.fromkeys(k for part in parts for k in part))}
    shares = []
    for part in parts:
        own = list(dict.fromkeys(part))
        numbers = np.array([own.index(k) for k in part], np.int32)
        shares.append(KeyShare(numbers, np.array([keys[k] for k in own]), np.bincount(numbers)))
    return NumberedKeys(tuple(shares), len(keys))


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=6), min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_shares_are_grouped_as_the_whole(parts: list[list[int]]) -> None:
    keys = shares_of(parts)
    whole = pa.table({"k": [k for part in parts for k in part]})
    found = key_numbers([whole.column("k")], len(whole))
    assert found is not None
    assert keys.numbers().tolist() == found.tolist()
    assert keys.ascend() == bool((np.diff(found) >= 0).all())
    table = sort_by_key(
        bound_clause("PARTITION BY k PATTERN (A) DEFINE A AS true", whole.schema), whole, keys, COMPILED
    )
    assert np.diff(table.starts).tolist() == np.bincount(found).tolist()
    expected = np.argsort(found, kind="stable").tolist()
    assert table.rows(np.arange(len(whole))).tolist() == expected
    assert table.sorted(np.asarray(whole["k"]), COMPILED).tolist() == [whole["k"][k].as_py() for k in expected]


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
