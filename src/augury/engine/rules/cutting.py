"""How the events of a finite stream are cut for its rules: by a key that they share, by time, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from augury.engine.cut.by_key import shared_key
from augury.engine.cut.by_time import halo_of, why_not_by_time
from augury.engine.rules.planned import Planned, PlannedGroup, PlannedRule, PlannedRules


@dataclass(frozen=True, slots=True, eq=False)
class RulePart:
    """Rules whose events are cut in the same way: by the columns `key`, if there are any, or by time.

    `halo` are the ticks before and after a match within which all events lie that decide about it; None with the reason
    `why_not_by_time` if a rule cannot be cut by time.
    """

    groups: tuple[PlannedGroup, ...]
    alone: tuple[PlannedRule, ...]
    key: tuple[str, ...]
    halo: int | None
    why_not_by_time: str | None = None

    @classmethod
    def of(cls, rules: Sequence[Planned], key: Iterable[str] = ()) -> RulePart:
        reasons = [reason for one in rules if (reason := why_not_by_time(one.program)) is not None]
        return cls(
            tuple(one for one in rules if isinstance(one, PlannedGroup)),
            tuple(one for one in rules if isinstance(one, PlannedRule)),
            tuple(key),
            None if reasons else max(halo_of(one.program) for one in rules),
            reasons[0] if reasons else None,
        )

    @property
    def names(self) -> list[str]:
        """The names of the rules."""
        return [one.rule.id for group in self.groups for one in group.rules] + [one.rule.id for one in self.alone]


MAX_WINDOW_RATIO = 16
"""A window that is as many times as long as most others would have each chunk of time read that much more."""


def parts_of(planned: PlannedRules) -> tuple[RulePart, ...]:
    """The rules in as few parts as possible, since each part needs a copy of the events.

    All rules are one part if their keys have a column in common, or if all can be cut by time and no window is far
    longer than the others. Else those that can are cut by time, the others by the columns that most of them have in
    their keys, and the rest is not cut.
    """
    rules, keys = planned.all, {}
    for one in rules:
        # The number of the rule is a key of every group, but no column of the events.
        keys[one] = tuple(name for name in shared_key(one.program) if name in planned.schema)
    if not rules:
        return ()
    common = [name for name in keys[rules[0]] if all(name in keys[one] for one in rules)]
    if common:
        return (RulePart.of(rules, common),)
    by_time = [one for one in rules if why_not_by_time(one.program) is None]
    parts = [RulePart.of(some) for some in _by_window(by_time)]
    rest = [one for one in rules if why_not_by_time(one.program) is not None]
    while rest:
        columns = Counter(name for one in rest for name in keys[one])
        if not columns:
            return (*parts, RulePart.of(rest))
        column = max(sorted(columns), key=lambda name: columns[name])
        parts.append(RulePart.of([one for one in rest if column in keys[one]], [column]))
        rest = [one for one in rest if column not in keys[one]]
    return tuple(parts)


def _by_window(rules: Sequence[Planned]) -> list[list[Planned]]:
    """Rules that can be cut by time, those with far longer windows than half of the rules have apart."""
    if not rules:
        return []
    halos = sorted(halo_of(one.program) for one in rules)
    longest = MAX_WINDOW_RATIO * max(1, halos[(len(halos) - 1) // 2])
    short = [one for one in rules if halo_of(one.program) <= longest]
    long = [one for one in rules if halo_of(one.program) > longest]
    return [short, long] if long else [short]
