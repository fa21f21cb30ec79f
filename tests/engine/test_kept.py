"""Events that are kept in parts are the same events however they came, and were let go."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from augury.engine.arrivals import Arrivals
from augury.engine.kept import PARTS_JOINED, KeptEvents

ARROW = pa.schema([("x", pa.int64())])


def arrivals(rows: list[int]) -> Arrivals:
    numbers = np.array(rows, dtype=np.int64)
    return Arrivals(pa.table({"x": numbers * 10}, schema=ARROW), numbers, numbers, numbers)


def test_many_small_batches_are_joined_into_few_parts() -> None:
    kept = KeptEvents(ARROW)
    for row in range(PARTS_JOINED**2 + 5):
        kept = kept + arrivals([row])
        assert len(kept.parts) < 3 * PARTS_JOINED
    assert [part.weight for part in kept.parts] == [PARTS_JOINED**2, 1, 1, 1, 1, 1]
    assert kept.everything().table.column(0).num_chunks <= len(kept.parts)


def test_parts_that_are_over_are_let_go_and_the_others_are_shared() -> None:
    kept = KeptEvents(ARROW) + arrivals([0, 1, 2]) + arrivals([3, 4, 5]) + arrivals([6])
    later = kept.since(4)
    assert later.parts == kept.parts[1:]
    assert later.everything().rows.tolist() == [4, 5, 6]
    assert later.fetch(np.array([6, 4])).to_pydict() == {"x": [60, 40]}
    assert len(kept.since(7)) == 0
    assert kept.everything().rows.tolist() == [0, 1, 2, 3, 4, 5, 6]


@given(st.lists(st.tuples(st.lists(st.integers(0, 60), max_size=4), st.integers(0, 60)), max_size=80))
def test_they_are_what_a_plain_list_would_keep(steps: list[tuple[list[int], int]]) -> None:
    kept, plain = KeptEvents(ARROW), list[int]()
    for rows, oldest in steps:
        kept, plain = kept + arrivals(rows), plain + rows
        assert kept.everything().rows.tolist() == plain
        kept, plain = kept.since(oldest), [row for row in plain if row >= oldest]
        assert kept.everything().rows.tolist() == plain
        assert kept.everything().table.column(0).to_pylist() == [10 * row for row in plain]
