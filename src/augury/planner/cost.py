"""What an evaluation order costs, and the cheapest one.

Events of the variables are taken to come independently of one another and evenly over time, conditions to be true
independently of one another, except that events near one another have the same events near them. Then a window of W
ticks of the stream adds `n1 * ... * nk * L / (k - 1)!` tuples of k events that span at most W, where `ni` events of
each are expected in a window and L of the k! arrangements in time are allowed by the order; selectivities thin them
out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from augury.ir.comparisons import vectorises
from augury.ir.predicate import Compare, Conjunct, Element, Ref
from augury.ir.query import BoundQuery
from augury.plan import Absence, Component, LazyChainPlan, StreamStatistics
from augury.planner.expected import FEWEST, partition_selectivity, selectivity, whole_stream, window_events
from augury.planner.near import near_pairs

EXHAUSTIVE = 8
"""Components of a branch up to which every subset is looked at; with more, the next one is chosen greedily."""

MOST = 1e30
"""Where expected numbers end: beyond, all plans are equally hopeless."""

SEARCH = 10.0
"""What it costs to find a range of an input buffer; testing a candidate costs 1, and so does a partial match."""

SOME, AT_A_TIME = 8, 0.1
"""Candidates of a search from which on they are compared many at a time, and what each costs then."""

SEVERAL = 2
"""Partial matches from one first event, from which on it pays to test later candidates once for all of them."""

ALSO_NEAR = 0.5
"""How often two events near a third one are near one another.

Of random walks of 5 to 50 steps it is 0.75 for correlations above 0.5, and 0.5 for those above 0.9. Of numbers that
ascend by less than so much it is 0.5.
"""

SORTING = 2.0
"""How much dearer an order may be that finds matches as they are reported, where no condition thins them out.

Other orders leave them to be sorted, which takes longer than to find them. Where events come in bursts there are many
more matches than expected.
"""

CLOSE = 1e-9
"""Costs that differ relatively by less are equal, and pattern order decides."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A conjunct over several events: the variables it reads, as bits, and how often it is true.

    `near` says that two events have to be near one another.
    """

    reads: int
    true: float
    conjunct: Conjunct
    equates: tuple[Ref, Ref] | None
    near: bool
    vectorises: bool


@dataclass(frozen=True, slots=True)
class ChainModel:
    """Expected numbers of one branch, by sets of bound variables.

    Sets are bits of `components`, which has the single ones first, then the lists, each in pattern order.
    """

    components: tuple[Component, ...]
    events: tuple[float, ...]
    earlier: tuple[int, ...]
    later: tuple[int, ...]
    conditions: tuple[_Condition, ...]
    partition: float
    indexed: bool
    whole_stream: bool
    _shares: dict[int, float] = field(default_factory=dict, repr=False, compare=False)
    _partial: dict[int, float] = field(default_factory=dict, repr=False, compare=False)
    _last: dict[tuple[int, int], list[_Condition]] = field(default_factory=dict, repr=False, compare=False)

    def index(self, variable: str) -> int:
        return next(i for i, c in enumerate(self.components) if c.variable == variable)

    def share(self, bound: int) -> float:
        """The share of the arrangements in time of some variables that their order allows.

        For up to EXHAUSTIVE variables it is exact; beyond, each variable is taken to fall evenly among those before it
        in pattern order that it has an order with, which is exact for a sequence.
        """
        if bound & (bound - 1) == 0:
            return 1.0
        found = self._shares.get(bound)
        if found is None:
            size = bound.bit_count()
            if size > EXHAUSTIVE:
                i = bound.bit_length() - 1
                rest = bound ^ 1 << i
                found = self.share(rest) / (1 + (rest & (self.earlier[i] | self.later[i])).bit_count())
            else:
                # Whichever may be the last of all is so in an equal part of the arrangements.
                lasts = (i for i in _bits(bound) if not self.later[i] & bound)
                found = sum(self.share(bound ^ 1 << i) for i in lasts) / size
            self._shares[bound] = found
        return found

    def candidates(self, bound: int, i: int) -> float:
        """How many events of variable i the order and the window leave beside a partial match of `bound`."""
        if not bound:
            return self.events[i]
        grown = self.events[i] * self.share(bound | 1 << i) / self.share(bound)
        return grown if self.whole_stream else grown * (bound.bit_count() + 1) / bound.bit_count()

    def beside(self, part: Absence, events: float, bound: int) -> float:
        """How many of the `events` of a negated part the order and the window leave beside a partial match."""
        size, names = bound.bit_count(), part.after | part.before
        ordered = sum(1 for i, c in enumerate(self.components) if bound >> i & 1 and c.variable in names)
        return events / (1 + ordered) * (1.0 if self.whole_stream else (size + 1) / size) * self.partition

    def partial(self, bound: int) -> float:
        """Partial matches that bind just `bound`, new in a window; the order in which they were bound is no matter."""
        if not bound:
            return 1.0
        found = self._partial.get(bound)
        if found is None:
            i = bound.bit_length() - 1
            rest = bound ^ 1 << i
            found = min(MOST, self.partial(rest) * self._taken(rest, i))
            self._partial[bound] = found
        return found

    def step(self, bound: int, i: int, first: int) -> float:
        """What it costs to extend the partial matches of `bound` by variable i; they began with `first`."""
        search = SEARCH * self.partial(bound) if bound else 0.0
        many = self.candidates(bound, i) >= SOME and self._vectorises(bound, i)
        tests = self.tests(bound, i, first) * (AT_A_TIME if many else 1.0)
        return min(MOST, search + tests + self.partial(bound | 1 << i))

    def _vectorises(self, bound: int, i: int) -> bool:
        """Whether candidates can be tested many at a time, which are not found by a key."""
        completed = self._completed(bound, i)
        keyed = self.partition != 1 or (self.indexed and _key(completed) != 1)
        return not keyed and not self.components[i].iterated and all(c.vectorises for c in completed)

    def keeps(self, bound: int, first: int) -> bool:
        """Whether it pays to test candidates once for each first event, since several partial matches grow from it."""
        return bound not in (0, first) and self.partial(bound) >= SEVERAL * self.partial(first)

    def tests(self, bound: int, i: int, first: int) -> float:
        """Candidates of variable i that are tested, if there is a condition on them; of a list also those built."""
        every = self._tests_of_all(bound, i)
        with_first = [c for c in self._completed(first, i) if c.reads == first | 1 << i]
        if not with_first or not self.keeps(bound, first) or not self._vectorises(bound, i):
            return every
        once = self.partial(first) * self.candidates(first, i)
        return min(every, once + every * self._true(first, i, "single"))

    def _tests_of_all(self, bound: int, i: int) -> float:
        completed = self._completed(bound, i)
        found = self.candidates(bound, i) if completed or not bound else 0.0
        if bound:
            found *= self.partition
        if self.components[i].iterated:
            found += self._lists(bound, i)
        elif self.indexed:
            found *= _key(completed)
        return min(MOST, self.partial(bound) * found)

    def cost(self, order: Sequence[int]) -> float:
        """What a whole evaluation order costs."""
        bound, total = 0, 0.0
        for i in order:
            total += self.step(bound, i, 1 << order[0])
            bound |= 1 << i
        return total

    def cost_of(self, order: Sequence[str]) -> float:
        """What an evaluation order costs, by its variables."""
        return self.cost([self.index(v) for v in order])

    def _taken(self, bound: int, i: int) -> float:
        """How many ways there are to extend one partial match."""
        if self.components[i].iterated:
            return self._lists(bound, i) * self._true(bound, i, "whole")
        return self.candidates(bound, i) * self._true(bound, i, "single") * (self.partition if bound else 1.0)

    def _lists(self, bound: int, i: int) -> float:
        c = self.components[i]
        element = self.candidates(bound, i) * self._true(bound, i, "element") * (self.partition if bound else 1.0)
        return lists(element, self._true(bound, i, "next") * (1.0 if bound else self.partition), c.low, c.high)

    def _completed(self, bound: int, i: int) -> list[_Condition]:
        """The conditions whose last variable is i."""
        found = self._last.get((bound, i))
        if found is None:
            with_i = bound | 1 << i
            found = [c for c in self.conditions if c.reads >> i & 1 and not c.reads & ~with_i]
            self._last[bound, i] = found
        return found

    def _true(self, bound: int, i: int, kind: str) -> float:
        """How often the conditions of one kind hold that variable i completes."""
        found = 1.0
        equal: dict[Ref, float] = {}
        near: dict[int, float] = {}
        for c in self._completed(bound, i):
            if self._kind(c, i) != kind:
                continue
            if c.near:
                other = c.reads ^ 1 << i
                near[other] = near.get(other, 1.0) * c.true
            else:
                own = None if c.equates is None else c.equates[c.equates[1].variable == self.components[i].variable]
                if own is None:
                    found *= c.true
                else:
                    # What equals one of several equal values equals all of them.
                    equal[own] = min(c.true, equal.get(own, 1.0))
        return found * math.prod(equal.values()) * self.all_near(near)

    def all_near(self, near: Mapping[int, float]) -> float:
        """How often an event is near those of all of these variables, given as bits, with how often it is near each."""
        found, before = 1.0, list[int]()
        for other, true in sorted(near.items(), key=lambda item: item[1]):
            together = any(c.near and c.reads == other | x for c in self.conditions for x in before)
            found *= max(true, ALSO_NEAR) if together else true
            before.append(other)
        return found

    def _kind(self, c: _Condition, i: int) -> str:
        """What a condition decides about: a single event, an element of a list, the next element, or the whole list."""
        v = self.components[i].variable
        if not self.components[i].iterated:
            return "single"
        if v in c.conjunct.whole or v not in c.conjunct.each:
            return "whole"
        return "next" if v in c.conjunct.from_second else "element"


def _key(completed: Sequence[_Condition]) -> float:
    """The share of the candidates that an index leaves to be tested (see `LazyChainPlan.steps`)."""
    for c in completed:
        if c.equates is not None and c.equates[0].element is c.equates[1].element is Element.SINGLE:
            return c.true
    return 1.0


def lists(events: float, next: float, low: int, high: int | None) -> float:
    """How many lists `events` events make, when the next one follows the one before with that probability.

    >>> lists(3, 1.0, 1, None), lists(4, 1.0, 2, 2), lists(1000, 1.0, 1, None)
    (7.0, 6.0, 1e+30)
    """
    total, of_size = 0.0, events
    size = 1
    while of_size > 0 and (high is None or size <= high):
        if size >= low:
            if of_size < 1e-12 * total:
                break
            total += of_size
        of_size *= (events - size) / (size + 1) * next
        size += 1
        if max(total, of_size) > MOST:
            return MOST
    return total


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def chain_model(
    query: BoundQuery,
    components: Sequence[Component],
    order: frozenset[tuple[str, str]],
    conjuncts: Sequence[Conjunct],
    selectivities: Sequence[float],
    events: Mapping[str, float],
    statistics: StreamStatistics,
    *,
    indexed: bool,
) -> ChainModel:
    """What is expected of the components of one branch; conjuncts over other variables do not apply to it."""
    ordered = sorted(components, key=lambda c: c.iterated)
    bit = {c.variable: 1 << i for i, c in enumerate(ordered)}
    conditions = [
        _Condition(sum(bit[v] for v in j.variables), true, j, _equated(j), near, near or vectorises(j))
        for j, true, near in zip(conjuncts, selectivities, near_pairs(conjuncts), strict=True)
        if bit.keys() >= set(j.variables)
    ]
    earlier = tuple(sum(b for v, b in bit.items() if (v, c.variable) in order) for c in ordered)
    later = tuple(sum(b for v, b in bit.items() if (c.variable, v) in order) for c in ordered)
    return ChainModel(
        tuple(ordered),
        tuple(events[c.variable] for c in ordered),
        earlier,
        later,
        tuple(conditions),
        partition_selectivity(query, statistics),
        indexed,
        whole_stream(query, statistics),
    )


def _equated(j: Conjunct) -> tuple[Ref, Ref] | None:
    match j.expr:
        case Compare("=", Ref() as left, Ref() as right) if left.variable != right.variable:
            return left, right
        case _:
            return None


def branch_models(plan: LazyChainPlan, events: Mapping[str, float]) -> list[ChainModel]:
    """The model of each branch of a plan, for `events` expected in a window."""
    models = []
    for b in plan.branches:
        conjuncts = (*plan.conjuncts, *b.spacing)
        true = [selectivity(j, plan.statistics, plan.computed) for j in conjuncts]
        models.append(
            chain_model(
                plan.query, b.components, b.order, conjuncts, true, events, plan.statistics, indexed=plan.indexed
            )
        )
    return models


def evaluation_order(model: ChainModel, *, in_order: bool = False) -> tuple[str, ...]:
    """The cheapest order in which to bind the components, lists last; of equally cheap ones that of the pattern.

    With `in_order` one is preferred that finds matches in the order in which they are reported.
    """
    single = sum(1 for c in model.components if not c.iterated)
    order: tuple[int, ...] = ()
    for part in (range(single), range(single, len(model.components))):
        order = (_best if len(part) <= EXHAUSTIVE else _greedy)(model, order, part)
    reported = _order_of_reports(model) if in_order and not model.conditions else None
    if reported is not None and model.cost(reported) < SORTING * model.cost(order):
        order = reported
    return tuple(model.components[i].variable for i in order)


def _order_of_reports(model: ChainModel) -> tuple[int, ...] | None:
    """The evaluation order that finds matches by their end, start and events: the last one first, then as in time.

    None where components are not in sequence, or a list would have to be bound before anything else: what it can take
    is not bounded by then, and there are two to the power of that many.
    """
    in_time = sorted(range(len(model.components)), key=lambda i: model.earlier[i].bit_count())
    total = all(model.earlier[i].bit_count() == k for k, i in enumerate(in_time))
    order = (in_time[-1], *in_time[:-1])
    lists = [model.components[i].iterated for i in order]
    return order if total and not any(lists[:-1]) else None


def _best(model: ChainModel, first: tuple[int, ...], part: range) -> tuple[int, ...]:
    """The cheapest order of `part` after `first`, by dynamic programming over the sets already bound.

    What is bound first of all has a say in all that follows, so that sets are told apart by it.
    """
    best: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {
        (first[0] if first else -1, sum(1 << i for i in first)): (0.0, first)
    }
    for _ in part:
        longer: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {}
        for (begin, bound), (cost, order) in best.items():
            for i in part:
                if not bound >> i & 1:
                    began = begin if bound else i
                    found = (cost + model.step(bound, i, 1 << began), (*order, i))
                    rival = longer.get((began, bound | 1 << i))
                    if rival is None or _cheaper(found, rival):
                        longer[began, bound | 1 << i] = found
        best = longer
    return _cheapest(best.values())[1]


def _cheapest(found: Iterable[tuple[float, tuple[int, ...]]]) -> tuple[float, tuple[int, ...]]:
    return reduce(lambda best, other: other if _cheaper(other, best) else best, found)


def _cheaper(a: tuple[float, tuple[int, ...]], b: tuple[float, tuple[int, ...]]) -> bool:
    if math.isclose(a[0], b[0], rel_tol=CLOSE):
        return a[1] < b[1]
    return a[0] < b[0]


def _greedy(model: ChainModel, first: tuple[int, ...], part: range) -> tuple[int, ...]:
    """Always the one next that costs least."""
    order, bound = first, sum(1 << i for i in first)
    rest = list(part)
    while rest:
        _, (i,) = _cheapest((model.step(bound, j, 1 << (*order, j)[0]), (j,)) for j in rest)
        order, bound = (*order, i), bound | 1 << i
        rest.remove(i)
    return order


def reorder(plan: LazyChainPlan, counts: Mapping[str, float], margin: float = 1.0) -> tuple[tuple[str, ...], ...]:
    """The best evaluation order of each branch when a window holds `counts` events of each variable.

    A branch keeps the order it has unless that costs more than `margin` times as much.
    """
    events = events_in_window(plan, [c.variable for b in plan.branches for c in b.components], counts)
    best = []
    # Matches of several branches are sorted in any case, and a NOT decides about matches as a condition does.
    in_order = len(plan.branches) == 1 and not plan.branches[0].absent and plan.query.reports_all
    in_order = in_order and bool(plan.statistics.rates)
    for model, branch in zip(branch_models(plan, events), plan.branches, strict=True):
        order = evaluation_order(model, in_order=in_order)
        worth = model.cost_of(branch.evaluation) > margin * model.cost_of(order)
        best.append(order if worth or margin <= 1 else branch.evaluation)
    return tuple(best)


def events_in_window(plan: LazyChainPlan, names: Sequence[str], counts: Mapping[str, float]) -> dict[str, float]:
    """How many events of each variable a window holds: as counted, else as expected."""
    expected = {} if counts.keys() >= set(names) else window_events(plan.query, plan.statistics, names)
    return {v: max(FEWEST, counts[v]) if v in counts else expected[v] for v in names}
