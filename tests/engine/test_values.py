"""Arrow values as Python objects, JSON and cells of a table."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from augury.engine.results.render import MAX_CELL_CHARACTERS, cell
from augury.engine.results.values import to_json, to_python
from augury.engine.sources.rows import rows_to_table


@pytest.mark.parametrize(
    "array, python, json",
    [
        (pa.array([1_001], pa.duration("ns")), dt.timedelta(microseconds=1), 1e-06),
        (pa.array([1_001], pa.time64("ns")), dt.time(microsecond=1), "00:00:00.000001"),
        (pa.array([dt.date(2026, 3, 14)]), dt.date(2026, 3, 14), "2026-03-14"),
        (pa.array([0], pa.timestamp("s", "Europe/Berlin")), None, "1970-01-01T01:00:00+01:00"),
        (pa.array([Decimal("1.10")]), Decimal("1.10"), "1.10"),
        (pa.array([b"hi"]), b"hi", "aGk="),
        (
            pa.array([[{"t": 1_500}]], pa.list_(pa.struct([("t", pa.timestamp("ns"))]))),
            None,
            [{"t": "1970-01-01T00:00:00.000001500"}],
        ),
        (pa.array(["x"]).dictionary_encode(), "x", "x"),
        (pa.array([[float("inf")]]), [float("inf")], [None]),
    ],
    ids=str,
)
def test_leaves(array: pa.Array, python: Any, json: Any) -> None:
    if python is not None:
        assert to_python(array) == [python]
    assert to_json(array) == [json]


@pytest.mark.parametrize("large", [False, True])
def test_slices_of_nested_lists_with_nulls(large: bool) -> None:
    kind = pa.large_list(pa.timestamp("ns")) if large else pa.list_(pa.timestamp("ns"))
    array = pa.array([[1_000], None, [], [2_000, None]], kind).slice(1)
    assert to_python(array) == [None, [], [dt.datetime(1970, 1, 1, 0, 0, 0, 2), None]]


def test_cells() -> None:
    assert cell(["a", 1.5, None]) == "[a, 1.5, ]"
    assert cell(1 / 3) == "0.333333"
    assert cell(dt.datetime(2026, 3, 14, 9)) == "2026-03-14 09:00:00"
    assert cell("x" * 100) == "x" * (MAX_CELL_CHARACTERS - 1) + "…"


@pytest.mark.parametrize(
    "value, arrow",
    [
        (dt.date(2026, 3, 14), pa.date32()),
        (dt.timedelta(seconds=1), pa.duration("us")),
        (Decimal("1.10"), pa.decimal128(3, 2)),
        (b"x", pa.binary()),
        ({"k": 1}, pa.struct([("k", pa.int64())])),
        ((1, 2), pa.list_(pa.int64())),
    ],
)
def test_columns_of_every_python_type(value: Any, arrow: pa.DataType) -> None:
    assert rows_to_table([{"v": None}, {"v": value}]).schema.field("v").type == arrow
