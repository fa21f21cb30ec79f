"""Groups, expanded to as many rounds as the stream has events for (SEMANTICS section 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from augury.ir.branches import Branch, branches
from augury.ir.pattern import Group, Pattern, Repeat, components, groups, variable_of
from augury.ir.rounds import name_in_round
from augury.ir.terms import Strategy
from augury.ir.written_out import Rounds, choices, up_to, with_rounds, write_out
from augury.reference.any_match import any_matches
from augury.reference.conditions import Conditions, bound
from augury.reference.runs import Automaton, Run, run_matches, sub_streams
from augury.reference.stream import Bindings, StreamEvent


@dataclass(frozen=True, slots=True)
class Expansion:
    """One expansion of a query: a branch and its conditions, with `rounds` of the groups in `shape`."""

    given: Conditions
    branch: Branch
    shape: Pattern
    rounds: Rounds

    def folded(self, match: Bindings) -> Bindings:
        """A match of the branch, in the variables of the query.

        A group binds the first event of each of its rounds, which tells rounds apart, since they follow one another. A
        variable inside it binds the events of all rounds.
        """
        found = dict(match)
        for group, bodies in self.rounds.items():
            firsts: list[StreamEvent] = []
            for n, body in enumerate(bodies, start=1):
                inside = dict.fromkeys(map(variable_of, components(body, negated=False)))
                own = {v: found.pop(name_in_round(v, n)) for v in inside}
                firsts.append(min(bound(own), key=lambda e: e.index))
                for v, events in own.items():
                    found[v] = (*found.get(v, ()), *events)
            found[group] = tuple(firsts)
        return found


def expansions(given: Conditions) -> Iterator[Expansion]:
    """Every expansion of the query: its branches, with each number of rounds that there are events for."""
    pattern = given.query.pattern
    if not any(groups(pattern)):
        for branch in branches(pattern):
            yield Expansion(given, branch, pattern, {})
        return
    for shape in dict.fromkeys(choices(pattern)):
        if shape is not None:
            yield from _with_rounds(given, shape, tuple(groups(shape)), {})


def _with_rounds(given: Conditions, shape: Pattern, left: tuple[Group, ...], rounds: Rounds) -> Iterator[Expansion]:
    """The expansions with `rounds` of the first groups, and any number of rounds of the groups `left`."""
    if not left:
        expansion = _expansion(given, shape, rounds)
        if expansion is not None and all(
            expansion.given.holds(c, {}) for c in expansion.given.conjuncts if not c.variables
        ):
            yield expansion
        return
    group, *others = left
    bodies = [body for body in dict.fromkeys(choices(group.body)) if body is not None]
    beginning = up_to(shape, group.variable)
    assert beginning is not None
    pending: list[tuple[Pattern, ...]] = [()]
    while pending:
        so_far = pending.pop()
        known = {**rounds, group.variable: so_far}
        if len(so_far) >= group.low:
            yield from _with_rounds(given, shape, tuple(others), known)
        if group.high is None or len(so_far) < group.high:
            longer = ((*so_far, body) for body in bodies)
            pending += [
                more for more in longer if _occurs(given, beginning, group.variable, {**rounds, group.variable: more})
            ]


def _expansion(given: Conditions, shape: Pattern, rounds: Rounds) -> Expansion | None:
    found = write_out(given.query, given.conjuncts, shape, rounds)
    if found is None:
        return None
    conditions = replace(given, query=found.query, conjuncts=found.conjuncts, rounds=found.numbers)
    return Expansion(conditions, found.branch, shape, rounds)


def _occurs(given: Conditions, beginning: Pattern, group: str, rounds: Rounds) -> bool:
    """Whether the stream holds these rounds after what comes before them; if not, it holds no longer list of rounds."""
    expansion = _expansion(_growing(given, group), beginning, rounds)
    if expansion is None:
        return False
    if given.query.declarative:
        found = any_matches(expansion.given, expansion.branch)
    else:
        found = (m for events in sub_streams(given) for m in run_matches(expansion.given, expansion.branch, events))
    return next(found, None) is not None


def _growing(given: Conditions, group: str) -> Conditions:
    """The conditions without those over all rounds, which do not apply while a group may get further rounds."""
    return replace(given, conjuncts=tuple(c for c in given.conjuncts if group not in c.whole))


def takes_all(given: Conditions, expansion: Expansion, match: Bindings) -> bool:
    """Whether each group that takes all rounds it can has done so: no further one fits in the gap after its last one.

    `given` are the conditions of the unexpanded query.
    """
    if given.query.declarative:
        return True
    return not any(_has_further(given, expansion, group, match) for group in groups(expansion.shape))


def _has_further(given: Conditions, expansion: Expansion, group: Group, match: Bindings) -> bool:
    bodies = expansion.rounds[group.variable]
    strategy = given.query.strategy_of(group.variable, inside=True)
    if group.reluctant or len(bodies) == group.high or strategy is Strategy.SKIP_TILL_ANY_MATCH:
        return False
    beginning = up_to(expansion.shape, group.variable)
    assert beginning is not None
    so_far = set(map(variable_of, components(with_rounds(beginning, expansion.rounds), negated=False)))
    before = {v: events for v, events in match.items() if v in so_far}
    after = [e.index for v, events in match.items() if v not in so_far for e in events]
    if not after:
        # A group at the end of the pattern has no gap after it.
        return False
    last = max(bound(before), key=lambda e: e.index)
    (events,) = (events for events in sub_streams(given) if last in events)
    gap = [e for e in events if last.index < e.index < min(after)]
    return any(
        _completes(further, before, gap)
        for body in choices(group.body)
        if body is not None
        for further in [
            _expansion(_growing(given, group.variable), beginning, _with_round(expansion.rounds, group.variable, body))
        ]
        if further is not None
    )


def _with_round(rounds: Rounds, group: str, body: Pattern) -> Rounds:
    """The rounds with one more round of a group."""
    return {**rounds, group: (*rounds[group], body)}


def _completes(further: Expansion, before: Bindings, gap: Sequence[StreamEvent]) -> bool:
    """Whether the events of a gap complete the components that `further` has besides the bound ones."""
    automaton = Automaton(further.given, further.branch, further.branch.in_sequence)
    at = len(before)
    earlier = automaton.components[at - 1]
    left_list = isinstance(earlier, Repeat) and len(before[variable_of(earlier)]) != earlier.high
    runs = [Run(at, before, behind=left_list)]
    for e in gap:
        moved: list[Run] = []
        for run in runs:
            survivors, matched = automaton.consume(run, e)
            if matched:
                return True
            moved += survivors
        runs = moved
    return False
