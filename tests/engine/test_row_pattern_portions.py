"""Many rows are searched in portions, on several threads: the rows that are written are the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.engine.row_patterns import evaluate
from augury.engine.row_patterns.evaluate import PORTION_ROWS
from augury.engine.row_patterns.sorting import MIN_ROWS_TO_SHARE, key_numbers
from augury.options import Options
from augury.testing.row_patterns import bound_clause

CLAUSE = (
    "PARTITION BY k ORDER BY n MEASURES FIRST(n) AS since, count(*) AS many, MATCH_NUMBER() AS number "
    "PATTERN (A B+) DEFINE A AS x > 5, B AS x < PREV(x)"
)


def table(rows: int, keys: int) -> pa.Table:
    chance = np.random.default_rng(rows)
    key = [f"key {k}" for k in chance.integers(0, keys, rows)]
    return pa.table({"k": key, "n": np.arange(rows), "x": chance.integers(0, 10, rows)})


@pytest.mark.parametrize("threads", [1, 3])
def test_portions_write_what_their_keys_write_alone(threads: int) -> None:
    whole = table(2 * PORTION_ROWS + 1000, 50)
    bound = bound_clause(CLAUSE, whole.schema)
    found = evaluate(bound, whole, options=Options(jit=True, threads=threads))
    names = whole["k"].unique().to_pylist()
    who = whole["k"].to_numpy(zero_copy_only=False)
    alone = [whole.filter(pa.array(np.isin(who, part))) for part in (names[:25], names[25:])]
    assert all(len(part) < 2 * PORTION_ROWS for part in alone)
    expected = pa.concat_tables(evaluate(bound, part, options=Options(jit=True, threads=1)) for part in alone)
    order = [("k", "ascending"), ("since", "ascending")]
    assert found.sort_by(order).equals(expected.sort_by(order))
    assert found["number"].to_pylist()[0] == 1


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()])
def test_keys_are_numbered_alike_on_several_threads(kind: pa.DataType) -> None:
    values = np.random.default_rng(1).integers(0, 1000, MIN_ROWS_TO_SHARE)
    column = pa.chunked_array([pa.array(values[:7]), pa.array(values[7:])]).cast(kind)
    one, three = (key_numbers([column], len(column), threads) for threads in (1, 3))
    assert one is not None
    assert three is not None
    assert (one == three).all()
    assert one[0] == 0
