"""FIRST, LONGEST and NONOVERLAP FROM against the text of SEMANTICS section 7, from all matches of the same query."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import augury
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode, Strategy
from augury.testing.evaluate import compiled, reference_matches
from augury.testing.queries import queries
from augury.testing.streams import dense_streams

Rows: TypeAlias = "tuple[tuple[int, ...], ...]"
EXAMPLES = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def all_matches(query: BoundQuery, events: pa.Table) -> list[Rows]:
    """Every match by the rows of its variables; the rows of these streams are in order of time."""
    return [m.rows for m in reference_matches(replace(query, output=OutputMode.ALL, skip_to=None), events)]


def bound(match: Rows) -> list[int]:
    return sorted(row for part in match for row in part)


def tie(match: Rows) -> tuple[int, list[tuple[bool, tuple[int, ...]]]]:
    """Most events first; then variable by variable the earlier event, unbound last."""
    return -len(bound(match)), [(not part, part) for part in match]


@EXAMPLES
@given(queries(outputs=[OutputMode.FIRST]), dense_streams())
def test_first(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    time = events["ts"].to_pylist()
    found = all_matches(query, events)
    expected = set()
    for start in {bound(m)[0] for m in found}:
        beginning = [m for m in found if bound(m)[0] == start]
        expected.add(min(beginning, key=lambda m: (time[bound(m)[-1]], tie(m))))
    assert {m.rows for m in reference_matches(query, events)} == expected


@EXAMPLES
@given(queries(outputs=[OutputMode.LONGEST]), dense_streams())
def test_longest(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    found = all_matches(query, events)

    def contained(m: Rows) -> bool:
        return any(
            other != m and all(set(part) <= set(larger) for part, larger in zip(m, other, strict=True))
            for other in found
        )

    assert {m.rows for m in reference_matches(query, events)} == {m for m in found if not contained(m)}


@EXAMPLES
@given(queries(outputs=[OutputMode.NONOVERLAP_FROM]), dense_streams())
def test_nonoverlap_from(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    time, keys = events["ts"].to_pylist(), events["k"].to_pylist()
    to = query.skip_to
    assert to is not None
    place = [v.name for v in query.variables if not v.negated].index(to.variable)
    expected = set()
    resume: dict[str, tuple[int, bool]] = {}
    for m in sorted(all_matches(query, events), key=lambda m: (time[bound(m)[0]], time[bound(m)[-1]], tie(m))):
        start, partition = time[bound(m)[0]], keys[bound(m)[0]] if query.partition_by else ""
        least, included = resume.get(partition, (start, True))
        if start > least or (included and start == least):
            expected.add(m)
            row = m[place][-1 if to.last else 0] if m[place] else bound(m)[-1]
            resume[partition] = (time[row], bool(m[place]))
    assert {m.rows for m in reference_matches(query, events)} == expected


PACED = [mode for mode in OutputMode if mode is not OutputMode.COUNT and not mode.has_timeouts]


@EXAMPLES
@given(queries(outputs=PACED, paces=True), dense_streams())
def test_every_and_once(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    time, keys = events["ts"].to_pylist(), events["k"].to_pylist()
    found = [m.rows for m in reference_matches(replace(query, every=None, once=False), events)]
    expected, last = set(), dict[str, int]()
    for m in sorted(found, key=lambda m: (time[bound(m)[-1]], time[bound(m)[0]], tie(m))):
        end, partition = time[bound(m)[-1]], keys[bound(m)[0]] if query.partition_by else ""
        if not query.paced:
            expected.add(m)
        elif partition not in last or (query.every is not None and end >= last[partition] + query.every):
            expected.add(m)
            last[partition] = end
    assert {m.rows for m in reference_matches(query, events)} == expected


@st.composite
def funnels(draw: st.DrawFn) -> list[str]:
    """Queries of the first component, of the first two, and so on, and at last of all of them."""
    parts = [f"{draw(st.sampled_from(['A', 'B', 'A|B']))} {name}" for name in "abc"[: draw(st.integers(1, 3))]]
    absent = draw(st.integers(0, 2 * len(parts)))
    strategy = draw(st.sampled_from(tuple(Strategy)))
    window = draw(st.sampled_from(["2 seconds", "5 seconds", "3 EVENTS", "2 seconds EACH"]))
    steps = []
    for size in range(1, len(parts) + 1):
        first = parts[:size]
        if 0 < absent < size:
            first.insert(absent, "NOT(C n)")
        steps.append(f"SEQ({', '.join(first)}) WHERE {strategy} {{ [k] }} WITHIN {window}")
    return steps


@EXAMPLES
@given(funnels(), dense_streams(), st.sampled_from(["TIMEOUTS", "ALL WITH TIMEOUTS"]))
def test_timeouts(steps: list[str], events: pa.Table, mode: str) -> None:
    found = [all_matches(compiled(text, events).bound, events) for text in steps]
    led = {bound(m)[0] for m in found[-1]}
    expected = {(m, 1) for m in found[-1]} if mode == "ALL WITH TIMEOUTS" else set()
    for start in {bound(m)[0] for m in found[0]} - led:
        farthest = next(some for some in reversed(found) if any(bound(m)[0] == start for m in some))
        m = min((m for m in farthest if bound(m)[0] == start), key=tie)
        expected.add(((*m, *[()] * (len(steps) - len(m))), 0))
    query = compiled(f"{steps[-1]} OUTPUT {mode}", events).bound
    assert {(m.rows, m.count) for m in reference_matches(query, events)} == expected


def test_of_concurrent_ends_the_event_that_arrived_first_counts() -> None:
    """Not a row of the page, whose streams may arrive in any order on Spark."""
    events = [{"ts": 0, "type": "A"}, {"ts": 1, "type": "B"}, {"ts": 1, "type": "B"}]
    assert [match.rows for match in augury.match(events, "SEQ(A a, B b) OUTPUT FIRST")] == [{"a": 0, "b": 1}]
