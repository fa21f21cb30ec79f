"""Masks of conditions agree with the values that expressions have row by row, and with the bits of rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from augury.ir.row_expression import RowExpression
from augury.jit.tier import Tier
from augury.kernels.row_pattern.conditions import true_rows
from augury.kernels.row_pattern.kernel import RowPatternKernel
from augury.kernels.row_pattern.rows import SortedRows
from augury.kernels.row_pattern.vectors import FAILED, KNOWN, column_vector
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options
from augury.plan.row_pattern import RowPatternPlan
from augury.planner.row_pattern import build_row_pattern
from augury.testing.row_patterns import bound_clause

SUPPORT = Tier(row_pattern_support(), Options(jit=False))
STARTS = np.array([0, 1, 4, 4, 11, 13, 30])

NAN = float("nan")


def events(*, nulls: bool) -> pa.Table:
    """Rows of a few distinct values, some of them null if asked for."""
    chance = np.random.default_rng(7)
    size = int(STARTS[-1])
    x, y = chance.integers(-2, 3, size).tolist(), chance.choice([0.5, 1.0, -1.0, NAN], size).tolist()
    missing = chance.random((2, size)) < (0.2 if nulls else 0)
    return pa.table(
        {
            "x": pa.array([None if m else v for v, m in zip(x, missing[0], strict=True)], pa.int64()),
            "y": pa.array([None if m else v for v, m in zip(y, missing[1], strict=True)], pa.float64()),
            "s": pa.array(chance.choice(["a", "b", "c"], size).tolist()),
            "b": pa.array((chance.random(size) < 0.5).tolist()),
        }
    )


def planned(define: str, pattern: str, table: pa.Table) -> RowPatternPlan:
    plan = build_row_pattern(
        bound_clause(f"ORDER BY x MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define}", table.schema)
    )
    assert isinstance(plan, RowPatternPlan)
    return plan


def sorted_rows(table: pa.Table) -> SortedRows:
    return SortedRows(STARTS, {k: column_vector(c) for k, c in enumerate(table.columns)})


def condition_of(define: str, pattern: str, table: pa.Table) -> RowExpression:
    bit = planned(define, pattern, table).conditions[-1].bit
    assert bit is not None
    return bit


@pytest.mark.parametrize("nulls", [False, True], ids=["known", "nulls"])
@pytest.mark.parametrize(
    "condition",
    [
        "x > 0",
        "x > PREV(x)",
        "x > NEXT(x, 2)",
        "PREV(x) < x AND x <= NEXT(x)",
        "x < PREV(x, 40) OR x > 0",
        "y > PREV(y) OR y = PREV(y, 3)",
        "NOT (y > PREV(y))",
        "NOT (y > PREV(y) AND x > 0)",
        "x - PREV(x) <= 1 AND (x > 0 OR y < 1)",
        "x * 2 > PREV(y)",
        "s = PREV(s)",
        "s < 'b' OR s <> PREV(s)",
        "b AND NOT PREV(b)",
        "PREV(x) IS NULL",
        "x IS DISTINCT FROM PREV(x)",
        "coalesce(PREV(x), 5) > 2",
        "x IN (1, PREV(x))",
        "x BETWEEN PREV(x) AND 2",
        "x > null OR x > 1",
        "true",
    ],
)
def test_masks_are_the_rows_where_the_value_is_true(condition: str, nulls: bool) -> None:
    table = events(nulls=nulls)
    rows, expression = sorted_rows(table), condition_of(f"A AS {condition}", "A", table)
    found = true_rows(rows, expression, SUPPORT)
    vector = rows.value(expression, SUPPORT)
    true = vector.values if vector.kind == "boolean" else np.zeros(len(rows), np.bool_)
    expected = true if vector.codes is None else true & (vector.codes == KNOWN)
    assert found is not None
    assert found.tolist() == expected.tolist()


def test_masks_are_arrays_of_their_own() -> None:
    table = events(nulls=False)
    rows = sorted_rows(table)
    true_rows(rows, condition_of("A AS b AND x > 100", "A", table), SUPPORT)
    assert rows.columns[3].values.tolist() == table["b"].to_pylist()


@pytest.mark.parametrize("condition", ["1 / x > 0", "x > 0 AND PREV(x) / x > 0"])
def test_conditions_that_fail_somewhere_have_no_mask(condition: str) -> None:
    table = events(nulls=False)
    assert true_rows(sorted_rows(table), condition_of(f"A AS {condition}", "A", table), SUPPORT) is None


def test_a_failure_beside_a_partition_is_none_of_its_rows() -> None:
    table = pa.table({"x": pa.array([3, 0, 4], pa.int64())})
    expression = condition_of("A AS x / PREV(x) > 1", "A", table)
    columns = {0: column_vector(table.column(0))}
    assert true_rows(SortedRows(np.array([0, 3]), columns), expression, SUPPORT) is None
    apart = true_rows(SortedRows(np.array([0, 2, 3]), columns), expression, SUPPORT)
    assert apart is not None
    assert apart.tolist() == [False, False, False]


@pytest.mark.parametrize("nulls", [False, True], ids=["known", "nulls"])
@pytest.mark.parametrize(
    "aggregate", ["sum(A.x)", "avg(A.x)", "avg(A.y)", "sum(A.y)", "min(A.x)", "max(A.y)", "count(A.x)"]
)
@pytest.mark.parametrize("many", [1, 3])
def test_masks_of_aggregates_over_the_rows_before(aggregate: str, many: int, nulls: bool) -> None:
    table = events(nulls=nulls)
    rows = sorted_rows(table)
    expression = condition_of(f"A AS true, B AS {aggregate} < x + 1", f"A{{{many}}} B", table)
    found = true_rows(rows, expression, SUPPORT)
    vector = rows.value(expression, SUPPORT)
    expected = vector.values if vector.codes is None else vector.values & (vector.codes == KNOWN)
    # The search looks at no other rows.
    enough = np.concatenate([np.arange(b - a) >= many for a, b in pairwise(STARTS)])
    assert found is not None
    assert found[enough].tolist() == expected[enough].tolist()


@pytest.mark.parametrize("type, most", [(pa.int8(), 127), (pa.int32(), 2**31 - 1), (pa.int64(), 2**63 - 1)])
@pytest.mark.parametrize("operation", ["x + 1", "-2 - x", "x * 2", "x * -2 - 3"])
def test_numbers_beyond_their_type_have_failed(type: pa.DataType, most: int, operation: str) -> None:
    """However small the others are."""
    for values, fits in (([1, 2, 3], True), ([1, most, 3], False)):
        table = pa.table({"x": pa.array(values, type)})
        rows = SortedRows(np.array([0, 3]), {0: column_vector(table.column(0))})
        one = {pa.int8(): "tinyint", pa.int32(): "integer", pa.int64(): "bigint"}[type]
        written = operation.replace("1", f"CAST(1 AS {one})").replace("2", f"CAST(2 AS {one})")
        written = written.replace("3", f"CAST(3 AS {one})")
        found = true_rows(rows, condition_of(f"A AS {written} < 100", "A", table), SUPPORT)
        assert (found is not None) == fits


def test_sums_that_may_not_fit_have_no_mask() -> None:
    table = pa.table({"x": pa.array([2**62, 2**62, 1, 1], pa.int64())})
    rows = SortedRows(np.array([0, 4]), {0: column_vector(table.column(0))})
    expression = condition_of("A AS true, B AS sum(A.x) > x", "A{2} B", table)
    assert true_rows(rows, expression, SUPPORT) is None
    codes = rows.value(expression, SUPPORT).codes
    assert codes is not None
    assert codes[2] == FAILED


@pytest.mark.parametrize("pattern", ["A B+ C", "A{70} (B | C)+"])
def test_compiled_bits_are_those_of_plain_python(pattern: str) -> None:
    """With many positions, rows have bits in several words."""
    chance = np.random.default_rng(1)
    table = pa.table({"x": chance.integers(0, 9, 10_000)})
    plan = planned("A AS x < 9, B AS x > PREV(x), C AS x < 8", pattern, table)
    rows = SortedRows(np.array([0, 4_000, 10_000]), {0: column_vector(table.column(0))})
    plain, compiled = (RowPatternKernel(plan, Options(jit=jit)).search(rows, 1_000_000) for jit in (False, True))
    assert len(plain.start)
    assert compiled.start.tolist() == plain.start.tolist()
    assert compiled.states.tolist() == plain.states.tolist()


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("condition", ["x < NEXT(x, 3)", "x < PREV(x, 3)", "PREV(x, 2) < NEXT(x, 2)"])
def test_partitions_shorter_than_the_distance_of_a_neighbour(condition: str, size: int) -> None:
    table = pa.table({"x": pa.array(range(size), pa.int64())})
    rows = SortedRows(np.array([0, size]), {0: column_vector(table.column(0))})
    found = true_rows(rows, condition_of(f"A AS {condition}", "A", table), SUPPORT)
    assert found is not None
    assert found.tolist() == [condition == "x < NEXT(x, 3)" and k + 3 < size for k in range(size)]


@pytest.mark.parametrize(
    "condition, fails",
    [
        ("1 / x > NEXT(x)", True),
        ("PREV(x) < 1 / x", True),
        ("1 / x > 0 AND NEXT(x) > 0", True),
        ("NEXT(x) / x > 0", False),
        ("x - PREV(x) > 0", False),
        ("PREV(x, 2) < x / PREV(x)", True),
    ],
)
def test_what_fails_beside_a_missing_neighbour_is_an_error(condition: str, fails: bool) -> None:
    """At the last row x is zero and has no next one; at the second PREV(x) is zero, and there is no PREV(x, 2)."""
    table = pa.table(
        {"x": pa.array([0, 1, 0] if "PREV(x, 2)" in condition else [0] if "PREV" in condition else [1, 0])}
    )
    rows = SortedRows(np.array([0, len(table)]), {0: column_vector(table.column(0))})
    found = true_rows(rows, condition_of(f"A AS {condition}", "A", table), SUPPORT)
    assert (found is None) == fails
