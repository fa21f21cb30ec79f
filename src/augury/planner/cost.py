"""The cost of evaluation orders, and the search for the cheapest one.

The model assumes that the events of each variable come independently and evenly over time, and that conditions are
independent of one another, except that two events near a third one are often near one another. Then a window of W
ticks of the stream adds `n1 * ... * nk * L / (k - 1)!` tuples of k events that span at most W, where `ni` events of
each are expected in a window and L of the k! arrangements in time are allowed by the order. Selectivities scale this
down.
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
from augury.planner.expected import MIN_EVENTS, partition_selectivity, selectivity, whole_stream, window_events
from augury.planner.near import near_pairs

MAX_EXHAUSTIVE_COMPONENTS = 8
"""Components of a branch up to which all orders are compared; beyond, the next one is chosen greedily."""

MAX_EXPECTED = 1e30
"""Upper limit of expected numbers; costs above it are not told apart."""

RANGE_SEARCH_COST = 10.0
"""Cost of finding a range of an input buffer, where testing a candidate costs 1, and a partial match costs 1."""

MIN_VECTOR_CANDIDATES, VECTOR_TEST_COST = 8, 0.1
"""Candidates of a search from which on they are tested as vectors, and the cost of a test then."""

MIN_SHARED_MATCHES = 2
"""Partial matches per first event, from which on later candidates are tested once for all of them."""

NEAR_PROBABILITY = 0.5
"""Probability that two events near a third one are near one another.

For random walks of 5 to 50 steps it is 0.75 at correlations above 0.5, and 0.5 at those above 0.9. For ascending
comparisons with a bound on the difference it is 0.5.
"""

MAX_REPORT_ORDER_FACTOR = 2.0
"""How many times the cost of the cheapest order is accepted for one that finds matches in report order.

It applies where no condition filters matches: other orders have to sort them, which takes longer than finding them.
Bursts of events yield many more matches than expected.
"""

EQUAL_COST_TOLERANCE = 1e-9
"""Relative difference below which costs are equal, so that pattern order decides."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A conjunct over several events: the variables it reads, as a bit mask, and how often it is true.

    `near` if it requires two events to be near one another.
    """

    reads: int
    true: float
    conjunct: Conjunct
    equates: tuple[Ref, Ref] | None
    near: bool
    vectorises: bool


@dataclass(frozen=True, slots=True)
class ChainModel:
    """Expected counts for one branch, by the set of variables that are bound.

    Sets are bit masks over `components`, which holds single components first, then lists, each in pattern order.
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
        """The share of the arrangements in time of a set of variables that the order of the pattern allows.

        It is exact for up to MAX_EXHAUSTIVE_COMPONENTS variables. Beyond, each variable is assumed to fall evenly among
        the earlier ones that it is ordered with, which is exact for a sequence.
        """
        if bound & (bound - 1) == 0:
            return 1.0
        found = self._shares.get(bound)
        if found is None:
            size = bound.bit_count()
            if size > MAX_EXHAUSTIVE_COMPONENTS:
                i = bound.bit_length() - 1
                rest = bound ^ 1 << i
                found = self.share(rest) / (1 + (rest & (self.earlier[i] | self.later[i])).bit_count())
            else:
                # Each variable that may be the last one is the last in an equal share of the arrangements.
                lasts = (i for i in _bits(bound) if not self.later[i] & bound)
                found = sum(self.share(bound ^ 1 << i) for i in lasts) / size
            self._shares[bound] = found
        return found

    def candidates(self, bound: int, i: int) -> float:
        """Number of events of variable i that order and window leave beside a partial match of `bound`."""
        if not bound:
            return self.events[i]
        grown = self.events[i] * self.share(bound | 1 << i) / self.share(bound)
        return grown if self.whole_stream else grown * (bound.bit_count() + 1) / bound.bit_count()

    def beside(self, part: Absence, events: float, bound: int) -> float:
        """Number of the `events` of a negated part that order and window leave beside a partial match."""
        size, names = bound.bit_count(), part.after | part.before
        ordered = sum(1 for i, c in enumerate(self.components) if bound >> i & 1 and c.variable in names)
        return events / (1 + ordered) * (1.0 if self.whole_stream else (size + 1) / size) * self.partition

    def partial(self, bound: int) -> float:
        """New partial matches of a window that bind exactly `bound`; the evaluation order does not change them."""
        if not bound:
            return 1.0
        found = self._partial.get(bound)
        if found is None:
            i = bound.bit_length() - 1
            rest = bound ^ 1 << i
            found = min(MAX_EXPECTED, self.partial(rest) * self._taken(rest, i))
            self._partial[bound] = found
        return found

    def step(self, bound: int, i: int, first: int) -> float:
        """Cost of extending the partial matches of `bound`, which began with `first`, by variable i."""
        search = RANGE_SEARCH_COST * self.partial(bound) if bound else 0.0
        many = self.candidates(bound, i) >= MIN_VECTOR_CANDIDATES and self._vectorises(bound, i)
        tests = self.tests(bound, i, first) * (VECTOR_TEST_COST if many else 1.0)
        return min(MAX_EXPECTED, search + tests + self.partial(bound | 1 << i))

    def _vectorises(self, bound: int, i: int) -> bool:
        """Whether candidates are tested as vectors, since no key finds them."""
        completed = self._completed(bound, i)
        keyed = self.partition != 1 or (self.indexed and _key(completed) != 1)
        return not keyed and not self.components[i].iterated and all(c.vectorises for c in completed)

    def keeps(self, bound: int, first: int) -> bool:
        """Whether candidates are tested once for each first event, since several partial matches grow from each."""
        return bound not in (0, first) and self.partial(bound) >= MIN_SHARED_MATCHES * self.partial(first)

    def tests(self, bound: int, i: int, first: int) -> float:
        """Number of candidates of variable i that a condition tests; for a list, plus the number of lists built."""
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
        return min(MAX_EXPECTED, self.partial(bound) * found)

    def cost(self, order: Sequence[int]) -> float:
        """Cost of a whole evaluation order."""
        bound, total = 0, 0.0
        for i in order:
            total += self.step(bound, i, 1 << order[0])
            bound |= 1 << i
        return total

    def cost_of(self, order: Sequence[str]) -> float:
        """Cost of an evaluation order given by variable names."""
        return self.cost([self.index(v) for v in order])

    def _taken(self, bound: int, i: int) -> float:
        """Number of ways to extend one partial match."""
        if self.components[i].iterated:
            return self._lists(bound, i) * self._true(bound, i, "whole")
        return self.candidates(bound, i) * self._true(bound, i, "single") * (self.partition if bound else 1.0)

    def _lists(self, bound: int, i: int) -> float:
        c = self.components[i]
        element = self.candidates(bound, i) * self._true(bound, i, "element") * (self.partition if bound else 1.0)
        return lists(element, self._true(bound, i, "next") * (1.0 if bound else self.partition), c.low, c.high)

    def _completed(self, bound: int, i: int) -> list[_Condition]:
        """The conditions that binding variable i completes."""
        found = self._last.get((bound, i))
        if found is None:
            with_i = bound | 1 << i
            found = [c for c in self.conditions if c.reads >> i & 1 and not c.reads & ~with_i]
            self._last[bound, i] = found
        return found

    def _true(self, bound: int, i: int, kind: str) -> float:
        """Probability that the conditions of one kind which variable i completes hold."""
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
                    # A value that equals one of several equal values equals all of them.
                    equal[own] = min(c.true, equal.get(own, 1.0))
        return found * math.prod(equal.values()) * self.all_near(near)

    def all_near(self, near: Mapping[int, float]) -> float:
        """Probability that an event is near several others, from the probability for each variable, given as a bit."""
        found, before = 1.0, list[int]()
        for other, true in sorted(near.items(), key=lambda item: item[1]):
            together = any(c.near and c.reads == other | x for c in self.conditions for x in before)
            found *= max(true, NEAR_PROBABILITY) if together else true
            before.append(other)
        return found

    def _kind(self, c: _Condition, i: int) -> str:
        """The kind of a condition: on a single event, an element of a list, the next element, or the whole list."""
        v = self.components[i].variable
        if not self.components[i].iterated:
            return "single"
        if v in c.conjunct.whole or v not in c.conjunct.each:
            return "whole"
        return "next" if v in c.conjunct.from_second else "element"


def _key(completed: Sequence[_Condition]) -> float:
    """The share of candidates that an index leaves (see `LazyChainPlan.steps`)."""
    for c in completed:
        if c.equates is not None and c.equates[0].element is c.equates[1].element is Element.SINGLE:
            return c.true
    return 1.0


def lists(events: float, next: float, low: int, high: int | None) -> float:
    """Number of lists that `events` events form, where `next` is the probability that an event can follow another.

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
        if max(total, of_size) > MAX_EXPECTED:
            return MAX_EXPECTED
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
    """The cost model of the components of one branch; conjuncts over other variables do not apply to it."""
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
    """The cost model of each branch of a plan, for `events` expected in a window."""
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
    """The cheapest order in which to bind the components, lists last; pattern order decides between equal costs.

    With `in_order`, an order that finds matches in report order is preferred.
    """
    single = sum(1 for c in model.components if not c.iterated)
    order: tuple[int, ...] = ()
    for part in (range(single), range(single, len(model.components))):
        order = (_best if len(part) <= MAX_EXHAUSTIVE_COMPONENTS else _greedy)(model, order, part)
    reported = _order_of_reports(model) if in_order and not model.conditions else None
    if reported is not None and model.cost(reported) < MAX_REPORT_ORDER_FACTOR * model.cost(order):
        order = reported
    return tuple(model.components[i].variable for i in order)


def _order_of_reports(model: ChainModel) -> tuple[int, ...] | None:
    """The evaluation order that finds matches by end, start and events: last component first, the others in time order.

    None where components are not in sequence, or where a list would be bound before anything else: nothing bounds its
    events by then, and n of them form 2^n lists.
    """
    in_time = sorted(range(len(model.components)), key=lambda i: model.earlier[i].bit_count())
    total = all(model.earlier[i].bit_count() == k for k, i in enumerate(in_time))
    order = (in_time[-1], *in_time[:-1])
    lists = [model.components[i].iterated for i in order]
    return order if total and not any(lists[:-1]) else None


def _best(model: ChainModel, first: tuple[int, ...], part: range) -> tuple[int, ...]:
    """The cheapest order of `part` after `first`, by dynamic programming over the sets already bound.

    The variable bound first affects all later costs, so states are told apart by it as well.
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
    if math.isclose(a[0], b[0], rel_tol=EQUAL_COST_TOLERANCE):
        return a[1] < b[1]
    return a[0] < b[0]


def _greedy(model: ChainModel, first: tuple[int, ...], part: range) -> tuple[int, ...]:
    """An order that always takes the cheapest next variable."""
    order, bound = first, sum(1 << i for i in first)
    rest = list(part)
    while rest:
        _, (i,) = _cheapest((model.step(bound, j, 1 << (*order, j)[0]), (j,)) for j in rest)
        order, bound = (*order, i), bound | 1 << i
        rest.remove(i)
    return order


def reorder(plan: LazyChainPlan, counts: Mapping[str, float], margin: float = 1.0) -> tuple[tuple[str, ...], ...]:
    """The best evaluation order of each branch when a window holds `counts` events of each variable.

    A branch keeps its order unless that costs more than `margin` times as much as the best one.
    """
    events = events_in_window(plan, [c.variable for b in plan.branches for c in b.components], counts)
    best = []
    # Matches of several branches are sorted anyway, and a NOT filters matches as a condition does.
    in_order = len(plan.branches) == 1 and not plan.branches[0].absent and plan.query.reports_all
    in_order = in_order and bool(plan.statistics.rates)
    for model, branch in zip(branch_models(plan, events), plan.branches, strict=True):
        order = evaluation_order(model, in_order=in_order)
        worth = model.cost_of(branch.evaluation) > margin * model.cost_of(order)
        best.append(order if worth or margin <= 1 else branch.evaluation)
    return tuple(best)


def events_in_window(plan: LazyChainPlan, names: Sequence[str], counts: Mapping[str, float]) -> dict[str, float]:
    """Number of events of each variable in a window, counted where `counts` has it, else expected."""
    expected = {} if counts.keys() >= set(names) else window_events(plan.query, plan.statistics, names)
    return {v: max(MIN_EVENTS, counts[v]) if v in counts else expected[v] for v in names}
