"""Row patterns of SQL for tests: random ones, and the preferred match by definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from augury.engine.row_patterns import evaluate
from augury.ir.row_pattern import (
    Alternation,
    Anchor,
    BoundRowPattern,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
)
from augury.match_recognize.bind import bind_clause
from augury.match_recognize.reader import clause_of, read_statement
from augury.options import Options
from augury.source import Source

Condition = Callable[[Sequence[Any], Sequence[str], int], bool | None]
"""Whether the last variable's condition holds, given all values, the variables so far and the match's first row."""


def row_patterns(
    variables: str = "ABC", *, exclusions: bool = False, loops_of_nothing: bool = True
) -> st.SearchStrategy[RowPattern]:
    """Random row patterns over one-letter variables; without `loops_of_nothing` every round of a loop maps a row."""
    leaves = st.sampled_from([Variable(v) for v in variables])

    def larger(part: st.SearchStrategy[RowPattern]) -> st.SearchStrategy[RowPattern]:
        some = st.lists(part, min_size=2, max_size=3).map(tuple)
        bounds = st.sampled_from([(0, None), (1, None), (0, 1), (2, None), (2, 2), (1, 2), (0, 2)])
        body = part if loops_of_nothing else part.filter(lambda p: not nullable(p))
        options: list[st.SearchStrategy[RowPattern]] = [
            some.map(Concatenation),
            some.map(Alternation),
            st.builds(lambda b, n, r: Quantified(b, n[0], n[1], r), body, bounds, st.booleans()),
        ]
        if loops_of_nothing:
            options.append(some.map(Permutation))
            options.append(st.sampled_from([Empty(), Anchor(False), Anchor(True)]))
        if exclusions:
            options.append(part.map(Exclusion))
        return st.one_of(options)

    return st.recursive(leaves, larger, max_leaves=5)


def nullable(pattern: RowPattern) -> bool:
    """Whether a pattern can map no row."""
    match pattern:
        case Variable():
            return False
        case Empty() | Anchor():
            return True
        case Concatenation(parts) | Permutation(parts):
            return all(map(nullable, parts))
        case Alternation(options):
            return any(map(nullable, options))
        case Quantified(body, least):
            return least == 0 or nullable(body)
        case Exclusion(body):
            return nullable(body)


def mappings(pattern: RowPattern, start: int, rows: int) -> Iterator[tuple[str, ...]]:
    """Every way to map rows from `start` on, the preferred one first, ignoring conditions.

    >>> list(mappings(Quantified(Alternation((Variable("A"), Variable("B"))), 0, 1), 0, 5))
    [('A',), ('B',), ()]
    """

    def go(
        part: RowPattern, place: tuple[int, ...], taken: tuple[str, ...], seen: frozenset[object], then: Any
    ) -> Iterator[tuple[str, ...]]:
        match part:
            case Variable(name):
                if start + len(taken) < rows:
                    yield from then((*taken, name), frozenset())
            case Empty():
                yield from then(taken, seen)
            case Anchor(end):
                if start + len(taken) == (rows if end else 0):
                    yield from then(taken, seen)
            case Exclusion(body):
                yield from go(body, (*place, 0), taken, seen, then)
            case Concatenation(parts):
                yield from sequence(parts, place, taken, seen, then)
            case Alternation(options):
                for k, option in enumerate(options):
                    yield from go(option, (*place, k), taken, seen, then)
            case Permutation(parts):
                for k, order in enumerate(orders(list(range(len(parts))))):
                    yield from sequence([parts[i] for i in order], (*place, k), taken, seen, then)
            case Quantified():
                yield from rounds(part, 0, place, taken, seen, then)

    def sequence(
        parts: Sequence[RowPattern], place: tuple[int, ...], taken: tuple[str, ...], seen: frozenset[object], then: Any
    ) -> Iterator[tuple[str, ...]]:
        if not parts:
            yield from then(taken, seen)
            return
        here = (*place, -len(parts))
        yield from go(parts[0], here, taken, seen, lambda t, s: sequence(parts[1:], place, t, s, then))

    def rounds(
        part: Quantified, done: int, place: tuple[int, ...], taken: tuple[str, ...], seen: frozenset[object], then: Any
    ) -> Iterator[tuple[str, ...]]:
        def stop() -> Iterator[tuple[str, ...]]:
            yield from then(taken, seen)

        def more() -> Iterator[tuple[str, ...]]:
            # From the last required one on, rounds of an unbounded loop are one place; bounded rounds are different
            # places.
            copy = min(done, max(part.least - 1, 0)) if part.most is None else done
            here = ("round", *place, copy)
            if here in seen:
                return
            following = lambda t, s: rounds(part, done + 1, place, t, s, then)  # noqa: E731
            yield from go(part.body, (*place, copy), taken, seen | {here}, following)

        if done < part.least:
            yield from more()
        elif part.most is not None and done == part.most:
            yield from stop()
        elif part.reluctant:
            yield from stop()
            yield from more()
        else:
            yield from more()
            yield from stop()

    yield from go(pattern, (), (), frozenset(), lambda taken, seen: iter([taken]))


def orders(items: list[int]) -> Iterator[list[int]]:
    """All orders of some numbers, lexicographically."""
    if not items:
        yield []
    for item in items:
        for rest in orders([i for i in items if i != item]):
            yield [item, *rest]


def preferred(
    pattern: RowPattern, start: int, values: Sequence[Any], conditions: Mapping[str, Condition]
) -> tuple[str, ...] | None:
    """The preferred match at a row: the first mapping of which every row satisfies its condition."""
    for taken in mappings(pattern, start, len(values)):
        rows = range(len(taken))
        if all(taken[k] not in conditions or conditions[taken[k]](values, taken[: k + 1], start) is True for k in rows):
            return taken
    return None


def bound_clause(clause: str, schema: pa.Schema) -> BoundRowPattern:
    """A MATCH_RECOGNIZE clause without subqueries, for an input of these columns."""
    statement = read_statement(Source(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})"), "trino")
    (node,) = statement.row_patterns()

    def answer(number: int) -> tuple[list[Any], pa.DataType, int]:
        raise AssertionError("no subqueries")

    return bind_clause(clause_of(node), schema, "t", statement.source, answer)


def rows_of(clause: str, table: pa.Table) -> list[tuple[Any, ...]]:
    """The rows that a clause returns for a table, asserted to be the same from reference and compiled plan."""
    bound = bound_clause(clause, table.schema)
    found = [
        evaluate(bound, table, plan="reference"),
        evaluate(bound, table, options=Options(jit=False)),
    ]
    slow, quick = (
        [tuple(map(comparable, r)) for r in zip(*(c.to_pylist() for c in f.columns), strict=True)] for f in found
    )
    if slow != quick:
        raise AssertionError(f"the reference found {slow}, the compiled plan {quick}")
    return list(zip(*(column.to_pylist() for column in found[0].columns), strict=True))


def comparable(value: Any) -> Any:
    """A value in which NaN equals NaN."""
    if isinstance(value, list):
        return [comparable(v) for v in value]
    return "NaN" if isinstance(value, float) and value != value else value
