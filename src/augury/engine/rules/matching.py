"""Matches rules of one shape over a finite stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from augury.compiler import CompiledQuery, load
from augury.engine.arrivals import order_ranks
from augury.engine.rules.candidates import OpenKeys, RuleIndex
from augury.engine.rules.event_columns import Mask
from augury.engine.rules.group import MAX_RULES, Group, SharedEvents, by_rule, compile_group, stream_of
from augury.engine.rules.grouping import source_of
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.warnings import tie_warning, type_warning
from augury.errors import AuguryError
from augury.ir.terms import Strategy
from augury.options import Options
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER

MAX_PAIRS = 1 << 20  # pairs of an event and a candidate rule in one step of a kernel


@dataclass(frozen=True, slots=True, eq=False)
class GroupMatches:
    """The matches of some rules of one shape, ordered by rule; `rule` is the place of each match's rule among `rules`.

    `touched` counts the events that each rule was given, `tied` those of them that are concurrent with an earlier one.
    """

    rules: tuple[GroupedRule, ...]
    query: CompiledQuery
    found: MatchSet
    rule: Integers
    touched: Integers
    tied: Integers

    def where(self, mask: Mask) -> GroupMatches:
        """The matches for which `mask` holds."""
        if mask.all():
            return self
        kept = np.flatnonzero(mask)
        return replace(self, found=self.found.take(kept), rule=self.rule[kept])

    def warnings(self, rule: GroupedRule, tied: int, seen: frozenset[str]) -> tuple[str, ...]:
        """The warnings for a rule with `tied` concurrent events; `seen` are the types of all events."""
        query = self.query.bound
        consuming = query.strategies - {Strategy.SKIP_TILL_ANY_MATCH}
        told = (tie_warning(tied, consuming, query.schema),) if tied else ()
        return (*told, *(type_warning(name, seen) for name in rule.shaped.types if name not in seen))


Prepare: TypeAlias = Callable[[CompiledQuery, int, Options], Options]
"""Gives the options for a kernel of this query over this number of events."""


class FiniteGroup:
    """Matches rules of one shape over finite events; rules that fail are listed in `failed`."""

    def __init__(
        self,
        rules: Sequence[GroupedRule],
        shared: SharedEvents,
        options: Options,
        prepare: Prepare,
        max_pairs: int = MAX_PAIRS,
        query: CompiledQuery | None = None,
    ) -> None:
        """The `query` is planned already, or else when the events are matched, for these."""
        self.rules, self.shared, self.options, self.prepare = tuple(rules), shared, options, prepare
        self.max_pairs = max_pairs
        self.group = Group.of([rule.shaped for rule in rules])
        self.failed: list[GroupedRule] = []
        """Rules that failed even by themselves: running them alone reports the error."""
        self._query = query

    def matches(self) -> Iterator[GroupMatches]:
        """The matches of all rules, a range of the rules at a time."""
        for first in range(0, len(self.rules), MAX_RULES):
            yield from self._of(first, min(first + MAX_RULES, len(self.rules)))

    def _of(self, first: int, end: int) -> Iterator[GroupMatches]:
        part = self.group.part(first, end)
        values = part.values()
        limit = self.max_pairs if end - first > 1 else None
        pairs = RuleIndex(part.tests, values, self.shared.columns).candidates(
            self.shared.columns, OpenKeys.none(), limit
        )
        if pairs is not None:
            event, rule, _ = pairs
            batch = stream_of(part, values, np.arange(end - first), self.shared, event, rule)
            try:
                query, found = self._step(batch)
            except AuguryError:
                pairs = None
            else:
                ordered, which = by_rule(found)
                touched, tied = np.bincount(rule, minlength=end - first), self._tied(event, rule, end - first)
                yield GroupMatches(self.rules[first:end], query, ordered, which, touched, tied)
        if pairs is None:
            if end - first == 1:
                self.failed.append(self.rules[first])
                return
            middle = (first + end) // 2
            yield from self._of(first, middle)
            yield from self._of(middle, end)

    def _step(self, batch: EventBatch) -> tuple[CompiledQuery, MatchSet]:
        query = self._query
        if query is None:
            written = self.rules[0]
            query = compile_group(self.group, source_of(written.rule), written.written, self.options, batch)
            self._query = query
        kernel = load(query, self.prepare(query, len(batch), self.options))
        _, found = kernel.step(kernel.start(), batch, FOREVER)
        return query, enumerated(found)

    def _tied(self, event: Integers, rule: Integers, rules: int) -> Integers:
        """How many events each rule consumes that are concurrent with an earlier one of the same key."""
        if self.group.shape.query.strategies == {Strategy.SKIP_TILL_ANY_MATCH} or not self.shared.any_ties:
            return np.zeros(rules, dtype=np.int64)
        ranks = order_ranks(self.shared.events, self.shared.schema)[event]
        keys = self.shared.columns.keys(self.group.tests.key)[event]
        order = np.lexsort([ranks, keys, rule])
        same = np.ones(max(len(order) - 1, 0), dtype=bool)
        for column in (ranks, keys, rule):
            same &= column[order][1:] == column[order][:-1]
        return np.bincount(rule[order][1:][same], minlength=rules)


__all__ = ["FiniteGroup", "GroupMatches", "Prepare"]
