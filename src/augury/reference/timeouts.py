"""Partial matches whose window has passed without a match (SEMANTICS section 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from augury.ir.branches import branches, prefixes
from augury.ir.pattern import Repeat, variable_of
from augury.reference.any_match import rejected
from augury.reference.conditions import Conditions
from augury.reference.find import Candidate, positive_matches, window_closed
from augury.reference.output import preference
from augury.reference.stream import StreamEvent
from augury.runtime.state import FOREVER


def timed_out(
    given: Conditions, complete: Iterable[Candidate], variables: Sequence[str], watermark: int
) -> list[Candidate]:
    """For each first event without a match, now and later, its longest partial match."""
    # An event with a match that is not certain yet is waited for, even when its window has passed.
    led = {c.first for c in complete if c.accepted or not c.certain}
    by_start: defaultdict[StreamEvent, list[Candidate]] = defaultdict(list)
    for c in partial_matches(given):
        if c.first not in led:
            by_start[c.first].append(c)
    return [
        min(group, key=lambda c: (-reached(c, variables), *preference(c, variables)))
        for group in by_start.values()
        if _has_passed(given, group, watermark)
    ]


def reached(c: Candidate, variables: Sequence[str]) -> int:
    """The place in the pattern of the last bound component."""
    return max(k for k, v in enumerate(variables) if c.bindings.get(v))


def partial_matches(given: Conditions) -> Iterator[Candidate]:
    """The partial matches of runs, from their first event on, without the conditions over a last list that may grow."""
    if not all(given.holds(c, {}) for c in given.conjuncts if not c.variables):
        return
    for branch in branches(given.query.pattern):
        for prefix in prefixes(branch):
            last = prefix.in_sequence[-1]
            unfinished = frozenset({variable_of(last)} if isinstance(last, Repeat) else ())
            for match in positive_matches(replace(given, unfinished=unfinished), prefix):
                if not rejected(given, prefix.absent, match):
                    yield Candidate(match, None, certain=True, accepted=True)


def _has_passed(given: Conditions, group: Sequence[Candidate], watermark: int) -> bool:
    """Whether no later event can join one of the partial matches of an event."""
    if watermark == FOREVER or window_closed(given, group[0].bindings, watermark):
        return True
    each = given.query.each
    return each is not None and all(watermark > c.last.time + each for c in group)
