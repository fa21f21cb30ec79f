"""How long the search takes: counted in steps, never in seconds."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from augury.engine.row_patterns import evaluate
from augury.errors import QueryError
from augury.ir.row_pattern import Permutation, Variable
from augury.reference.row_pattern.states import Choose, States, Take
from augury.testing.row_patterns import bound_clause, rows_of


def numbers(count: int, value: int = 1) -> pa.Table:
    return pa.table({"id": pa.array(range(count), pa.int32()), "x": pa.array([value] * count, pa.int32())})


def test_long_matches_need_no_recursion() -> None:
    table = numbers(10_000)
    assert rows_of("ORDER BY id MEASURES count(*) AS n, sum(x) AS s PATTERN (A+) DEFINE A AS x = 1", table) == [
        (10_000, 10_000)
    ]
    assert rows_of("ORDER BY id MEASURES count(*) AS n PATTERN ((A | B)*? C) DEFINE C AS id = 9999", table) == [
        (10_000,)
    ]
    running = "ORDER BY id MEASURES count(*) AS n PATTERN (A+ B) DEFINE A AS sum(A.x) < 9000, B AS avg(A.x) = 1"
    assert rows_of(running, table) == [(9000,), (1000,)]
    assert rows_of("MEASURES count(*) AS n PATTERN (A{1,1000000}) DEFINE A AS true", table) == [(10_000,)]


@pytest.mark.parametrize(
    "pattern",
    ["(A+)+ B", "((A*)*)* B", "(A | A)* B", "(A | A A)* (A | A A)* B", "(A?){30} A{30} B", "(A*)* (A*)* (A*)* B"],
)
def test_patterns_that_need_not_be_exponential_are_not(pattern: str) -> None:
    bound = bound_clause(f"MEASURES count(*) AS n PATTERN ({pattern}) DEFINE A AS x = 1, B AS x = 2", numbers(1).schema)
    assert evaluate(bound, numbers(60), max_steps=50_000).num_rows == 0


@pytest.mark.parametrize(
    "pattern, define",
    [
        ("(A | B)* X", "X AS LAST(A.x) = 2"),
        ("(A | B)* X", "X AS LAST(A.x, 2) + LAST(B.x, 1) = 5"),
        ("(A | B)* X", "X AS FIRST(B.x, 2) = 5"),
        ("(A | B)* X", "X AS LAST(CLASSIFIER(), 2) = 'Z'"),
    ],
)
def test_what_conditions_cannot_tell_apart_is_tried_once(pattern: str, define: str) -> None:
    bound = bound_clause(f"MEASURES count(*) AS n PATTERN ({pattern}) DEFINE {define}", numbers(1).schema)
    assert evaluate(bound, numbers(20), max_steps=200_000).num_rows == 0


def test_a_long_match_is_not_taken_for_an_exponential_one() -> None:
    bound = bound_clause("MEASURES count(*) AS n PATTERN (A+ B) DEFINE B AS id = 4999", numbers(1).schema)
    assert evaluate(bound, numbers(5000), max_steps=10).to_pylist() == [{"n": 5000}]


def test_exponential_patterns_end_with_an_error_that_says_so() -> None:
    bound = bound_clause("MEASURES count(*) AS n PATTERN ((A | B)* X) DEFINE X AS sum(A.x) < 0", numbers(1).schema)
    with pytest.raises(QueryError, match=r"(?s)A741.*more than 24000 steps.*WITHIN") as caught:
        evaluate(bound, numbers(40), max_steps=20_000)
    assert "(A | B)* X" in str(caught.value)


def test_permutations_are_not_written_out() -> None:
    names = "ABCDEFGHIJ"
    states = States(Permutation(tuple(map(Variable, names))))
    seen, pending = set(), [states.start]
    # Follow the preferred order only: the others must not have been made.
    while pending:
        number = pending.pop()
        if number in seen:
            continue
        seen.add(number)
        match states[number]:
            case Choose(options):
                pending.append(options[0])
            case Take(_, _, following):
                pending.append(following)
            case _:
                pass
    assert len(states) < 200
    # All 3,628,800 orders fail on the last row.
    conditions = ", ".join(f"{n} AS x <= {k}" for k, n in enumerate(names))
    table = pa.table({"x": pa.array([9, 8, 7, 6, 5, 4, 3, 2, 1, 99])})
    bound = bound_clause(
        f"MEASURES count(*) AS n PATTERN (PERMUTE({', '.join(names)})) DEFINE {conditions}", table.schema
    )
    assert evaluate(bound, table, max_steps=50_000).num_rows == 0


def test_an_earlier_order_goes_before_whatever_way_its_parts_match() -> None:
    table = pa.table({"x": list("aabc")})
    define = "A AS x = 'a', B AS x IN ('b', 'a'), C AS x IN ('c', 'a', 'b')"
    clause = "MEASURES array_join(array_agg(CLASSIFIER()), '') AS who PATTERN ({}) DEFINE " + define
    written_out = "(A* B C) | (A* C B) | (B A* C) | (B C A*) | (C A* B) | (C B A*)"
    assert rows_of(clause.format("PERMUTE(A*, B, C)"), table) == rows_of(clause.format(written_out), table)


def test_within_bounds_the_distance_of_all_rows() -> None:
    times = [0, 10, 20, 31, 40]
    table = pa.table({"t": pa.array([s * 1_000_000 for s in times], pa.timestamp("us"))})

    def found(within: str, order: str = "t") -> list[Any]:
        clause = f"ORDER BY {order} MEASURES count(*) AS n PATTERN (A+) WITHIN {within} DEFINE A AS true"
        return [n for (n,) in rows_of(clause, table)]

    assert found("INTERVAL '20' SECOND") == [3, 2]
    assert found("INTERVAL '19' SECOND") == [2, 2, 1]
    assert found("INTERVAL '1' MINUTE") == [5]
    assert found("INTERVAL '20' SECOND", "t DESC") == [3, 2]
    clause = "ORDER BY x MEASURES count(*) AS n PATTERN (A+) WITHIN 2 DEFINE A AS true"
    assert rows_of(clause, pa.table({"x": pa.array([1, 2, 3, 4, None])})) == [(3,), (1,), (1,)]
