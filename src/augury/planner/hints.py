"""Requests of a caller to the planner: statistics, an evaluation order, when to search for negated parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from augury.errors import HostError, names, suggestion
from augury.ir.branches import branches
from augury.ir.normal_form import normal_conjuncts
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.loss import LossModel
from augury.plan import GivenStatistics, Negation, Statistics, StreamStatistics
from augury.plan.statistics import ASSUMED, GIVEN, unusable_statistics
from augury.planner.expected import conjunct_text, passing
from augury.schema import UNITS


@dataclass(frozen=True, slots=True)
class Hints:
    """Input of builders besides the query: statistics of the stream, and requests of the caller.

    >>> Hints().statistics.source
    'assumed'
    """

    statistics: StreamStatistics = StreamStatistics()
    order: tuple[str, ...] | None = None
    negation: Negation | None = None
    loss: LossModel | None = None
    merge: bool = True
    """Whether runs may be merged."""
    compressed: bool = False
    """Whether matches stay in shared form instead of being written out."""
    live: bool = False
    """Whether the stream is live, so that nothing of it can be measured beforehand."""


NO_HINTS = Hints()
"""Default hints: no statistics, no forced order."""


def unusable_hint(reason: str, help: str = "") -> HostError:
    """The error for a request to the planner that does not fit the query."""
    return HostError("A529", f"hint that cannot be followed: {reason}", help)


def negation_hint(word: str | None) -> Negation | None:
    """The time of the search for negated parts with this name.

    >>> negation_hint("first-chance")
    <Negation.FIRST_CHANCE: 'first-chance'>
    """
    if word is None:
        return None
    if word not in list(Negation):
        raise unusable_hint(f"there is no negation `{word}`", f"one of {names(Negation)}")
    return Negation(word)


def check_order(order: Sequence[str], queries: Sequence[BoundQuery]) -> None:
    """Check that an order names every variable that the queries of a program bind, once, lists after all others."""
    variables = {v.name: v for q in queries for v in q.variables if not v.negated}
    negated = {v.name for q in queries for v in q.variables if v.negated}
    help = f"name each of {names(variables)} once, lists last"
    for name in order:
        if name in negated - variables.keys():
            raise unusable_hint(f"`{name}` of order is negated: it is never bound", help)
        if name not in variables:
            raise unusable_hint(f"`{name}` of order is not bound by PATTERN", suggestion(name, variables))
    repeated = [name for k, name in enumerate(order) if name in order[:k]]
    if repeated:
        raise unusable_hint(f"order names `{repeated[0]}` twice", help)
    missing = [name for name in variables if name not in order]
    if missing:
        raise unusable_hint(f"order leaves out {names(missing)}", help)
    for query in queries:
        for branch in branches(query.pattern):
            lists = [variables[name].iterated for name in order if name in branch.variables]
            if lists != sorted(lists):
                late = [name for name in order if not variables[name].iterated][-1]
                raise unusable_hint(f"order has a list before `{late}`", "move lists to the end: they are bound last")


def resolve(
    stated: Statistics | None, bound: BoundQuery, rewritten: BoundQuery, known: StreamStatistics
) -> StreamStatistics:
    """The statistics that were given for a query, completed by those that are `known`.

    A rate is given for a variable, counting its events that pass the conditions on one event alone, or for a type,
    counting all its events. A selectivity is given for the text of a condition, as written or as rewritten.
    """
    if stated is None:
        return known
    if isinstance(stated, StreamStatistics):
        return stated
    texts = _condition_names(bound, rewritten)
    selectivities = {
        name: value for text, value in stated.selectivities.items() for name in texts.get(_squeezed(text), ())
    }
    known = replace(known, selectivities={**known.selectivities, **selectivities})
    tick = UNITS[bound.schema.time_unit] / UNITS["s"]
    rates = {}
    for v in rewritten.variables:
        if v.name in stated.rates:
            rates[v.name] = tick * stated.rates[v.name]
        elif v.types and stated.rates.keys() >= set(v.types):
            rates[v.name] = (
                tick * sum(stated.rates[t] for t in set(v.types)) * passing(rewritten, known).get(v.name, 1.0)
            )
    if not rates and not selectivities:
        return known
    rest = "" if known.source == ASSUMED else f", the rest {known.source}"
    return replace(known, rates={**known.rates, **rates}, source=GIVEN + rest)


def check_statistics(stated: GivenStatistics, queries: Sequence[tuple[BoundQuery, BoundQuery]]) -> None:
    """Check that every name occurs in a query of the program; queries come as bound and as rewritten."""
    known = {name for bound, _ in queries for v in bound.variables for name in (v.name, *v.types)}
    for name in stated.rates:
        if name not in known:
            raise unusable_statistics(f"no query has a type or variable `{name}`", suggestion(name, sorted(known)))
    texts: dict[str, None] = {}
    for bound, rewritten in queries:
        texts |= dict.fromkeys(_condition_names(bound, rewritten))
    for text in stated.selectivities:
        if _squeezed(text) not in texts:
            written = [conjunct_text(c) for bound, _ in queries for c in _conditions(bound)]
            written += [f"[{name}]" for bound, _ in queries for name in bound.partition_by]
            raise unusable_statistics(f"no query has the condition `{text}`", suggestion(text, written))


def _condition_names(bound: BoundQuery, rewritten: BoundQuery) -> Mapping[str, Iterable[str]]:
    """The keys of conditions in the statistics, by the text that a caller may have written, without spaces."""
    found: dict[str, dict[str, None]] = {}
    became: dict[object, list[str]] = {}
    for c in _conditions(rewritten):
        text = conjunct_text(c)
        found.setdefault(_squeezed(text), {})[text] = None
        became.setdefault(c.span, []).append(text)
    for c in _conditions(bound):
        found.setdefault(_squeezed(conjunct_text(c)), {}).update(dict.fromkeys(became.get(c.span, ())))
    for name in bound.partition_by:
        found[_squeezed(f"[{name}]")] = {f"[{name}]": None}
    return found


def _conditions(query: BoundQuery) -> tuple[Conjunct, ...]:
    return normal_conjuncts(query.conjuncts, query.pattern_order)


def _squeezed(text: str) -> str:
    return "".join(text.split())
