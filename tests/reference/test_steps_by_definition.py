"""Steps that differ against the text of SEMANTICS section 9: conditions on gaps, tested on every assignment."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, pairwise, product

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.evaluate import holds
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Event, Repeat, event_of, variable_of
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.reference.stream import Bindings, StreamEvent, stream
from augury.testing.evaluate import compiled, reference_matches
from augury.testing.queries import queries, step_queries
from augury.testing.streams import SCHEMA, dense_streams, streams
from tests.reference.test_by_definition import assignments, ends_list, is_placed, is_spaced, not_ended, satisfies
from tests.thorough import rounds

STRICT, PARTITION = Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY
NEXT, ANY = Strategy.SKIP_TILL_NEXT_MATCH, Strategy.SKIP_TILL_ANY_MATCH


def in_sequence(branch: Branch, events: list[StreamEvent]) -> Iterator[Bindings]:
    """Every assignment in which no later component has an event that arrived before one of an earlier."""
    components = branch.in_sequence

    def further(k: int, left: list[StreamEvent]) -> Iterator[Bindings]:
        if k == len(components):
            yield {}
            return
        low, high = (1, 1) if isinstance(c := components[k], Event) else (c.low, c.high or len(events))
        for n in range(low, high + 1):
            for chosen in combinations(left, n):
                rest = [e for e in left if e.index > chosen[-1].index]
                for others in further(k + 1, rest):
                    yield {variable_of(c): chosen, **others}

    return further(0, events)


def between(events: list[StreamEvent], first: StreamEvent, last: StreamEvent) -> list[StreamEvent]:
    """The events of the gap, by arrival."""
    return [e for e in events if first.index < e.index < last.index]


def could_be_bound(
    query: BoundQuery,
    branch: Branch,
    component: Event | Repeat,
    e: StreamEvent,
    before: Bindings,
    events: list[StreamEvent],
) -> bool:
    """Type, order, window, UNTIL, and the conjuncts placed there, those over a whole list excepted."""
    v, types = variable_of(component), event_of(component).types
    bound = [f for events in before.values() for f in events]
    if types and e.type not in types:
        return False
    if not all(f.precedes(e) and f.partition == e.partition for f in bound) or e.partition is None:
        return False
    if isinstance(query.window, TimeWindow) and any(e.time - f.time > query.window.ticks for f in bound):
        return False
    if isinstance(query.window, CountWindow) and any(e.place - f.place >= query.window.events for f in bound):
        return False
    if query.each is not None and bound and e.time - max(f.time for f in bound) > query.each:
        return False
    for part in branch.absent:
        earlier = [f.time for u in part.after for f in before.get(u, ())]
        silence = 0 if part.silence is None else part.silence // 1_000_000_000
        if part.silence is not None and v in part.before and earlier and e.time <= max(earlier) + silence:
            return False
    if isinstance(component, Repeat) and component.until is not None:
        first = before.get(v, ())[:1]
        known = {u: es for u, es in before.items() if u != v}
        between = [f for f in events if f.precedes(e) and first and first[0].precedes(f)]
        if any(f.partition == e.partition and ends_list(query, component, known, f) for f in (e, *between)):
            return False
    joined = {**before, v: (*before.get(v, ()), e)}
    number = len(joined[v]) - 1
    for c in normal_conjuncts(query.conjuncts, query.pattern_order):
        if v not in c.variables or v in c.whole or not set(c.variables) <= joined.keys():
            continue
        rows = {u: [f.values for f in joined[u]] for u in c.variables}
        if v in c.each and not holds(c, rows, elements={v: number}):
            return False
        if v not in c.each and number == 0 and not holds(c, rows):
            return False
    return True


def gaps_hold(query: BoundQuery, branch: Branch, match: Bindings, events: list[StreamEvent]) -> bool:
    """Whether every gap of an assignment holds only what its strategy lets it hold."""
    components = branch.in_sequence
    before: Bindings = {}
    for k, component in enumerate(components):
        v = variable_of(component)
        own, mine = query.strategy_of(v, inside=True), match[v]
        if k > 0:
            earlier = components[k - 1]
            gap = between(events, before[variable_of(earlier)][-1], mine[0])
            if not gap_before(query, branch, component, earlier, gap, before, events):
                return False
        for n, (one, other) in enumerate(pairwise(mine), start=1):
            gap = between(events, one, other)
            so_far = {**before, v: mine[:n]}
            if own is STRICT and gap:
                return False
            if own is PARTITION and any(e.partition == one.partition for e in gap):
                return False
            if own is NEXT and any(could_be_bound(query, branch, component, e, so_far, events) for e in gap):
                return False
        before = {**before, v: mine}
    return True


def gap_before(
    query: BoundQuery,
    branch: Branch,
    component: Event | Repeat,
    earlier: Event | Repeat,
    gap: list[StreamEvent],
    before: Bindings,
    events: list[StreamEvent],
) -> bool:
    strategy, last = query.strategy_of(variable_of(component)), before[variable_of(earlier)][-1]
    open_list = (
        isinstance(earlier, Repeat) and not earlier.reluctant and len(before[variable_of(earlier)]) != earlier.high
    )
    inside = query.strategy_of(variable_of(earlier), inside=True)
    if strategy is STRICT and gap:
        return False
    if strategy is PARTITION and any(e.partition == last.partition for e in gap):
        return False
    lenient = open_list and inside is NEXT
    if (
        strategy is NEXT
        and not lenient
        and any(could_be_bound(query, branch, component, e, before, events) for e in gap)
    ):
        return False
    if open_list and inside is not ANY:
        # The list takes all it can: of its own gap rule follows how far it could have reached.
        reach = {
            STRICT: gap[:1],
            PARTITION: [e for e in gap if e.partition == last.partition][:1],
            NEXT: gap,
        }[inside]
        return not any(could_be_bound(query, branch, earlier, e, before, events) for e in reach)
    return True


def occurs(query: BoundQuery, part: AbsentPart, match: Bindings, events: list[StreamEvent]) -> bool:
    """Whether a negated part occurs at its place, and a named one directly beside what it is placed by."""
    for branch in branches(part.body):
        order = set(branch.order)
        order |= set(product(part.after, branch.variables)) | set(product(branch.variables, part.before))
        for own in assignments(branch, events):
            if is_placed(query, part, branch, order, match, own) and beside(query, part, match, own, events):
                return True
    return False


def beside(query: BoundQuery, part: AbsentPart, match: Bindings, own: Bindings, events: list[StreamEvent]) -> bool:
    strategy = query.strategy_of_negated(part.body.variable) if isinstance(part.body, Event) else None
    if strategy is None:
        return True
    assert isinstance(part.body, Event)
    (e,) = own[part.body.variable]
    since = part.since and match.get(part.since.variable)
    earlier = [f for v in part.after for f in match.get(v, ())]
    if since and part.since is not None:
        earlier = [since[-1] if part.since.last else since[0]]
    if earlier:
        last = max(earlier, key=lambda f: f.index)
        gap = between(events, last, e)
    else:
        first = min((f for v in part.before for f in match.get(v, ())), key=lambda f: f.index)
        gap = between(events, e, first)
    return not gap if strategy is STRICT else all(f.partition != e.partition for f in gap)


EXAMPLES = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


PATTERNS = {
    "SEQ(A a, B+ b[], C c)": ("b", "b[]", "c"),
    "SEQ(A a, B+? b[], C c)": ("b", "b[]", "c"),
    "SEQ(A a, B{1,2} b[], B c)": ("b", "b[]", "c"),
    "SEQ(A+ a[], A|B b)": ("a[]", "b"),
    "SEQ(A+ a[], B+ b[])": ("a[]", "b", "b[]"),
    "SEQ(A a, B+ b[] UNTIL(C u), B|C c)": ("b", "b[]", "c"),
    "SEQ(A+ a[] UNTIL(A u), A|B b)": ("a[]", "b"),
    "SEQ(A a, NOT(C n), B b)": ("n", "b"),
    "SEQ(NOT(C n), A a, B b)": ("n", "b"),
}
"""Patterns with the steps of each: every one of them gets every strategy."""


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_combination_of_strategies(pattern: str) -> None:
    chance = random.Random(pattern)
    for strategies in product(Strategy, repeat=len(PATTERNS[pattern])):
        named = list(zip(PATTERNS[pattern], strategies, strict=True))
        if any(step == "n" and strategy in (NEXT, ANY) for step, strategy in named):
            continue
        where = ", ".join(["skip_till_any_match", *(f"{strategy}({step})" for step, strategy in named)])
        text = f"PATTERN {pattern} WHERE {where} {{ [k] }}"
        for _ in range(rounds(3, 50)):
            types = "A" + "".join(chance.choices("AABBBCC", k=5))
            keys = chance.choices("pppq", k=6)
            rows = [{"ts": n, "type": t, "k": k} for n, (t, k) in enumerate(zip(types, keys, strict=True))]
            check(text, pa.Table.from_pylist(rows, schema=SCHEMA))


@settings(EXAMPLES, max_examples=rounds(60, 5000))
@given(step_queries(), dense_streams())
def test_runs_find_what_the_gaps_allow(text: str, events: pa.Table) -> None:
    check(text, events)


@settings(EXAMPLES, max_examples=rounds(50, 1000))
@given(queries(outputs=[OutputMode.ALL], operators=["SEQ"]).filter(lambda text: "AND(" not in text), streams())
def test_so_they_do_with_every_other_construct(text: str, events: pa.Table) -> None:
    check(text, events)


def check(text: str, events: pa.Table) -> None:
    """Compare the reference with every assignment that the definitions allow."""
    query = compiled(text, events).bound
    sequence = stream(query, events, range(events.num_rows))
    variables = [v.name for v in query.variables if not v.negated]
    expected = set()
    for branch in branches(query.pattern):
        for match in in_sequence(branch, sequence):
            if (
                match
                and satisfies(query, branch, set(branch.order), match)
                and is_spaced(query, branch, match)
                and not_ended(query, branch, match, sequence)
                and gaps_hold(query, branch, match, sequence)
                and not any(occurs(query, part, match, sequence) for part in branch.absent)
            ):
                expected.add(tuple(tuple(e.row for e in match.get(v, ())) for v in variables))
    assert {m.rows for m in reference_matches(query, events)} == expected
