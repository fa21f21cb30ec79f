"""How many steps the compiled search takes: linear where conditions are bits of rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.kernels.row_pattern.kernel import FoundMatches, RowPatternKernel
from augury.kernels.row_pattern.rows import SortedRows
from augury.kernels.row_pattern.vectors import column_vector
from augury.options import Options
from augury.plan.row_pattern import RowPatternPlan
from augury.planner.row_pattern import build_row_pattern
from augury.testing.row_patterns import bound_clause


def search(clause: str, values: list[int]) -> FoundMatches:
    table = pa.table({"x": pa.array(values, pa.int64())})
    plan = build_row_pattern(bound_clause(f"ORDER BY x MEASURES count(*) AS n {clause}", table.schema))
    assert isinstance(plan, RowPatternPlan)
    rows = SortedRows(np.array([0, len(values)]), {0: column_vector(table.column(0))})
    return RowPatternKernel(plan, Options(jit=False)).search(rows, 1_000_000)


@pytest.mark.parametrize(
    "pattern",
    [
        "(A+)+ B",
        "((A*)*)* B",
        "(A | A A)* (A | A A)* B",
        "(A+ B) | C",
        "(A+ B) | A",
        "(A?){20} A{20} B",
        "A*? (A | C)* B",
    ],
)
def test_failures_are_remembered_across_candidates(pattern: str) -> None:
    """Twice the rows take twice the steps, although every candidate looks at all rows that follow."""
    few, many = (
        search(f"PATTERN ({pattern}) DEFINE A AS x < 1000, B AS x > 5000", list(range(n))).steps for n in (400, 800)
    )
    assert many < 2.2 * few


def test_failures_by_within_are_forgotten() -> None:
    found = search("PATTERN (A+ B) WITHIN 3 DEFINE B AS x >= 9", list(range(12)))
    assert found.start.tolist() == [6, 10]
    assert found.length.tolist() == [4, 2]
    few, many = (search("PATTERN (A+ B) WITHIN 3 DEFINE B AS x < 0", list(range(n))).steps for n in (400, 800))
    assert many < 2.2 * few


def test_long_matches_grow_their_room() -> None:
    found = search("PATTERN (A+ B) DEFINE A AS count(*) > 0 AND x >= FIRST(x), B AS x = 2999", list(range(3000)))
    assert found.length.tolist() == [3000]


def test_a_search_leaves_nothing_to_the_next_one() -> None:
    clause = "PATTERN (A+ B?) DEFINE A AS x > PREV(x), B AS x = 3"
    chance = np.random.default_rng(3)
    tables = [pa.table({"x": chance.integers(0, 5, size)}) for size in (5_000, 40, 9_000, 1)]
    plan = build_row_pattern(bound_clause(f"ORDER BY x MEASURES count(*) AS n {clause}", tables[0].schema))
    assert isinstance(plan, RowPatternPlan)
    one = RowPatternKernel(plan, Options(jit=False))
    inputs = [SortedRows(np.array([0, len(t)]), {0: column_vector(t.column(0))}) for t in tables]
    found = [one.search(rows, 1_000_000) for rows in inputs]
    for rows, before in zip(inputs, found, strict=True):
        alone = RowPatternKernel(plan, Options(jit=False)).search(rows, 1_000_000)
        assert before.start.tolist() == alone.start.tolist()
        assert before.states.tolist() == alone.states.tolist()
