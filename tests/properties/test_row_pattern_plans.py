"""The compiled plan of row patterns does what the reference evaluator does, on random clauses and tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, seed, settings

from augury.engine.row_patterns import plan_row_pattern
from augury.testing.row_pattern_clauses import assert_plans_agree, clauses, tables
from augury.testing.row_patterns import bound_clause


@given(clauses(), tables())
@settings(max_examples=200, deadline=None)
def test_the_compiled_plan_agrees_with_the_reference(clause: str, table: pa.Table) -> None:
    assert_plans_agree(clause, table)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_the_compiled_plan_agrees_with_the_reference_at_length(number: int, request: pytest.FixtureRequest) -> None:
    examples = 1000 if request.config.getoption("--thorough") else 100

    @seed(number)
    @settings(max_examples=examples, deadline=None, database=None)
    @given(clauses(), tables(12))
    def agree(clause: str, table: pa.Table) -> None:
        assert_plans_agree(clause, table)

    agree()


TABLE = pa.table(
    {
        "id": pa.array(range(12), pa.int64()),
        "k": pa.array([1, 2] * 6, pa.int64()),
        "x": pa.array([3, 1, 2, None, 4, 0, 1, 1, 3, 2, 2, 5], pa.int32()),
        "y": pa.array([0.5, 2.0, None, 1.0, float("nan"), 3.0, 3.5, 0.0, 1.5, 2.5, 9.0, 1.0]),
        "s": pa.array(["a", "b", None, "a", "ab", "b", "", "a", "b", "a", None, "c"]),
    }
)


@pytest.mark.parametrize(
    "clause",
    [
        "ORDER BY id MEASURES count(*) AS n, stddev(y) AS d, max(A.x) AS m ALL ROWS PER MATCH PATTERN (A+ B?) "
        "DEFINE A AS x > 0, B AS x >= 2",
        "PARTITION BY k ORDER BY id MEASURES sum(B.y) AS s, LAST(A.x, 1) AS a AFTER MATCH SKIP TO NEXT ROW "
        "PATTERN (A B* C) DEFINE B AS B.x < avg(x) + 1 AND s <> A.s, C AS x > FIRST(A.x) OR LAST(B.x, 1) IS NULL",
        "PARTITION BY k ORDER BY id MEASURES MATCH_NUMBER() AS n PATTERN ((A | B)+ C) WITHIN 4 "
        "DEFINE A AS x % 2 = 0, B AS count(*) + sum(x) < 9 AND PREV(CLASSIFIER()) = 'A', C AS y > stddev_pop(y)",
    ],
)
def test_compiled_code_does_what_the_same_text_does_as_plain_python(clause: str) -> None:
    kind, rows = assert_plans_agree(clause, TABLE, jit=True)
    assert kind == "rows"
    assert rows


@pytest.mark.parametrize("operand, kind", [("0 / 0", "error"), ("x / 0", "error"), ("s", "rows"), ("x", "rows")])
def test_try_cast_forgives_its_own_conversion_alone(operand: str, kind: str) -> None:
    clause = f"ORDER BY id MEASURES TRY_CAST({operand} AS integer) AS n PATTERN (A+) DEFINE A AS true"
    assert assert_plans_agree(clause, TABLE)[0] == kind


@pytest.mark.parametrize(
    "clause, reason",
    [
        ("PATTERN (A{600}) DEFINE A AS true", "more than 504 places"),
        ("PATTERN (PERMUTE(A, B, C, D, E, F, G, H)) DEFINE A AS true", "more than 504 places"),
        ("PATTERN (A B) DEFINE B AS array_agg(x) IS NULL", "aggregate array_agg"),
        ("PATTERN (A B+) DEFINE B AS concat(A.s, B.s) = 'ab'", "applies concat to values of several rows"),
        ("PATTERN (A B+) DEFINE B AS A.x * 1.5 > B.x + 0.5 + A.x", "decimal"),
    ],
)
def test_what_the_plan_refuses_runs_on_the_reference(clause: str, reason: str) -> None:
    clause = f"ORDER BY id MEASURES count(*) AS n {clause}"
    planned = plan_row_pattern(bound_clause(clause, TABLE.schema))
    assert planned.plan is None
    assert planned.refused is not None
    assert reason in planned.refused.reason
    assert_plans_agree(clause, TABLE)


@pytest.mark.parametrize(
    "define, bits, values",
    [
        ("A AS x > 1, B AS x > PREV(x) AND NEXT(y, 2) IS NULL", 2, 0),
        ("A AS x > 1, B AS x > A.x", 2, 0),
        ("A AS x > 1, C AS x > B.x AND avg(A.x) < sum(x) AND CLASSIFIER(B) = 'B'", 2, 0),
        ("B AS x > A.x AND MATCH_NUMBER() < 3", 0, 1),
        ("B AS stddev(y) < 2", 0, 1),
        ("A AS CLASSIFIER() = 'A', B AS LAST(B.x) = 1 AND B.s LIKE 'a%'", 2, 0),
        ("A AS sum(x) < 5, B AS MATCH_NUMBER() = 1", 1, 1),
    ],
)
def test_conditions_of_one_row_are_bits(define: str, bits: int, values: int) -> None:
    plan: Any = plan_row_pattern(bound_clause(f"MEASURES 1 AS n PATTERN (A B C) DEFINE {define}", TABLE.schema)).plan
    assert sum(c.bit is not None for c in plan.conditions) == bits
    assert sum(c.value is not None for c in plan.conditions) == values


@pytest.mark.parametrize("pattern", ["A B+ C", "A* B C", "(A B C)+", "^ A B C | B A C", "A B C B", "(A | C) B"])
def test_rows_whose_distance_is_not_known_are_looked_back_at_by_the_search(pattern: str) -> None:
    clause = f"ORDER BY id MEASURES count(*) AS n PATTERN ({pattern}) DEFINE B AS x >= FIRST(A.x) OR count(*) > 2"
    plan: Any = plan_row_pattern(bound_clause(clause, TABLE.schema)).plan
    assert plan.conditions[plan.program.labels.index("B")].value is not None
    assert_plans_agree(clause, TABLE)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "pattern, define",
    [
        ("A{3} B", "B AS x > avg(A.x)"),
        ("A{3} B", "B AS y >= avg(A.y) OR y < min(A.y)"),
        ("A B A C", "A AS x >= 0, C AS sum(A.x) > max(B.x) + count(A.y)"),
        ("A B A C", "C AS LAST(A.x, 1) < FIRST(A.x, 1) OR LAST(A.x, 2) IS NULL AND PREV(B.x, 2) > 1"),
        ("A A B C*", "B AS PREV(CLASSIFIER(A)) = 'A' AND count(*) = 3 AND sum(x) IS NOT NULL, C AS x > B.x"),
        ("A{2} B", "B AS sum(A.x * 9000000000000000000) IS NOT NULL"),
        ("A{2} B", "B AS avg(A.x * 4000000000000000) > x"),
        ("A B C", "A AS 6 / x > 1, B AS max(s) > 'a', C AS x > A.x"),
        ("A B C", "A AS x > 0, B AS sum(6 / A.x) > 2, C AS x > 1"),
        ("A{2} B", "B AS max(A.x / 0) > 1"),
        ("A{33} B", "B AS x < avg(A.x)"),
        ("A B{- C -} D", "D AS y > sum(C.y) - sum(A.y)"),
    ],
)
@pytest.mark.parametrize("skip", ["PAST LAST ROW", "TO NEXT ROW"])
@pytest.mark.parametrize("within", ["", "WITHIN 3"])
def test_looking_back_over_a_fixed_number_of_rows(pattern: str, define: str, skip: str, within: str, jit: bool) -> None:
    assert_plans_agree(
        f"PARTITION BY k ORDER BY id MEASURES FIRST(id) AS since, LAST(id) AS until AFTER MATCH SKIP {skip} "
        f"PATTERN ({pattern}) {within} DEFINE {define}",
        TABLE,
        jit=jit,
    )
