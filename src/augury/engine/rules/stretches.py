"""Ranges of the events of one key that follow events which may begin matches of a rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.engine.rules.event_columns import EventsByKey
from augury.runtime.batch import Integers


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Ranges of events of one key, each for one rule: positions in `by_key` from `start` to `end`."""

    by_key: Integers
    rule: Integers
    start: Integers
    end: Integers

    @property
    def total(self) -> int:
        return int((self.end - self.start).sum())

    def pairs(self) -> tuple[Integers, Integers]:
        """All pairs of an event and the rule of its range."""
        which, offset = enumerated(self.end - self.start)
        return self.by_key[self.start[which] + offset], self.rule[which]


def stretches_of(events: EventsByKey, wanted: Integers, rule: Integers, after: Integers, until: Integers) -> Stretches:
    """For each wanted key and rule the range of its events from position `after` up to `until`, without overlaps."""
    there, known = events.find(wanted)
    there, rule, after, until = there[known], rule[known], after[known], until[known]
    start, end = events.places(there, after), events.places(there, np.maximum(until, after))
    order = _by_rule_and_start(rule, start)
    rule, start, end = rule[order], start[order], end[order]
    if len(rule) > 1:
        # Events that an earlier range of the rule covers are not repeated.
        base = rule * (len(events.by_key) + 1)
        covered = np.maximum.accumulate(base + end)[:-1] - base[1:]
        start[1:] = np.maximum(start[1:], covered)
    return Stretches(events.by_key, rule, np.minimum(start, end), end)


def _by_rule_and_start(rule: Integers, start: Integers) -> Integers:
    """The order of ranges by rule, then by start."""
    few = len(rule) and rule.max() < 1 << 16
    # NumPy sorts such small numbers by their digits.
    order = np.argsort(rule.astype(np.uint16) if few else rule, kind="stable")
    own, starts = rule[order], start[order]
    if np.any((own[1:] == own[:-1]) & (starts[1:] < starts[:-1])):
        # Events of several keys: most often those of one rule are in order already.
        return np.lexsort([start, rule])
    return order


def enumerated(counts: Integers) -> tuple[Integers, Integers]:
    """Repeat each index as often as its count says; also number its repetitions from 0 on."""
    places = np.repeat(np.arange(len(counts)), counts)
    firsts = np.cumsum(counts) - counts
    return places, np.arange(len(places)) - firsts[places]
