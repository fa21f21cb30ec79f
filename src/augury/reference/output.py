"""Which matches are reported: the OUTPUT modes (SEMANTICS section 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TypeAlias

from augury.ir.pattern import components, variable_of
from augury.ir.predicate import Value
from augury.ir.query import TimeWindow
from augury.reference.conditions import Conditions
from augury.reference.find import Candidate
from augury.reference.stream import Partition, StreamEvent, by_partition
from augury.runtime.state import FOREVER

Key: TypeAlias = "tuple[Value, ...]"


def report_order(c: Candidate, variables: Sequence[str]) -> tuple[Key, Key, list[list[int]]]:
    """By end, then start, then the events in pattern order."""
    return c.last.key, c.first.key, [[e.index for e in c.bindings.get(v, ())] for v in variables]


def lateness(c: Candidate, variables: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Greater for a match whose events are later, the last component first."""
    return tuple(tuple(e.index for e in reversed(c.bindings.get(v, ()))) for v in reversed(variables))


def non_overlapping(
    candidates: Iterable[Candidate], variables: Sequence[str], watermark: int, last_end: Mapping[Partition, Key]
) -> tuple[list[Candidate], list[Candidate], dict[Partition, Key]]:
    """The matches kept, those passed over, and where the last one kept ends, per partition.

    A match is looked at only when every one before it in the order of (end, start) is known and certain.
    """
    kept, dropped, ends = [], [], dict(last_end)
    blocked: set[Partition] = set()
    for c in sorted(candidates, key=lambda c: report_order(c, variables)):
        partition = c.first.partition
        if c.certain and not c.accepted:
            continue
        if not c.certain or (watermark != FOREVER and c.last.time >= watermark):
            blocked.add(partition)
        if partition in blocked:
            continue
        if partition not in ends or c.first.key > ends[partition]:
            kept.append(c)
            ends[partition] = c.last.key
        else:
            dropped.append(c)
    return kept, dropped, ends


def by_last_event(candidates: Iterable[Candidate]) -> list[tuple[StreamEvent, list[Candidate]]]:
    """The accepted matches of each event that completes some, once all of them are certain."""
    groups: defaultdict[StreamEvent, list[Candidate]] = defaultdict(list)
    for c in candidates:
        groups[c.last].append(c)
    return [
        (e, accepted)
        for e, group in sorted(groups.items(), key=lambda item: item[0].index)
        if all(c.certain for c in group) and (accepted := [c for c in group if c.accepted])
    ]


def covers(
    given: Conditions, candidates: Iterable[Candidate], variables: Sequence[str], watermark: int
) -> list[Candidate]:
    """The latest match of each combination of chains, once no event to come can make it later (paper 003)."""
    chains = _chains(given)
    groups: defaultdict[tuple[frozenset[int], ...], list[Candidate]] = defaultdict(list)
    for c in candidates:
        combination = tuple(frozenset(chains.of[v, e] for e in c.bindings.get(v, ())) for v in variables)
        groups[combination].append(c)
    latest = []
    for combination, group in groups.items():
        used = {k for ids in combination for k in ids}
        accepted = [c for c in group if c.accepted]
        if accepted and all(c.certain for c in group) and chains.settled(used, given, watermark):
            latest.append(max(accepted, key=lambda c: lateness(c, variables)))
    return latest


class _Chains:
    """The maximal runs of adjacent relevant events of each component; events relevant to none do not count."""

    def __init__(self) -> None:
        self.of: dict[tuple[str, StreamEvent], int] = {}
        self.last: dict[int, StreamEvent] = {}
        self.open: set[int] = set()

    def settled(self, used: set[int], given: Conditions, watermark: int) -> bool:
        """Whether a combination gets no further match: its chains have ended, or are out of reach of one that has."""
        if watermark == FOREVER or not used & self.open:
            return True
        ended = [self.last[k].time for k in used - self.open]
        window = given.query.window
        return isinstance(window, TimeWindow) and bool(ended) and watermark > min(ended) + window.ticks


def _chains(given: Conditions) -> _Chains:
    chains, fresh = _Chains(), count()
    positive = list(components(given.query.pattern, negated=False))
    for events in by_partition(given.events):
        current: dict[str, int] = {}
        for e in events:
            relevant = {variable_of(c) for c in positive if given.relevant(c, e)}
            if not relevant:
                continue
            current = {v: current[v] if v in current else next(fresh) for v in sorted(relevant)}
            for v, k in current.items():
                chains.of[v, e] = k
                chains.last[k] = e
        chains.open |= set(current.values())
    return chains
