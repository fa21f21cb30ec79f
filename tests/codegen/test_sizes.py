"""Large queries: the work from their text to the source of their kernels grows with their size, not its square."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury.plan import FamilyName
from tests.thorough import THOROUGH

COLUMNS = pa.schema(
    [("ts", pa.int64()), ("type", pa.string()), ("name", pa.string()), ("x", pa.float64()), ("k", pa.int64())]
)


def alternatives(n: int) -> str:
    return f"PATTERN SEQ(S s, OR({', '.join(f'T{i} a{i}' for i in range(n))})) WHERE s.x > 1 WITHIN 1 hour"


def alternatives_in_order(n: int) -> str:
    return alternatives(n).replace("WHERE s.x > 1", "WHERE skip_till_next_match { s.x > 1 }")


def branches(n: int) -> str:
    parts = ", ".join(f"SEQ(A a{i}, B+ b{i}[])" for i in range(n))
    return f"PATTERN SEQ(S s, OR({parts})) WHERE skip_till_next_match {{ s.x > 1 }} WITHIN 1 hour"


def types(n: int) -> str:
    return f"PATTERN SEQ(S s, {'|'.join(f'T{i}' for i in range(n))} a) WHERE s.x > 1 WITHIN 1 hour"


def integers(n: int) -> str:
    return f"PATTERN SEQ(A a, B b) WHERE a.k IN ({', '.join(str(7 * i) for i in range(n))}) WITHIN 1 hour"


def strings(n: int) -> str:
    names = ", ".join(f"'n{i}'" for i in range(n))
    return f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ b.name NOT IN ({names}) }} WITHIN 1 hour"


def conjuncts(n: int) -> str:
    return f"PATTERN SEQ(A a, B b) WHERE {' AND '.join(f'a.x + {i} > b.x' for i in range(n))} WITHIN 1 hour"


def conjuncts_in_order(n: int) -> str:
    tests = " AND ".join(f"a.x + {i} != b.x AND a.k != {i}" for i in range(n))
    return f"PATTERN SEQ(A a, B b) WHERE skip_till_next_match {{ {tests} }} WITHIN 1 hour"


def disjuncts(n: int) -> str:
    return f"PATTERN SEQ(A a, B b) WHERE {' OR '.join(f'a.x = {i}' for i in range(n))} WITHIN 1 hour"


def program(n: int) -> str:
    return ";\n".join(f"PATTERN SEQ(A a, B b) WHERE a.x > {i} WITHIN 1 hour" for i in range(n))


SHAPES: dict[Callable[[int], str], tuple[int, int]] = {
    alternatives: (80, 500),
    alternatives_in_order: (20, 500),
    branches: (60, 300),
    types: (40, 500),
    integers: (200, 100_000),
    strings: (200, 100_000),
    conjuncts: (20, 3_000),
    conjuncts_in_order: (20, 1_500),
    disjuncts: (40, 3_000),
    program: (4, 500),
}
"""Queries by size, with one that is counted and the one that is promised."""


def steps(action: Callable[[], Any]) -> int:
    """Lines of Python that are run, each round of a loop by itself."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    # What is called when garbage is collected is no work of ours.
    gc.disable()
    sys.settrace(trace)
    try:
        action()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_work_grows_with_the_size(shape: Callable[[int], str]) -> None:
    n, _ = SHAPES[shape]
    # What is imported once is no work of a query; the very text that is counted would be kept, and cost nothing.
    augury.compile(shape(n - 1), COLUMNS)
    some, twice, more = (steps(lambda size=size: augury.compile(shape(size), COLUMNS)) for size in (n, 2 * n, 3 * n))  # type: ignore[misc]
    # With a square in it, the second difference would be as large as the first.
    assert more - twice < 1.15 * (twice - some), (some, twice, more)


def test_columns_that_are_not_read_cost_little() -> None:
    def compiled(n: int) -> Any:
        columns = [*COLUMNS, *(pa.field(f"column {i}", pa.float64()) for i in range(n))]
        return augury.compile("PATTERN SEQ(A a, B b) WHERE a.x > b.x WITHIN 1 hour", pa.schema(columns))

    compiled(100)
    some, twice, more = (steps(lambda n=n: compiled(n)) for n in (100, 200, 300))  # type: ignore[misc]
    assert more - twice < 1.15 * (twice - some), (some, twice, more)


def test_values_of_a_long_list_are_no_text() -> None:
    def source(n: int) -> str:
        return augury.explain(integers(n), COLUMNS, stage="kernel").replace(integers(n)[:150], "")

    assert abs(len(source(20_000)) - len(source(100))) < 2_000
    assert "in_set(int_sets, int_values_" in source(100)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_what_is_promised_compiles(shape: Callable[[int], str]) -> None:
    _, n = SHAPES[shape]
    compiled = augury.compile(shape(n), COLUMNS).program
    assert all(query.kernel is not None for query in compiled.queries)


# -- long lists mean what short ones do --------------------------------------------------------------------------------

LISTS = (
    "b.k {} (3, 5, {more})",
    "b.k {} (3.0, 2.5, {more})",
    "b.k {} (3, 2.5, a.k, {more})",
    "b.x {} (3, 2.5, {more})",
    "b.x {} (a.x, {more})",
    "b.name {} ('n1', a.name, {names})",
    "b.name {} ('n1', {names})",
)


@pytest.mark.parametrize("word", ["IN", "NOT IN"])
@pytest.mark.parametrize("condition", LISTS)
@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain"])
def test_sets_agree_with_the_reference(plan: FamilyName, condition: str, word: str) -> None:
    n = 40
    events = pa.table(
        {
            "ts": list(range(n)),
            "type": ["A" if i % 5 == 0 else "B" for i in range(n)],
            "name": [None if i % 7 == 0 else f"n{i % 6}" for i in range(n)],
            "x": pa.array([None if i % 9 == 0 else i / 2 for i in range(n)], pa.float64()),
            "k": pa.array([None if i % 8 == 0 else i % 7 for i in range(n)], pa.int64()),
        }
    )
    more, names = ", ".join(map(str, range(100, 130))), ", ".join(f"'m{i}'" for i in range(30))
    test = condition.format(word, more=more, names=names)
    query = f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {test} AND a.ts < b.ts }} WITHIN 6 seconds"
    found = augury.match(events, query, plan=plan, jit=False).to_arrow()
    assert found.equals(augury.match(events, query, plan="reference").to_arrow())


# -- more components than loops nest -----------------------------------------------------------------------------------


def sequence(n: int, operator: str = "SEQ") -> str:
    return f"PATTERN {operator}({', '.join(f'T{i} a{i}' for i in range(n))})"


def rising(n: int) -> str:
    conjuncts = " AND ".join(f"a{i}.x < a{i + 1}.x" for i in range(n - 1))
    return f"{sequence(n)} WHERE skip_till_any_match {{ {conjuncts} AND a0.k = a{n - 1}.k }} WITHIN 1 hour"


def events(n: int) -> pa.Table:
    return pa.table({"ts": list(range(n)), "type": [f"T{i}" for i in range(n)], "x": [0.0] * n})


def some_twice(n: int) -> pa.Table:
    """Two events of every fourth type; every other time, the second is too large for those that follow."""
    rows = [(f"T{i}", i + k * (0.5 if i % 8 == 0 else 1)) for i in range(n) for k in range(2 if i % 4 == 0 else 1)]
    return pa.table(
        {
            "ts": list(range(len(rows))),
            "type": [t for t, _ in rows],
            "x": [x for _, x in rows],
            "k": [1] * len(rows),
        }
    )


@pytest.mark.parametrize("n", [20, 21, 24, 60])
def test_a_long_sequence_runs_as_a_chain(n: int) -> None:
    found = augury.match(events(n), f"{sequence(n)} WITHIN 1 hour", jit=False)
    assert len(found) == 1
    assert augury.explain(found).splitlines()[0] == "plan  lazy-chain"


@pytest.mark.parametrize("order", ["forward", "backward", "from the middle"])
@pytest.mark.parametrize("n", [9, 24, 60])
def test_a_long_chain_agrees_with_the_automaton(n: int, order: str) -> None:
    variables = [f"a{i}" for i in range(n)]
    middle = sorted(range(n), key=lambda i: abs(i - n // 2))
    orders = {
        "forward": variables,
        "backward": variables[::-1],
        "from the middle": [variables[i] for i in middle],
    }
    table = some_twice(n)
    expected = augury.match(table, rising(n), plan="eager-nfa", jit=False).to_arrow()
    assert expected.num_rows > 1
    found = augury.match(table, rising(n), plan="lazy-chain", order=orders[order], jit=False)
    assert found.to_arrow().equals(expected)


@pytest.mark.parametrize("n", [9, 24])
def test_a_long_chain_waits_for_the_stream(n: int) -> None:
    """Partial matches of every length are kept from batch to batch, and taken up again."""
    table = some_twice(n)
    matcher = augury.Matcher(
        rising(n), table.schema, plan="lazy-chain", order=[f"a{i}" for i in range(n)], jit=False, counters=True
    )
    found = [len(matcher.feed(table.slice(i, 3))) for i in range(0, table.num_rows, 3)]
    found.append(len(matcher.finish()))
    expected = augury.match(table, rising(n), plan="eager-nfa", jit=False)
    assert sum(found) == len(expected)


def test_no_function_nests_more_loops_than_python_can() -> None:
    for n in (24, 40):
        source = augury.explain(rising(n), some_twice(n).schema, stage="kernel", plan="lazy-chain")
        depths = [len(line) - len(line.lstrip()) for line in source.splitlines() if line.strip().startswith("for ")]
        assert max(depths) // 4 < 20


def test_the_kernel_of_a_chain_grows_with_its_length() -> None:
    """Each function has some states and what it touches of them, however long the chain is."""

    def size(n: int) -> int:
        order = [f"a{i}" for i in range(n)]
        return len(augury.explain(rising(n), some_twice(n).schema, stage="kernel", plan="lazy-chain", order=order))

    some, twice, more = size(18), size(36), size(54)
    assert more - twice < 1.25 * (twice - some), (some, twice, more)


@pytest.mark.slow
@pytest.mark.parametrize("n", [24, 60] if THOROUGH else [60])
def test_a_long_chain_compiles(n: int) -> None:
    table = some_twice(n)
    expected = augury.match(table, rising(n), plan="lazy-chain", jit=False).to_arrow()
    assert augury.match(table, rising(n), plan="lazy-chain", jit=True).to_arrow().equals(expected)


@pytest.mark.parametrize("output", ["ALL", "COVER", "LATEST"])
@pytest.mark.parametrize("n", [13, 14, pytest.param(26, marks=pytest.mark.slow), 60])
def test_long_linked_chains_agree_with_the_automaton(n: int, output: str) -> None:
    table, query = some_twice(n), rising(n)
    found = augury.match(table, f"{query} OUTPUT {output}", plan="linked", jit=False).to_arrow()
    every = augury.match(table, query, plan="eager-nfa", jit=False).to_arrow()
    if output == "ALL":
        assert found.equals(every)
    else:
        ends = set(every["end"].to_pylist())
        assert {row["end"] for row in found.to_pylist()} <= ends
        assert found.num_rows == (len(ends) if output == "LATEST" else found.num_rows) > 0


@pytest.mark.parametrize("n", [12, 13, 24, 60])
@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked"])
def test_a_long_negated_part(plan: Any, n: int) -> None:
    """It occurs in the first stream; in the second, one of its events is missing."""
    part = sequence(n).removeprefix("PATTERN ")
    query = f"PATTERN SEQ(A a, NOT({part}), B b) WHERE a{n - 1}.x > a0.x AND a{n - 2}.x = a.x WITHIN 1 hour"
    types = ["A", *(f"T{i}" for i in range(n)), "B"]
    table = pa.table({"ts": list(range(n + 2)), "type": types, "x": [0.0] * (n - 1) + [0.0, 1.0, 0.0]})
    without = pa.concat_tables([table.slice(0, n - 2), table.slice(n - 1)])
    assert len(augury.match(table, query, plan=plan, jit=False)) == 0
    assert len(augury.match(without, query, plan=plan, jit=False)) == 1


@pytest.mark.parametrize("query", [f"{sequence(n, 'AND')} WITHIN 1 hour" for n in (20, 24)])
def test_a_long_conjunction_runs(query: str) -> None:
    assert len(augury.match(events(24), query, jit=False)) == 1


def lists(n: int) -> str:
    return f"PATTERN SEQ({', '.join(f'T{i}+ a{i}[]' for i in range(n))}) WITHIN 1 hour"


def test_what_loops_cannot_nest_is_refused_before_anything_is_generated() -> None:
    conditions = " AND ".join(f"a{i}[i].x < b.x + a{i + 1}[i].x" for i in range(6))
    each = " + ".join(f"a{i}[i].x" for i in range(7))
    query = lists(7).replace(") WITHIN", f", NOT(N n), B b) WHERE {conditions} AND n.x < {each} WITHIN")
    with pytest.raises(augury.QueryError) as caught:
        augury.compile(query, COLUMNS)
    assert [d.code for d in caught.value.diagnostics] == ["A292"]


def test_a_plan_that_is_asked_for_says_why_it_cannot() -> None:
    with pytest.raises(augury.UnsupportedPlan, match="11 repeated components, and a chain can nest the loops of 10"):
        augury.compile(lists(11), COLUMNS, plan="lazy-chain")
    assert len(augury.match(events(10), lists(10), plan="lazy-chain", jit=False)) == 1


@pytest.mark.slow
def test_thousands_of_conditions_are_tested_together() -> None:
    # Whatever passes the first condition passes the others, a.x + 1 > b.x and so on.
    stream = pa.table({"ts": range(8), "type": list("ABABABAB"), "x": [5.0, 1.0, 0.0, 1.0, 3.0, 2.0, 9.0, 4.0]})
    found, few = (augury.match(stream, conjuncts(n), plan="lazy-chain", jit=False) for n in (3_000, 1))
    assert [match.rows for match in found] == [match.rows for match in few]
    assert len(found) == 6
