"""Many rows are searched in portions, on several threads: the rows that are written are the same."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.engine.row_patterns import evaluate
from augury.engine.row_patterns.evaluate import MIN_PORTION_ROWS
from augury.engine.row_patterns.keys import MIN_ROWS_TO_SHARE, key_numbers
from augury.jit.tier import Tier
from augury.native.row_pattern_support import row_pattern_support
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
    whole = table(2 * MIN_PORTION_ROWS + 1000, 50)
    bound = bound_clause(CLAUSE, whole.schema)
    found = evaluate(bound, whole, options=Options(jit=True, threads=threads))
    names = whole["k"].unique().to_pylist()
    who = whole["k"].to_numpy(zero_copy_only=False)
    alone = [whole.filter(pa.array(np.isin(who, part))) for part in (names[:25], names[25:])]
    assert all(len(part) < 2 * MIN_PORTION_ROWS for part in alone)
    expected = pa.concat_tables(evaluate(bound, part, options=Options(jit=True, threads=1)) for part in alone)
    order = [("k", "ascending"), ("since", "ascending")]
    assert found.sort_by(order).equals(expected.sort_by(order))
    assert found["number"].to_pylist()[0] == 1


@pytest.mark.parametrize("define", ["B AS x < PREV(x)", "B AS x < avg(A.x)", "B AS x < A.x AND count(*) < 5"])
@pytest.mark.parametrize("pattern", ["A B", "A{3} B", "A B+"])
def test_any_number_of_threads_writes_the_same_rows_in_the_same_order(pattern: str, define: str) -> None:
    whole = table(MIN_ROWS_TO_SHARE + 1, 300)
    # Neither by key nor by time.
    whole = whole.take(np.random.default_rng(2).permutation(len(whole)))
    clause = (
        f"PARTITION BY k ORDER BY n MEASURES FIRST(n) AS since, sum(x) AS total PATTERN ({pattern}) DEFINE {define}"
    )
    bound = bound_clause(clause, whole.schema)
    one, *others = (evaluate(bound, whole, options=Options(jit=True, threads=n)).combine_chunks() for n in (1, 2, 5))
    assert one.num_rows
    assert all(other.equals(one) for other in others)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.float64()])
def test_keys_are_numbered_alike_on_several_threads(kind: pa.DataType, compiled: bool) -> None:
    support = Tier(row_pattern_support(), Options(jit=True)) if compiled else None
    values = np.random.default_rng(1).integers(0, 1000, MIN_ROWS_TO_SHARE)
    column = pa.chunked_array([pa.array(values[:7]), pa.array(values[7:])]).cast(kind)
    one, three = (key_numbers([column], len(column), threads, support) for threads in (1, 3))
    assert one is not None
    assert three is not None
    assert (one == three).all()
    assert one[0] == 0


@pytest.mark.parametrize("key", [pa.string(), pa.dictionary(pa.int32(), pa.string()), pa.int64()])
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "out of order where chunks meet"])
def test_chunks_write_what_the_whole_table_writes(key: pa.DataType, shuffled: bool) -> None:
    chance = np.random.default_rng(4)
    parts = []
    for first, size in ((0, 700), (700, 0), (700, 1), (701, 900)):
        names = pa.array(chance.integers(0, 30, size)).cast(pa.string())
        names = names.cast(key) if not pa.types.is_dictionary(key) else names.dictionary_encode()
        own = np.arange(first, first + size)
        parts.append(
            pa.table({"k": names, "n": own - 800 if shuffled and first else own, "x": chance.integers(0, 9, size)})
        )
    chunked = pa.concat_tables(parts)
    clause = (
        "PARTITION BY k ORDER BY n MEASURES FIRST(n) AS since, A.x - LAST(x) AS fall PATTERN (A B+) "
        "DEFINE B AS x < PREV(x)"
    )
    bound = bound_clause(clause, chunked.schema)
    found = evaluate(bound, chunked, options=Options(jit=True, threads=2))
    expected = evaluate(bound, chunked.combine_chunks(), plan="reference")
    assert found.num_rows
    assert found.to_pylist() == expected.to_pylist()
