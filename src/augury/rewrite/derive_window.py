"""The window implied by conditions on differences of times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.pattern import Absent, Event, Pattern, Repeat, groups, map_children, variable_of
from augury.ir.predicate import Arithmetic, Compare, Element, Expr, Literal, Negate, Nth, Ref
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.terms import OutputMode
from augury.schema import MAX_TICKS, Kind

Node: TypeAlias = "tuple[str, bool]"
"""The first event of a variable, or with True its last."""

Bounds: TypeAlias = "dict[tuple[Node, Node], int]"
"""Largest number of ticks from the first event to the second, by pairs of events; negative if it must be earlier."""

WHOLE_MATCH_OUTPUTS = frozenset(
    {
        OutputMode.ALL,
        OutputMode.NONOVERLAP,
        OutputMode.COVER,
        OutputMode.LATEST,
        OutputMode.COUNT,
        OutputMode.FIRST,
        OutputMode.LONGEST,
        OutputMode.LONGEST_NONOVERLAP,
        OutputMode.NONOVERLAP_FROM,
    }
)
"""Outputs that depend on whole matches only, which a window implied by their conditions does not change."""


def derive_window(query: BoundQuery) -> BoundQuery:
    """SEQ(A a, B b) WHERE b.ts - a.ts <= 10 seconds  ->  the same WITHIN 10 seconds"""
    if query.output not in WHOLE_MATCH_OUTPUTS or query.threshold is not None:
        return query
    if not (query.window is None or isinstance(query.window, TimeWindow)):
        return query
    if any(groups(query.pattern)):
        # The duration of rounds is not derived.
        return query
    differences = [d for c in query.conjuncts if (d := _difference(c.expr, query)) is not None]
    if not differences and query.each is None:
        return query
    spans = [_span(query, branch, differences) for branch in branches(query.pattern) if branch.components]
    longest = max((MAX_TICKS if span is None else span for span in spans), default=MAX_TICKS)
    if longest >= (MAX_TICKS if query.window is None else query.window.ticks):
        return query
    return replace(query, window=TimeWindow(max(0, longest)))


Difference: TypeAlias = "tuple[Ref, Ref, int]"
"""A bound: the second event is at most so many ticks later than the first."""


def _difference(e: Expr, query: BoundQuery) -> Difference | None:
    """The bound on two times that a comparison states, if it states one."""
    if not isinstance(e, Compare) or e.operator not in ("<", "<=", ">", ">="):
        return None
    left, right = _terms(e.left, query), _terms(e.right, query)
    if left is None or right is None:
        return None
    if ">" in e.operator:
        left, right = right, left
    refs, least = left
    others, most = right
    added = [*((r, sign) for r, sign in refs), *((r, -sign) for r, sign in others)]
    later, earlier = ([r for r, sign in added if sign == s] for s in (1, -1))
    if len(later) != 1 or len(earlier) != 1:
        return None
    return earlier[0], later[0], most - least - (e.operator in "<>")


def _terms(e: Expr, query: BoundQuery) -> tuple[list[tuple[Ref, int]], int] | None:
    """The times added (1) or subtracted (-1) in an expression, and its ticks; None for any other expression."""
    schema = query.schema
    match e:
        case Ref(column=schema.time, type=type, default=None) if type.kind in (Kind.TIMESTAMP, Kind.INT):
            return [(e, 1)], 0
        case Literal(value=int() as ticks, type=type) if not isinstance(ticks, bool):
            in_ticks = type.unit == schema.time_unit if type.kind is Kind.DURATION else type.kind is Kind.INT
            return ([], ticks) if in_ticks else None
        case Negate(operand):
            inner = _terms(operand, query)
            return None if inner is None else ([(r, -sign) for r, sign in inner[0]], -inner[1])
        case Arithmetic("+" | "-" as operator, left, right):
            one, other = _terms(left, query), _terms(right, query)
            if one is None or other is None:
                return None
            sign = 1 if operator == "+" else -1
            return [*one[0], *((r, sign * s) for r, s in other[0])], one[1] + sign * other[1]
        case _:
            return None


def _span(query: BoundQuery, branch: Branch, differences: Iterable[Difference]) -> int | None:
    """The largest distance of two events of a match, including negated ones beside it; None if unbounded."""
    if not query.declarative and not branch.by_runs:
        # A set takes all it can until its window closes, so a shorter window would make another match of it.
        return None
    longest = 0
    looked_for = [part for part in branch.absent if part.silence is None]
    if any(_has_absent(part.body) for part in looked_for):
        return None
    beside = [(part, body) for part in looked_for for body in branches(part.body)]
    for part, body in [(None, Branch(())), *beside]:
        bounds: Bounds = {}
        for found in (*_of_order(branch), *_of_each(query, branch), *_of_part(part, branch, body)):
            _tighten(bounds, *found)
        lists = {variable_of(c): c for c in (*branch.components, *body.components) if isinstance(c, Repeat)}
        variables = {*branch.variables, *body.variables}
        for earlier, later, ticks in differences:
            if {earlier.variable, later.variable} <= variables:
                for found in _of_difference(earlier, later, ticks, lists):
                    _tighten(bounds, *found)
        nodes = [*((v, False) for v in variables), *((v, True) for v in variables if v in lists)]
        _close(bounds, nodes)
        pairs = [bounds.get((a, b)) for a in nodes for b in nodes if a != b]
        if any(ticks is None for ticks in pairs):
            return None
        longest = max(longest, *(ticks for ticks in pairs if ticks is not None), 0)
    return longest


NodeBound: TypeAlias = "tuple[Node, Node, int]"
"""An entry of `Bounds`: two events, and the ticks between them at most."""


def _ends(components: Iterable[Event | Repeat]) -> dict[str, bool]:
    """For each variable, whether it is a list, whose last event is not its first."""
    return {variable_of(c): isinstance(c, Repeat) for c in components}


def _of_order(branch: Branch) -> Iterator[NodeBound]:
    ends = _ends(branch.components)
    for v, iterated in ends.items():
        if iterated:
            yield (v, True), (v, False), 0
    for u, v in branch.order:
        yield (v, False), (u, ends[u]), 0


def _of_each(query: BoundQuery, branch: Branch) -> Iterator[NodeBound]:
    if query.each is None:
        return
    ends = _ends(branch.components)
    highs = [c.high if isinstance(c, Repeat) else 1 for c in branch.components]
    if not branch.sequential:
        if None not in highs:
            most = (sum(n for n in highs if n is not None) - 1) * query.each
            everyone = [*((v, False) for v in ends), *((v, True) for v in ends if ends[v])]
            yield from ((a, b, most) for a in everyone for b in everyone if a != b)
        return
    for one, other in pairwise(map(variable_of, branch.in_sequence)):
        yield (one, ends[one]), (other, False), query.each
    for c in branch.components:
        if isinstance(c, Repeat) and c.high is not None:
            yield (c.body.variable, False), (c.body.variable, True), (c.high - 1) * query.each


def _of_part(part: AbsentPart | None, branch: Branch, body: Branch) -> Iterator[NodeBound]:
    """Bounds of a negated part, which is after some events of the match and before others."""
    if part is None:
        return
    ends, inside = _ends(branch.components), _ends(body.components)
    after = [(u, ends[u]) for u in part.after]
    if part.since is not None and part.since.variable in ends:
        after = [(part.since.variable, part.since.last and ends[part.since.variable])]
    for v, iterated in inside.items():
        yield from (((v, False), u, 0) for u in after)
        yield from (((u, False), (v, iterated), 0) for u in part.before)
    yield from _of_order(body)


def _of_difference(earlier: Ref, later: Ref, ticks: int, lists: dict[str, Repeat]) -> Iterator[NodeBound]:
    if Element.PREVIOUS in (earlier.element, later.element):
        high = lists[earlier.variable].high if earlier.variable == later.variable else None
        if high is not None and (earlier.element, later.element) == (Element.PREVIOUS, Element.EACH) and ticks >= 0:
            yield (earlier.variable, False), (later.variable, True), (high - 1) * ticks
        return
    for u in _nodes(earlier, lists, nth_is_last=True):
        for v in _nodes(later, lists, nth_is_last=False):
            if u != v and not (earlier.variable == later.variable and earlier.element == later.element):
                yield u, v, ticks


def _nodes(r: Ref, lists: dict[str, Repeat], *, nth_is_last: bool) -> Iterator[Node]:
    """The ends of a list, or the single event, that a bound applies to.

    A numbered element (`b[3]`) lies between the ends of its list: what is at most t behind it is at most t behind the
    last element, and if it is at most t behind something, so is the first element.
    """
    if isinstance(r.element, Nth):
        yield r.variable, nth_is_last
    elif r.element is Element.EACH and r.variable in lists:
        yield from ((r.variable, False), (r.variable, True))
    else:
        yield r.variable, r.element is Element.LAST and r.variable in lists


def _tighten(bounds: Bounds, a: Node, b: Node, ticks: int) -> None:
    if a != b:
        bounds[a, b] = min(ticks, bounds.get((a, b), ticks))


def _close(bounds: Bounds, nodes: list[Node]) -> None:
    """Add up bounds along all paths between events, and keep the smallest."""
    for k in nodes:
        into = [(a, bounds[a, k]) for a in nodes if (a, k) in bounds]
        out = [(b, bounds[k, b]) for b in nodes if (k, b) in bounds]
        for a, one in into:
            for b, other in out:
                _tighten(bounds, a, b, one + other)


def _has_absent(pattern: Pattern) -> bool:
    found = isinstance(pattern, Absent)

    def look(p: Pattern) -> Pattern:
        nonlocal found
        found = found or _has_absent(p)
        return p

    map_children(look, pattern)
    return found
