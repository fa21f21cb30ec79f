"""Random small streams with everything that makes matching hard: ties, nulls, repeated values."""

from __future__ import annotations

import itertools

import pyarrow as pa
from hypothesis import strategies as st

TYPES = ("A", "B", "C")

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("k", pa.string()),
        ("x", pa.int64()),
        ("y", pa.float64()),
        ("h", pa.list_(pa.float64())),
    ]
)
"""The columns of every random stream: a key `k`, an integer `x`, a float `y` and a short list `h`, all nullable."""


@st.composite
def streams(draw: st.DrawFn, *, max_size: int = 8) -> pa.Table:
    """A stream in time order, in which neighbours are often concurrent."""
    size = draw(st.sampled_from([0, 1, *range(3, max_size + 1), max_size, max_size]))
    steps = [draw(st.sampled_from([0, 1, 1, 1, 2])) for _ in range(size)]
    rows = []
    time = 0
    for step in steps:
        time += step
        rows.append(
            {
                "ts": time,
                "type": draw(st.sampled_from(TYPES)),
                "k": draw(st.sampled_from(["p", "p", "p", "p", "q", "q", None])),
                "x": draw(st.sampled_from([0, 1, 1, 2, 2, 3, None])),
                "y": draw(st.sampled_from([-1.5, 0.0, 0.5, 2.0, 2.0, None])),
                "h": draw(st.sampled_from([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [2.0, 4.0, 7.0], None])),
            }
        )
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@st.composite
def dense_streams(draw: st.DrawFn, *, min_size: int = 4, max_size: int = 7) -> pa.Table:
    """A stream of two types mostly, with few ties and no nulls, in which short patterns are found often."""
    types = draw(st.lists(st.sampled_from("AABBC"), min_size=min_size, max_size=max_size))
    rows = []
    time = 0
    for name in types:
        time += draw(st.sampled_from([1, 1, 1, 1, 1, 0]))
        key = draw(st.sampled_from("pppppq"))
        rows.append({"ts": time, "type": name, "k": key, "x": draw(st.integers(0, 3)), "y": 0.5, "h": [1.0, 2.0, 3.0]})
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def cuts(table: pa.Table) -> st.SearchStrategy[list[pa.Table]]:
    """The same stream in batches, some of them empty."""

    def slices(ends: list[int]) -> list[pa.Table]:
        edges = [0, *sorted(ends), table.num_rows]
        return [table.slice(a, b - a) for a, b in itertools.pairwise(edges)]

    return st.lists(st.integers(0, table.num_rows), max_size=3).map(slices)
