"""skip_till_any_match against the five rules of SEMANTICS section 3, tested on every assignment there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise, product

import pyarrow as pa
from hypothesis import given

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.evaluate import holds
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Event, Repeat, variable_of
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.reference.stream import Bindings, StreamEvent, stream
from augury.testing.evaluate import compiled, reference_matches
from augury.testing.queries import queries
from augury.testing.streams import streams


def assignments(branch: Branch, events: list[StreamEvent]) -> Iterator[Bindings]:
    """Every way to give each component one event, or a list of them."""
    choices = []
    for c in branch.components:
        low, high = (1, 1) if isinstance(c, Event) else (c.low, c.high or len(events))
        choices.append([xs for n in range(low, high + 1) for xs in combinations(events, n)])
    for choice in product(*choices):
        yield dict(zip(branch.variables, choice, strict=True))


def satisfies(query: BoundQuery, branch: Branch, order: set[tuple[str, str]], match: Bindings) -> bool:
    events = [e for es in match.values() for e in es]
    if len(set(events)) < len(events):
        return False
    for c in branch.components:
        types = c.types if isinstance(c, Event) else c.body.types
        if types and not all(e.type in types for e in match[variable_of(c)]):
            return False
        if not all(e.precedes(f) for e, f in combinations(match[variable_of(c)], 2)):
            return False
    for u, v in order:
        if not all(e.precedes(f) for e in match.get(u, ()) for f in match.get(v, ())):
            return False
    if (
        isinstance(query.window, TimeWindow)
        and max(e.time for e in events) - min(e.time for e in events) > query.window.ticks
    ):
        return False
    if any(e.partition is None or e.partition != events[0].partition for e in events):
        return False
    if (
        isinstance(query.window, CountWindow)
        and max(e.place for e in events) - min(e.place for e in events) >= query.window.events
    ):
        return False
    conjuncts = [c for c in normal_conjuncts(query.conjuncts, query.pattern_order) if set(c.variables) <= match.keys()]
    return all(holds(c, {v: [e.values for e in match[v]] for v in c.variables}) for c in conjuncts)


def occurs(query: BoundQuery, part: AbsentPart, match: Bindings, events: list[StreamEvent]) -> bool:
    for branch in branches(part.body):
        order = set(branch.order)
        order |= set(product(part.after, branch.variables)) | set(product(branch.variables, part.before))
        for own in assignments(branch, events):
            if is_placed(query, part, branch, order, match, own):
                return True
    return False


def is_placed(
    query: BoundQuery, part: AbsentPart, branch: Branch, order: set[tuple[str, str]], match: Bindings, own: Bindings
) -> bool:
    """Whether a negated part is at its place: in order and in the window, or as SINCE and FOR say."""
    everywhere = replace(query, each=None)
    since = part.since and match.get(part.since.variable)
    if since:
        assert part.since is not None
        event = since[-1] if part.since.last else since[0]
        order = {(u, v) for u, v in order if u not in part.after}
        if not all(event.precedes(e) for es in own.values() for e in es):
            return False
    if part.silence is not None:
        everywhere = replace(everywhere, window=None)
        ticks = part.silence // 1_000_000_000
        times = [e.time for es in own.values() for e in es]
        before = [e.time for v in part.after for e in match.get(v, ())]
        after = [e.time for v in part.before for e in match.get(v, ())]
        if before and max(times) - max(before) > ticks:
            return False
        if not before and (not after or min(after) - min(times) > ticks):
            return False
    return satisfies(everywhere, branch, order, {**match, **own})


def not_ended(query: BoundQuery, branch: Branch, match: Bindings, events: list[StreamEvent]) -> bool:
    """UNTIL: no element is an event that ends its list, and no such event lies between two elements."""
    for c in branch.components:
        if isinstance(c, Repeat) and c.until is not None:
            elements = match[c.body.variable]
            for e in events:
                between = elements[0].precedes(e) and e.precedes(elements[-1])
                if (between or e in elements) and ends_list(query, c, match, e):
                    return False
    return True


def ends_list(query: BoundQuery, c: Repeat, match: Bindings, e: StreamEvent) -> bool:
    """Whether `e` is of the type, the partition and the values that end a list."""
    assert c.until is not None
    if (c.until.types and e.type not in c.until.types) or e.partition is None:
        return False
    if any(e.partition != f.partition for es in match.values() for f in es):
        return False
    known = {**match, c.until.variable: (e,)}
    conjuncts = normal_conjuncts(query.conjuncts, query.pattern_order)
    mine = [x for x in conjuncts if c.until.variable in x.variables and set(x.variables) <= known.keys()]
    return all(holds(x, {v: [f.values for f in known[v]] for v in x.variables}) for x in mine)


def is_spaced(query: BoundQuery, branch: Branch, match: Bindings) -> bool:
    """WITHIN ... EACH, and what comes behind a silence comes later than that."""
    times = sorted(e.time for es in match.values() for e in es)
    if query.each is not None and any(b - a > query.each for a, b in pairwise(times)):
        return False
    for part in branch.absent:
        before = [e.time for v in part.after for e in match.get(v, ())]
        after = [e.time for v in part.before for e in match.get(v, ())]
        silence = 0 if part.silence is None else part.silence // 1_000_000_000
        if part.silence is not None and before and after and min(after) <= max(before) + silence:
            return False
    return True


@given(queries(strategies=[Strategy.SKIP_TILL_ANY_MATCH], outputs=[OutputMode.ALL]), streams(max_size=5))
def test_the_reference_finds_what_the_definition_says(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    sequence = stream(query, events, range(events.num_rows))
    variables = [v.name for v in query.variables if not v.negated]
    expected = set()
    for branch in branches(query.pattern):
        for match in assignments(branch, sequence):
            if (
                match
                and satisfies(query, branch, set(branch.order), match)
                and is_spaced(query, branch, match)
                and not_ended(query, branch, match, sequence)
                and not any(occurs(query, part, match, sequence) for part in branch.absent)
            ):
                expected.add(tuple(tuple(e.row for e in match.get(v, ())) for v in variables))
    assert {m.rows for m in reference_matches(query, events)} == expected
