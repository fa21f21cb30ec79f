"""Random queries with constructs that few queries use, and what it is for all evaluators to agree on one."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import augury
from augury.families import FAMILIES
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode, Strategy
from augury.options import Options
from augury.plan import FamilyName, Unsupported
from augury.testing.evaluate import compiled, family_plan, kernel_of, reference_matches, run
from augury.testing.queries import group_queries, queries, step_queries
from augury.testing.streams import cuts, dense_streams, streams

OUTPUTS = (OutputMode.ALL, OutputMode.ALL, OutputMode.NONOVERLAP, OutputMode.FIRST, OutputMode.LONGEST)

CONSTRUCTS = {
    "steps that differ": re.compile(r"(?:contiguity|match)(?:\([^)]*\))?, (?:strict|partition|skip)"),
    "+?": re.compile(r"[+*}]\?"),
    "UNTIL": re.compile(r"UNTIL\("),
    "SINCE": re.compile(r"\) SINCE "),
    "FOR": re.compile(r"\) FOR "),
    "EACH": re.compile(r" EACH"),
    "differences of times": re.compile(r"\.ts\b"),
    "b[..i]": re.compile(r"\[\.\.i\]"),
    "b[k]": re.compile(r"\[[2-9]\]"),
    "FIRST or LONGEST": re.compile(r"OUTPUT (?:FIRST|LONGEST)"),
    "groups": re.compile(r"\bg\[\]"),
}
"""What a query has to use one of, by how it is written."""


def constructs(text: str) -> list[str]:
    """Those of the constructs that a query uses.

    >>> constructs("PATTERN SEQ(A a, B+? b[], NOT(C c) FOR 3 seconds)")
    ['+?', 'FOR']
    """
    return [name for name, written in CONSTRUCTS.items() if written.search(text)]


def cases(construct: str | None = None) -> st.SearchStrategy[tuple[str, pa.Table]]:
    """A query with one of the constructs, or with that construct, and a short stream."""
    general = st.tuples(queries(outputs=OUTPUTS), streams(max_size=8))
    any_match = st.tuples(queries(outputs=OUTPUTS, strategies=[Strategy.SKIP_TILL_ANY_MATCH]), streams(max_size=8))
    short = st.tuples(step_queries(outputs=OUTPUTS), dense_streams(max_size=8))
    groups = st.tuples(group_queries(outputs=OUTPUTS), dense_streams(max_size=8))
    wanted = frozenset(CONSTRUCTS if construct is None else [construct])
    return st.one_of(general, any_match, short, groups).filter(lambda case: not wanted.isdisjoint(constructs(case[0])))


def check(text: str, events: pa.Table, batches: Sequence[pa.Table]) -> list[str]:
    """Compare every plan, and a call of `match`, with the reference; the families that have a plan."""
    query = compiled(text, events, Options(plan="reference"))
    expected = reference_matches(query.bound, events)
    ran: list[str] = []
    for name in FAMILIES:
        family = cast("FamilyName", name)
        if family == "reference" or isinstance(family_plan(family, query.rewritten), Unsupported):
            continue
        kernel, schema = kernel_of(text, events, Options(plan=family, jit=False))
        found = run(kernel, schema, batches)
        assert found == expected, f"{family} differs from the reference\n{text}\n{events.to_pylist()}"
        ran.append(family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", augury.AuguryWarning)
        local = augury.match(events, text, jit=False)
    names = [v.name for v in query.bound.variables if not v.negated]
    rows = Counter(tuple(_bound(query.bound, match.rows, v) for v in names) for match in local)
    assert rows == Counter(m.rows for m in expected), f"match differs\n{text}\n{events.to_pylist()}"
    return ran


def _bound(query: BoundQuery, rows: Mapping[str, Any], variable: str) -> tuple[int, ...]:
    """The rows of the events that a match binds to a variable: a group those that its rounds begin with."""
    group = query[variable].group
    if variable in query.group_names:
        return tuple(min(row for own in one.values() for row in _rows(own)) for one in rows.get(variable) or ())
    if group is not None:
        return tuple(row for one in rows.get(group) or () for row in _rows(one[variable]))
    return _rows(rows.get(variable))


def _rows(bound: object) -> tuple[int, ...]:
    if bound is None:
        return ()
    return tuple(bound) if isinstance(bound, list) else (bound,)  # type: ignore[return-value]


def agree(runs: int, number: int, construct: str | None = None) -> Counter[str]:
    """Check so many random queries, all with a construct if one is given; how often each and each family took part."""
    seen: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=runs,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(cases(construct), st.data())
    def one(case: tuple[str, pa.Table], data: st.DataObject) -> None:
        text, events = case
        seen.update(["queries", *constructs(text), *check(text, events, data.draw(cuts(events)))])

    one()
    return seen
