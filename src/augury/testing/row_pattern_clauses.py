"""Random MATCH_RECOGNIZE clauses and tables, and a check that every evaluator returns the same rows for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from augury.engine.row_patterns import evaluate
from augury.errors import AuguryError
from augury.ir.row_pattern import Alternation, BoundRowPattern, Concatenation, Variable
from augury.options import Options
from augury.testing.row_patterns import bound_clause, comparable, row_patterns

VARIABLES = ("A", "B", "C", "U")
"""Pattern variables, and the subset of A and B."""

SKIPS = (
    "PAST LAST ROW",
    "PAST LAST ROW",
    "TO NEXT ROW",
    "TO FIRST B",
    "TO LAST A",
    "TO LAST U",
    "TO C",
)
ROWS = (
    "ONE ROW PER MATCH",
    "ALL ROWS PER MATCH",
    "ALL ROWS PER MATCH SHOW EMPTY MATCHES",
    "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
)
ORDERS = (
    "",
    "ORDER BY id",
    "ORDER BY id DESC",
    "ORDER BY x, id",
    "ORDER BY x DESC NULLS FIRST",
    "ORDER BY y",
    "ORDER BY at",
)


STREAM_ORDERS = ("ORDER BY at", "ORDER BY at, id", "ORDER BY at NULLS FIRST, x DESC NULLS FIRST")


def tables(most: int = 9, *, timed: bool = False) -> st.SearchStrategy[pa.Table]:
    """Small tables with nulls, NaN, ties and two keys; if `timed`, without null times."""
    times = st.integers(0, 9).map(lambda s: s * 1_000_000)
    row = st.fixed_dictionaries(
        {
            "k": st.sampled_from([1, 1, 2, None]),
            "x": st.one_of(st.none(), st.integers(0, 4), st.sampled_from([-3, 2**31 - 1])),
            "y": st.one_of(st.none(), st.sampled_from([0.0, 0.5, 1.5, -2.25, 1e9]), st.just(float("nan"))),
            "s": st.sampled_from(["a", "b", "ab", "", None]),
            "flag": st.sampled_from([True, False, None]),
            "at": times if timed else st.one_of(st.none(), times),
        }
    )
    types = {"k": pa.int64(), "x": pa.int32(), "y": pa.float64(), "s": pa.string(), "flag": pa.bool_()}

    def table(rows: list[dict[str, Any]]) -> pa.Table:
        columns = {name: pa.array([r[name] for r in rows], type) for name, type in types.items()}
        at = pa.array([r["at"] for r in rows], pa.timestamp("us"))
        return pa.table({"id": pa.array(range(len(rows)), pa.int64()), **columns, "at": at})

    return st.lists(row, min_size=1, max_size=most).map(table)


@st.composite
def navigations(draw: st.DrawFn, column: str, *, define: bool) -> str:
    """A column at some row."""
    variable = draw(st.sampled_from(["", "", "A.", "B.", "C.", "U."]))
    value = f"{variable}{column}"
    form = draw(st.sampled_from(["plain", "plain", "PREV", "NEXT", "FIRST", "LAST", "both"]))
    offset = draw(st.sampled_from(["", "", ", 1", ", 2", ", 0"]))
    semantics = "" if define else draw(st.sampled_from(["", "", "RUNNING ", "FINAL "]))
    match form:
        case "plain":
            return value
        case "PREV" | "NEXT":
            return f"{form}({value}{offset})"
        case "FIRST" | "LAST":
            return f"{semantics}{form}({value}{offset})"
        case _:
            logical = draw(st.sampled_from(["FIRST", "LAST"]))
            physical = draw(st.sampled_from(["PREV", "NEXT"]))
            return f"{physical}({semantics}{logical}({value}{offset}), {draw(st.integers(0, 2))})"


@st.composite
def numbers(draw: st.DrawFn, *, define: bool, depth: int = 2) -> str:
    """An expression whose value is a number."""
    kind = draw(st.integers(0, 9 if depth else 5))
    semantics = "" if define else draw(st.sampled_from(["", "", "RUNNING ", "FINAL "]))
    variable = draw(st.sampled_from(["", "A.", "B.", "U."]))
    match kind:
        case 0 | 1:
            return draw(navigations(draw(st.sampled_from(["x", "x", "y", "id"])), define=define))
        case 2:
            return draw(st.sampled_from(["0", "1", "2", "3", "1.5", "0.5e0"]))
        case 3:
            function = draw(st.sampled_from(["sum", "avg", "min", "max", "count", "stddev", "var_pop"]))
            argument = draw(st.sampled_from(["{0}x", "{0}y", "{0}x + 1", "{0}x + {0}id"])).format(variable)
            return f"{semantics}{function}({argument})"
        case 4:
            return semantics + draw(st.sampled_from(["count(*)", "count(A.*)", "count(U.*)", "count(B.s)"]))
        case 5:
            return "MATCH_NUMBER()"
        case 6:
            inner = draw(numbers(define=define, depth=depth - 1))
            return draw(st.sampled_from(["abs({})", "-({})", "coalesce({}, 1)", "round({})", "nullif({}, 2)"])).format(
                inner
            )
        case _:
            left, right = (draw(numbers(define=define, depth=depth - 1)) for _ in range(2))
            return f"({left} {draw(st.sampled_from(['+', '-', '*', '/', '%']))} {right})"


@st.composite
def conditions(draw: st.DrawFn, *, define: bool = True, depth: int = 2) -> str:
    """An expression whose value is a boolean."""
    kind = draw(st.integers(0, 12 if depth else 8))
    match kind:
        case 0 | 1 | 2:
            left, right = (draw(numbers(define=define, depth=1)) for _ in range(2))
            return f"{left} {draw(st.sampled_from(['<', '<=', '>', '>=', '=', '<>']))} {right}"
        case 3:
            neighbour = draw(st.sampled_from(["PREV(x)", "NEXT(x)", "2", "PREV(x, 2)"]))
            return f"x {draw(st.sampled_from(['<', '>', '>=', '<>']))} {neighbour}"
        case 4:
            text = draw(navigations("s", define=define))
            other = draw(st.sampled_from(["'a'", "'b'", "''", "upper('a')", "s", "A.s"]))
            return f"{text} {draw(st.sampled_from(['=', '<', '<>', '>=']))} {other}"
        case 5:
            row = draw(
                st.sampled_from(["CLASSIFIER()", "LAST(CLASSIFIER(), 1)", "FIRST(CLASSIFIER())", "CLASSIFIER(U)"])
            )
            row = draw(st.sampled_from([row, "PREV(CLASSIFIER())"]))
            return f"{row} {draw(st.sampled_from(['=', '<>']))} {draw(st.sampled_from(['A', 'B', 'Z']).map(repr))}"
        case 6:
            return draw(navigations("flag", define=define))
        case 7:
            value = draw(navigations(draw(st.sampled_from(["x", "y", "s", "flag"])), define=define))
            return f"{value} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
        case 8:
            value = draw(navigations("x", define=define))
            return draw(st.sampled_from(["{} IN (1, 2, 4)", "{} BETWEEN 1 AND 3", "{} IS DISTINCT FROM 2"])).format(
                value
            )
        case 9:
            return f"NOT ({draw(conditions(define=define, depth=depth - 1))})"
        case 10:
            return f"{draw(navigations('at', define=define))} < {draw(navigations('at', define=define))}" + draw(
                st.sampled_from(["", " + INTERVAL '2' SECOND"])
            )
        case _:
            parts = [draw(conditions(define=define, depth=depth - 1)) for _ in range(draw(st.integers(2, 3)))]
            return "(" + draw(st.sampled_from([" AND ", " OR "])).join(parts) + ")"


@st.composite
def measures(draw: st.DrawFn) -> str:
    """An expression of MEASURES."""
    semantics = draw(st.sampled_from(["", "RUNNING ", "FINAL "]))
    variable = draw(st.sampled_from(["", "A.", "U."]))
    options: list[st.SearchStrategy[str]] = [
        numbers(define=False),
        conditions(define=False, depth=1),
        st.sampled_from(["CLASSIFIER()", "CLASSIFIER(U)", "LAST(CLASSIFIER(A))", "FINAL LAST(CLASSIFIER())"]),
        st.sampled_from(["NEXT(CLASSIFIER())", "PREV(FIRST(CLASSIFIER()), 1)", "MATCH_NUMBER()"]),
        st.sampled_from(
            [
                f"array_join({semantics}array_agg(CLASSIFIER()), '')",
                f"{semantics}array_agg({variable}x)",
                f"{semantics}max_by({variable}s, {variable}x)",
                f"{semantics}min({variable}y, 2)",
                f"{semantics}max({variable}s)",
                f"{semantics}bool_or({variable}flag)",
                f"{semantics}count_if({variable}flag)",
                f"{semantics}arbitrary({variable}s)",
                f"{semantics}max({variable}at)",
                f"{semantics}avg({variable}x + {variable}id)",
                f"{semantics}sum({variable}y)",
                f"{semantics}count({variable}x)",
            ]
        ),
        navigations("s", define=False).map(lambda s: f"concat({s}, '!')"),
        navigations("at", define=False),
        navigations("at", define=False).map(lambda a: f"{a} - FIRST(at)"),
        conditions(define=False, depth=1).map(lambda c: f"CASE WHEN {c} THEN x WHEN {c} THEN 1 ELSE id END"),
        numbers(define=False, depth=1).map(lambda n: f"CAST({n} AS double)"),
        numbers(define=False, depth=1).map(lambda n: f"try_cast({n} AS varchar)"),
    ]
    return draw(st.one_of(options))


@st.composite
def clauses(draw: st.DrawFn, orders: Sequence[str] = ORDERS) -> str:
    """The text of a MATCH_RECOGNIZE clause over a table of `tables`."""
    rows = draw(st.sampled_from(ROWS))
    pattern = draw(row_patterns("ABC", exclusions=not rows.endswith("UNMATCHED ROWS")))
    # A last option mentions every variable, since expressions may refer to any of them.
    pattern = Alternation((pattern, Concatenation((Variable("A"), Variable("B"), Variable("C")))))
    order = draw(st.sampled_from(orders))
    defined = [v for v in "ABC" if v == "A" or draw(st.booleans())]
    define = ", ".join(f"{v} AS {draw(conditions())}" for v in defined)
    found = [draw(measures()) for _ in range(draw(st.integers(1, 3)))]
    within = ""
    if order.startswith(("ORDER BY id", "ORDER BY at")):
        distance = "INTERVAL '2' SECOND" if "at" in order else "2"
        within = draw(st.sampled_from(["", "", f"WITHIN {distance}"]))
    return (
        f"{draw(st.sampled_from(['', 'PARTITION BY k', 'PARTITION BY k, flag']))} {order} "
        f"MEASURES {', '.join(f'{m} AS m{i}' for i, m in enumerate(found))} {rows} "
        f"AFTER MATCH SKIP {draw(st.sampled_from(SKIPS))} PATTERN ({pattern}) {within} "
        f"SUBSET U = (A, B) DEFINE {define}"
    )


def outcome(bound: BoundRowPattern, table: pa.Table, **how: Any) -> tuple[str, Any]:
    """The rows that a clause returns, or the error that it raises."""
    try:
        found = evaluate(bound, table, **how)
    except AuguryError as e:
        return "error", str(e)
    rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
    return "rows", [tuple(map(comparable, row)) for row in rows]


def assert_plans_agree(clause: str, table: pa.Table, *, jit: bool = False) -> tuple[str, Any]:
    """Assert that the compiled plan, as plain Python or compiled, agrees with the reference; returns their outcome."""
    bound = bound_clause(clause, table.schema)
    expected = outcome(bound, table, plan="reference")
    found = outcome(bound, table, options=Options(jit=jit))
    if expected != found:
        raise AssertionError(f"{clause}\n{table.to_pylist()}\nreference {expected}\ncompiled {found}")
    return expected
