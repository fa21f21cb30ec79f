"""Selection of the reported matches: the OUTPUT modes (SEMANTICS section 7)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import TypeAlias

from augury.ir.pattern import components, variable_of
from augury.ir.predicate import Value
from augury.ir.query import BoundQuery, TimeWindow
from augury.reference.conditions import Conditions
from augury.reference.find import Candidate, window_closed
from augury.reference.stream import Partition, StreamEvent, by_partition
from augury.runtime.state import FOREVER

Key: TypeAlias = "tuple[Value, ...]"


def report_order(c: Candidate, variables: Sequence[str]) -> tuple[Key, Key, list[list[int]]]:
    """Sort key of reports: by end, then start, then the events in pattern order."""
    return c.last.key, c.first.key, [[e.index for e in c.bindings.get(v, ())] for v in variables]


def lateness(c: Candidate, variables: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Sort key that is greater for a match with later events, the last component compared first."""
    return tuple(tuple(e.index for e in reversed(c.bindings.get(v, ()))) for v in reversed(variables))


def non_overlapping(
    candidates: Iterable[Candidate], variables: Sequence[str], watermark: int, last_end: Mapping[Partition, Key]
) -> tuple[list[Candidate], list[Candidate], dict[Partition, Key]]:
    """The matches kept, those dropped, and the end of the last one kept, by partition.

    A match is decided only when every one before it in the order of (end, start) is known and certain.
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


def preference(c: Candidate, variables: Sequence[str]) -> tuple[int, list[tuple[bool, list[int]]]]:
    """Sort key that is least for the match to choose among those with equal start and end.

    It is the one that binds the most events, then variable by variable the earlier event, unbound last.
    """
    events = [[e.index for e in c.bindings.get(v, ())] for v in variables]
    # Events of a group are bound by the variables inside it as well, so they count once.
    return -len({k for of in events for k in of}), [(not of, of) for of in events]


def first_ending(
    candidates: Iterable[Candidate], variables: Sequence[str], watermark: int
) -> tuple[list[Candidate], list[Candidate]]:
    """For each first event, the match that ends first, once no other can end earlier; and the others of that event."""
    groups: defaultdict[StreamEvent, list[Candidate]] = defaultdict(list)
    for c in candidates:
        if c.accepted or not c.certain:
            groups[c.first].append(c)
    chosen: list[Candidate] = []
    others: list[Candidate] = []
    for group in groups.values():
        best = min(group, key=lambda c: (c.last.key, preference(c, variables)))
        ties_open = any(not c.certain for c in group if c.last.key == best.last.key)
        # A later arrival, concurrent with the end, may still end another match as early.
        known = watermark == FOREVER or best.last.time < watermark
        if best.accepted and not ties_open and known:
            chosen.append(best)
            others += [c for c in group if c is not best]
    return chosen, others


def longest(
    given: Conditions, candidates: Sequence[Candidate], watermark: int
) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
    """The matches that no other contains, those that another contains, and the undecided ones."""
    kept: list[Candidate] = []
    dropped: list[Candidate] = []
    undecided: list[Candidate] = []
    for c in candidates:
        if c.certain and not c.accepted:
            continue
        larger = [d for d in candidates if d is not c and _contains(d, c)]
        if any(d.accepted for d in larger):
            dropped.append(c)
        elif not c.certain or any(not d.certain for d in larger) or not window_closed(given, c.bindings, watermark):
            undecided.append(c)
        else:
            kept.append(c)
    return kept, dropped, undecided


def _contains(large: Candidate, small: Candidate) -> bool:
    """Whether one match binds, variable by variable, all events of another; no two are equal."""
    return all(set(events) <= set(large.bindings.get(v, ())) for v, events in small.bindings.items())


def skipping_to(
    given: Conditions,
    candidates: Iterable[Candidate],
    variables: Sequence[str],
    watermark: int,
    resume: Mapping[Partition, tuple[Key, bool]],
) -> tuple[list[Candidate], list[Candidate], dict[Partition, tuple[Key, bool]]]:
    """The matches that NONOVERLAP FROM keeps, those it drops, and the resume point of each partition.

    A partition resumes with an event that is later than a key, or equal to it if `inclusive`. A match is decided only
    when every one before it in the order of (start, end) is known and certain: no later event can share a window with
    its start.
    """
    to = given.query.skip_to
    assert to is not None
    kept, dropped, after = [], [], dict(resume)
    blocked: set[Partition] = set()
    for c in sorted(candidates, key=lambda c: (c.first.key, c.last.key, preference(c, variables))):
        partition = c.first.partition
        if c.certain and not c.accepted:
            continue
        if not c.certain or not window_closed(given, c.bindings, watermark):
            blocked.add(partition)
        if partition in blocked:
            continue
        key, inclusive = after.get(partition, (c.first.key, True))
        if c.first.key > key or (inclusive and c.first.key == key):
            kept.append(c)
            events = c.bindings.get(to.variable)
            after[partition] = (events[-1 if to.last else 0].key, True) if events else (c.last.key, False)
        else:
            dropped.append(c)
    return kept, dropped, after


def spaced(
    query: BoundQuery,
    chosen: Iterable[Candidate],
    undecided: Iterable[Candidate],
    variables: Sequence[str],
    watermark: int,
    last_end: Mapping[Partition, int],
) -> tuple[list[Candidate], list[Candidate], dict[Partition, int]]:
    """The matches that EVERY or ONCE keeps, those that wait, and the end of the last one kept, by partition.

    They are decided in order of (end, start), each only when every earlier one is known: for those `undecided`, OUTPUT
    cannot say yet whether it selects them.
    """
    open_: dict[Partition, tuple[Key, Key]] = {}
    for c in undecided:
        key = c.last.key, c.first.key
        open_[c.first.partition] = min(open_.get(c.first.partition, key), key)
    kept, waiting, ends = [], [], dict(last_end)
    for c in sorted(chosen, key=lambda c: (c.last.key, c.first.key, preference(c, variables))):
        partition, key = c.first.partition, (c.last.key, c.first.key)
        known = watermark == FOREVER or c.last.time < watermark
        if not known or (partition in open_ and open_[partition] <= key):
            waiting.append(c)
        elif partition not in ends or (query.every is not None and c.last.time - ends[partition] >= query.every):
            kept.append(c)
            ends[partition] = c.last.time
    return kept, waiting, ends


def by_last_event(candidates: Iterable[Candidate]) -> list[tuple[StreamEvent, list[Candidate]]]:
    """The accepted matches by the event that completes them, once all matches of that event are certain."""
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
) -> tuple[list[Candidate], list[Candidate]]:
    """The latest match of each combination of chains, once no later event can replace it (paper 003).

    The second result are the other matches of those combinations.
    """
    chains = _chains(given)
    groups: defaultdict[tuple[frozenset[int], ...], list[Candidate]] = defaultdict(list)
    for c in candidates:
        combination = tuple(frozenset(chains.of[v, e] for e in c.bindings.get(v, ())) for v in variables)
        groups[combination].append(c)
    latest: list[Candidate] = []
    others: list[Candidate] = []
    for combination, group in groups.items():
        used = {k for ids in combination for k in ids}
        accepted = [c for c in group if c.accepted]
        if accepted and all(c.certain for c in group) and chains.settled(used, given, watermark):
            latest.append(max(accepted, key=lambda c: lateness(c, variables)))
            others += [c for c in group if c is not latest[-1]]
    return latest, others


class _Chains:
    """The maximal runs of adjacent relevant events of each component; other events do not interrupt them."""

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
