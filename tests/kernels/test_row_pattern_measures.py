"""Measures by compiled functions are those of plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.engine.row_patterns import evaluate
from augury.options import Options
from augury.testing.row_patterns import bound_clause

MEASURES = (
    "FIRST(A.x) AS a, LAST(A.x) AS b, FIRST(B.x, 1) AS c, LAST(B.x, 2) AS d, LAST(B.x, 1) AS e, "
    "PREV(FIRST(B.x)) AS f, NEXT(LAST(A.x), 2) AS g, FIRST(U.x, 3) AS h, LAST(U.x) AS i, LAST(C.x) AS j, "
    "CLASSIFIER() AS k"
)


@pytest.mark.parametrize("pattern", ["A+ B* C?", "(A | B)* C", "C?? A* B"])
@pytest.mark.parametrize("rows", ["ONE ROW PER MATCH", "ALL ROWS PER MATCH"])
def test_navigation(pattern: str, rows: str) -> None:
    """Some variables are mapped to no row of a match, some matches are empty."""
    chance = np.random.default_rng(5)
    table = pa.table({"k": chance.integers(0, 20, 500), "n": np.arange(500), "x": chance.integers(0, 9, 500)})
    clause = (
        f"PARTITION BY k ORDER BY n MEASURES {MEASURES} {rows} AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) "
        "SUBSET U = (A, C) DEFINE A AS x > 3, B AS x < PREV(x), C AS x = 4"
    )
    bound = bound_clause(clause, table.schema)
    plain, compiled = (evaluate(bound, table, options=Options(jit=jit, threads=1)) for jit in (False, True))
    assert plain.num_rows
    assert compiled.equals(plain)
    assert plain.equals(evaluate(bound, table, plan="reference"))
