"""Keys by number, against a dictionary of tuples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.jit.tier import Tier
from augury.kernels.common.keys import KeyNumbers, key_words
from augury.native.support import support_source
from augury.options import Options
from augury.runtime.columns import ColumnSpec
from augury.schema import Kind

SPECS = (ColumnSpec("i", Kind.INT), ColumnSpec("f", Kind.FLOAT), ColumnSpec("s", Kind.STRING))
PLAIN = Tier(support_source(), Options(jit=False))

integers = st.none() | st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])
floats = st.none() | st.sampled_from([0.0, -0.0, 1.5, math.inf])
codes = st.none() | st.integers(0, 3)
streams = st.lists(st.tuples(integers, floats, codes), max_size=20)


def arrays_of(events: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The columns as `encode` gives them."""
    return {
        "i": np.array([0 if i is None else i for i, _, _ in events], dtype=np.int64),
        "i_null": np.array([i is None for i, _, _ in events], dtype=np.uint8),
        "f": np.array([math.nan if f is None else f for _, f, _ in events], dtype=np.float64),
        "s": np.array([-1 if s is None else s for _, _, s in events], dtype=np.int32),
    }


def number(keys: KeyNumbers, specs: tuple[ColumnSpec, ...], arrays: dict[str, Any]) -> tuple[list[int], list[int]]:
    words, null = key_words(arrays, len(arrays["i"]), specs)
    numbers, places = np.full((2, len(null)), -7, dtype=np.int64)
    keys.number(PLAIN, words, null, numbers, places)
    return numbers.tolist(), places.tolist()


@given(streams, st.integers(0, 3), st.integers(0, 20), st.booleans())
def test_row_by_row(events: list[tuple[Any, ...]], width: int, cut: int, save: bool) -> None:
    """However the stream is cut, and whether or not the numbers are written down between."""
    specs, keys = SPECS[:width], KeyNumbers(width)
    numbers, places = number(keys, specs, arrays_of(events[:cut]))
    if save:
        saved, keys = keys.to_table(), KeyNumbers(width)
        keys.restore(PLAIN, {"partitions": saved})
    more = number(keys, specs, arrays_of(events[cut:]))
    numbers, places = numbers + more[0], places + more[1]

    ids: dict[tuple[Any, ...], int] = {}
    seen: dict[int, int] = {}
    for event, found, place in zip(events, numbers, places, strict=True):
        key = event[:width]
        if None in key:
            assert found == -1
            continue
        expected = ids.setdefault(key, len(ids))
        assert (found, place) == (expected, seen.get(expected, 0))
        seen[expected] = place + 1


@pytest.mark.parametrize("values", [np.arange(40_000) // 2 * 7, np.arange(40_000) % 35_000], ids=["twice", "again"])
def test_many_keys(values: Any) -> None:
    arrays = {"i": values, "i_null": np.zeros(len(values), dtype=np.uint8)}
    keys = KeyNumbers(1)
    numbers, places = number(keys, SPECS[:1], arrays)
    distinct, first = np.unique(values, return_index=True)
    assert len(keys) == len(distinct)
    assert np.array(numbers)[np.sort(first)].tolist() == list(range(len(distinct)))
    counts: dict[int, int] = {}
    for value, place in zip(values.tolist(), places, strict=True):
        assert place == counts.get(value, 0)
        counts[value] = place + 1
