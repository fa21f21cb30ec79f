"""Lossy streams: matches with missing components, and their probabilities (SEMANTICS section 8, paper 004)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from augury.ir.branches import AbsentPart, Branch
from augury.ir.lossy import Step, may_miss, sequence, with_defaults
from augury.ir.pattern import variable_of
from augury.ir.predicate import conjunct
from augury.ir.query import BoundQuery, TimeWindow
from augury.loss import DIGITS, PRECISION, Delay, Empirical, LossModel, Uniform, importing_scipy
from augury.reference.any_match import any_matches, rejected
from augury.reference.conditions import Conditions, bound
from augury.reference.stream import Bindings
from augury.schema import UNITS


def lossy_matches(given: Conditions, branch: Branch, model: LossModel) -> Iterator[tuple[Bindings, float]]:
    """Every match whose score reaches the threshold, with the score, before unobserved components are checked."""
    query = given.query
    assert query.threshold is not None
    steps = sequence(query.pattern)
    missable = may_miss(steps, model)
    for size in range(1, len(branch.components) + 1):
        for observed in combinations(branch.components, size):
            missing = frozenset(branch.variables) - {variable_of(c) for c in observed}
            if not missing <= missable:
                continue
            # By the paper's scoring, a score is at most the product of the loss rates of the missing components.
            if not model.posterior and math.prod(model.rate_of(v) for v in missing) < query.threshold - PRECISION:
                continue
            part = Branch(observed, branch.order)
            for match in any_matches(without(given, missing), part):
                probability = score(steps, match, query, model)
                if probability >= query.threshold - PRECISION:
                    yield match, round(min(1.0, probability), DIGITS)


def unseen(given: Conditions, branch: Branch, match: Bindings) -> bool:
    """Whether no event was observed that would fit a component that the match has as missing."""
    missing = frozenset(branch.variables) - match.keys()
    for component in branch.components:
        v = variable_of(component)
        if v in missing:
            after = frozenset(u for u, w in branch.order if w == v and u in match)
            before = frozenset(w for u, w in branch.order if u == v and w in match)
            if rejected(without(given, missing - {v}), (AbsentPart(component, after, before),), match):
                return False
    return True


def without(given: Conditions, missing: frozenset[str]) -> Conditions:
    """The conditions when `missing` were not observed: their attributes take the defaults of the query."""
    order = given.query.pattern_order
    filled = (with_defaults(c.expr, missing) for c in given.conjuncts)
    return replace(given, conjuncts=tuple(conjunct(e, order) for e in filled if e is not None))


def score(steps: Sequence[Step], match: Bindings, query: BoundQuery, model: LossModel) -> float:
    """The product of the scores of the gaps between consecutive observed components."""
    assert isinstance(query.window, TimeWindow)
    tick = UNITS[query.schema.time_unit] / 1e9
    result = 1.0
    gap: list[Step] = []
    since = max(e.time for e in bound(match)) - query.window.ticks
    for step in steps:
        if step.variable in match:
            (e,) = match[step.variable]
            result *= gap_score(gap, (e.time - since) * tick, model)
            gap, since = [], e.time
        else:
            gap.append(step)
    # Components after the last observed event have the rest of the window.
    first, last = min(e.time for e in bound(match)), max(e.time for e in bound(match))
    return result * gap_score(gap, (first + query.window.ticks - last) * tick, model)


def gap_score(gap: Sequence[Step], length: float, model: LossModel) -> float:
    """The probability that a gap of `length` seconds hides the missing components and no negated event.

    With missing positives p1 < ... < pk at times t1 < ... < tk after the start of the gap, the score is the product of
    their loss rates and the integral of the product of their densities at t1 ... tk, times, for each negation, the
    probability that it did not happen in its part of the gap. For up to two positives these are the paper's formulas.
    The posterior divides by the probability that no such positive was observed in the gap.
    """
    if not gap:
        return 1.0
    reach: Callable[[float], float] | None = None
    kinks = sorted({x for step in gap for x in _kinks(model.delays[step.variable])})
    stretch: list[Step] = []
    rates = 1.0
    for step in gap:
        if step.negated:
            stretch.append(step)
            continue
        rates *= model.rate_of(step.variable)
        reach = _then_missing(reach, tuple(stretch), model.delays[step.variable], model, kinks)
        stretch = []
    if reach is None:
        return _absent(stretch, length, model)
    lost = rates * _integral(reach, tuple(stretch), length, model, kinks)
    return lost / _not_observed(gap, length, model) if model.posterior and lost > 0 else lost


def _not_observed(gap: Sequence[Step], length: float, model: LossModel) -> float:
    """The probability that none of the positives of a gap was observed in it."""
    result = 1.0
    for step in gap:
        if not step.negated:
            happened = model.delays[step.variable].distribution(length)
            result *= model.rate_of(step.variable) * happened + 1 - happened
    return result


def _then_missing(
    earlier: Callable[[float], float] | None,
    between: tuple[Step, ...],
    delay: Delay,
    model: LossModel,
    kinks: Sequence[float],
) -> Callable[[float], float]:
    """The density of a missing positive at t, after the earlier components of the gap."""
    if earlier is None:
        return lambda t: delay.density(t) * _absent(between, t, model)
    return lambda t: delay.density(t) * _integral(earlier, between, t, model, kinks)


def _integral(
    density: Callable[[float], float],
    after: tuple[Step, ...],
    length: float,
    model: LossModel,
    kinks: Sequence[float],
) -> float:
    """The integral of a density over a stretch, with the negations `after` not happening in the rest of it."""
    if length <= 0:
        return 0.0
    # As in `augury.loss`: SciPy is slow to import, and few queries need it.
    with importing_scipy():
        from scipy.integrate import quad

    # The integrand is not smooth where a density jumps, so each piece between jumps is integrated by itself.
    ends = [0.0, *sorted({x for k in kinks for x in (k, length - k) if 0 < x < length}), length]
    return math.fsum(
        quad(
            lambda t: density(t) * _absent(after, length - t, model), low, high, epsabs=1e-13, epsrel=1e-12, limit=200
        )[0]
        for low, high in pairwise(ends)
    )


def _absent(negations: Sequence[Step], length: float, model: LossModel) -> float:
    """The probability that unobserved negations did not happen within `length` seconds."""
    result = 1.0
    for step in negations:
        rate = model.rate_of(step.variable)
        if rate > 0:
            # An event that is never lost and was not observed did not happen.
            happened = model.delays[step.variable].distribution(length)
            result *= (1 - happened) / (rate * happened + 1 - happened)
    return result


def _kinks(delay: Delay) -> tuple[float, ...]:
    """Points where the density of a delay is not smooth."""
    match delay:
        case Uniform(low, high):
            return (low, high)
        case Empirical(edges):
            return edges
        case _:
            return ()
