"""Every match of a query over the events so far, and whether it is certain (SEMANTICS section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from augury.budget import too_many_matches
from augury.ir.branches import AbsentPart, Branch
from augury.ir.deadlines import deadlines
from augury.ir.equality import close_equalities
from augury.ir.lossy import check_model
from augury.ir.pattern import Event
from augury.ir.query import CountWindow, TimeWindow
from augury.reference.any_match import any_matches, rejected
from augury.reference.conditions import Conditions, bound
from augury.reference.event_sets import Instances
from augury.reference.groups import expansions, takes_all
from augury.reference.lossy import lossy_matches, unseen, without
from augury.reference.runs import run_matches, sub_streams
from augury.reference.stream import Bindings, StreamEvent
from augury.runtime.state import FOREVER


@dataclass(frozen=True, slots=True)
class Candidate:
    """A match of the positive pattern; `certain` when no later event can change whether it is `accepted`."""

    bindings: Bindings
    probability: float | None
    certain: bool
    accepted: bool

    @property
    def first(self) -> StreamEvent:
        return min(bound(self.bindings), key=lambda e: e.index)

    @property
    def last(self) -> StreamEvent:
        """The event that completes the match."""
        return max(bound(self.bindings), key=lambda e: e.index)

    def rows(self, variables: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(e.row for e in self.bindings.get(v, ())) for v in variables)


def find(given: Conditions, variables: tuple[str, ...], watermark: int) -> list[Candidate]:
    """All candidates; equal bindings found through two branches are one candidate."""
    found: dict[tuple[tuple[int, ...], ...], Candidate] = {}
    if not all(given.holds(c, {}) for c in given.conjuncts if not c.variables):
        return []
    for expansion in expansions(given):
        for bindings, probability, ended in _positive(expansion.given, expansion.branch, watermark):
            if not takes_all(given, expansion, bindings):
                continue
            certain = ended and _certain(expansion.given, expansion.branch, bindings, watermark)
            # An open negation is not checked before it is certain, since a NOT inside it may still undo it.
            accepted = certain and not _refused(expansion.given, expansion.branch, bindings)
            candidate = Candidate(expansion.folded(bindings), probability, certain, accepted)
            rows = candidate.rows(variables)
            found[rows] = _merged(found[rows], candidate) if rows in found else candidate
            if len(found) > given.options.max_matches:
                raise too_many_matches(
                    given.options.max_matches, "ask for OUTPUT COUNT or NONOVERLAP, shorten WITHIN, or add predicates"
                )
    return list(found.values())


def positive_matches(given: Conditions, branch: Branch) -> Iterator[Bindings]:
    """Every match of the positive components of a branch in a stream that has ended; negated parts are not checked."""
    for match, _, _ in _positive(given, branch, FOREVER):
        yield match


def _refused(given: Conditions, branch: Branch, match: Bindings) -> bool:
    """Whether an event was observed that the match has as missing."""
    if given.query.threshold is None:
        return rejected(given, branch.absent, match)
    model = check_model(given.query, given.options.loss)
    if model.posterior and not unseen(given, branch, match):
        return True
    return rejected(without(given, frozenset(branch.variables) - match.keys()), branch.absent, match)


def _merged(a: Candidate, b: Candidate) -> Candidate:
    """The candidate of two branches with one match: accepted if one accepts it, refused if both certainly do."""
    if a.accepted or b.accepted:
        return a if a.accepted else b
    return replace(a, certain=a.certain and b.certain)


def _positive(given: Conditions, branch: Branch, watermark: int) -> Iterator[tuple[Bindings, float | None, bool]]:
    """Matches of the positive components, each with its probability, and whether it is certain that it cannot grow."""
    query = given.query
    if query.threshold is not None:
        for match, probability in lossy_matches(given, branch, check_model(query, given.options.loss)):
            # A missing last component may still arrive until the window closes.
            whole = branch.variables[-1] in match
            yield match, probability, whole or window_closed(given, match, watermark)
    elif query.declarative:
        for match in any_matches(given, branch):
            yield match, None, True
    else:
        for events in sub_streams(given):
            if branch.by_runs:
                for match in run_matches(given, branch, events):
                    yield match, None, True
            else:
                closed = close_equalities(given.conjuncts, branch.variables, query.pattern_order)
                for match, ended in Instances(replace(given, conjuncts=closed), branch).execute(events):
                    yield match, None, ended or window_closed(given, match, watermark)


def _certain(given: Conditions, branch: Branch, match: Bindings, watermark: int) -> bool:
    """Whether no later event can add a negated part: each ends before a bound event, or the window has closed."""
    return all(part.before & match.keys() or _is_over(given, part, match, watermark) for part in branch.absent)


def _is_over(given: Conditions, part: AbsentPart, match: Bindings, watermark: int) -> bool:
    """Whether no later event can belong to a part that no bound event follows."""
    if isinstance(part.body, Event):
        for deadline in deadlines(given.query, given.conjuncts, part.body.variable):
            events = match.get(deadline.variable)
            if events and watermark > events[-1 if deadline.last else 0].time + deadline.ticks:
                return True
    if part.silence is None:
        return window_closed(given, match, watermark)
    earlier = [e.time for v in part.after for e in match.get(v, ())]
    return watermark == FOREVER or not earlier or watermark > max(earlier) + given.query.ticks(part.silence)


def window_closed(given: Conditions, match: Bindings, watermark: int) -> bool:
    """Whether no later event can fit in one window with the match."""
    if watermark == FOREVER:
        return True
    first = min(bound(match), key=lambda e: e.index)
    match given.query.window:
        case None:
            return False
        case TimeWindow(ticks):
            return watermark > first.time + ticks
        case CountWindow(n):
            return any(e.partition == first.partition and e.place >= first.place + n - 1 for e in given.events)
