"""Lossy streams: matches with components missing, and how probable they are (SEMANTICS section 8, paper 004)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise

from augury.errors import HostError
from augury.ir.branches import Branch
from augury.ir.pattern import Absent, Event, Pattern, Seq, components, variable_of
from augury.ir.predicate import Conjunct, Expr, Ref, conjunct, map_children
from augury.ir.query import BoundQuery, TimeWindow
from augury.loss import Delay, Empirical, LossModel, Uniform
from augury.reference.any_match import any_matches
from augury.reference.conditions import Conditions, bound
from augury.reference.stream import Bindings
from augury.schema import UNITS


@dataclass(frozen=True, slots=True)
class Step:
    """One component of the sequence."""

    variable: str
    negated: bool


def lossy_matches(given: Conditions, branch: Branch, model: LossModel) -> Iterator[tuple[Bindings, float]]:
    """Every match whose score reaches the threshold, with the score; observed negations are not looked at."""
    query = given.query
    assert query.threshold is not None
    steps = sequence(query.pattern)
    *others, last = branch.components
    for size in range(len(others) + 1):
        for observed in combinations(others, size):
            missing = frozenset(variable_of(c) for c in others if c not in observed)
            # A score is at most the product of the loss rates of what is missing.
            if math.prod(model.rate_of(v) for v in missing) < query.threshold:
                continue
            part = Branch((*observed, last), branch.order)
            for match in any_matches(without(given, missing), part):
                probability = score(steps, match, query, model)
                if probability >= query.threshold:
                    yield match, probability


def without(given: Conditions, missing: frozenset[str]) -> Conditions:
    """The conditions when `missing` were not observed: their attributes take the defaults the query gives."""
    order = given.query.pattern_order
    kept: list[Conjunct] = []
    for c in given.conjuncts:
        expr = _with_defaults(c.expr, missing)
        if expr is not None:
            kept.append(conjunct(expr, order))
    return replace(given, conjuncts=tuple(kept))


class _NoDefault(Exception):
    """A conjunct reads a missing event and has no default for it."""


def _with_defaults(expr: Expr, missing: frozenset[str]) -> Expr | None:
    """`expr` over what was observed; None when it does not apply then."""

    def fill(e: Expr) -> Expr:
        if isinstance(e, Ref):
            if e.variable not in missing:
                return e
            if e.default is None:
                raise _NoDefault
            return fill(e.default)
        return map_children(fill, e)

    try:
        return fill(expr)
    except _NoDefault:
        return None


def sequence(pattern: Pattern) -> list[Step]:
    """The components of a lossy pattern in order."""
    match pattern:
        case Event(variable):
            return [Step(variable, negated=False)]
        case Seq(parts):
            return [step for part in parts for step in sequence(part)]
        case Absent(body):
            return [Step(variable_of(c), negated=True) for c in components(body)]
        case _:
            raise AssertionError("a lossy pattern is a SEQ of single and negated components")


def check_model(query: BoundQuery, model: LossModel | None) -> LossModel:
    """The loss model, if it says all that the query needs."""
    if model is None:
        raise HostError(
            "A550",
            "a query with THRESHOLD needs to know how events are lost",
            "give loss=LossModel(rate=..., delays={...})",
        )
    steps = sequence(query.pattern)
    for step in steps[:-1]:
        if step.variable not in model.delays and (step.negated or model.rate_of(step.variable) > 0):
            raise HostError(
                "A551",
                f"the loss model has no delay for component `{step.variable}`",
                f'delays={{"{step.variable}": Exponential(mean=...)}}',
            )
    return model


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
    return result


def gap_score(gap: Sequence[Step], length: float, model: LossModel) -> float:
    """How probable it is that a gap of `length` seconds hides what the pattern says it does.

    With missing positives p1 < ... < pk at times t1 < ... < tk after the start of the gap, the score is the product of
    their loss rates and the integral of the product of their densities at t1 ... tk, times, for each negation, the
    probability that it did not happen in the stretch where it stands. For up to two positives these are the paper's
    formulas.
    """
    if not gap:
        return 1.0
    reach: Callable[[float], float] | None = None
    points = sorted({x for step in gap for x in _kinks(model.delays[step.variable]) if 0 < x < length})
    stretch: list[Step] = []
    rates = 1.0
    for step in gap:
        if step.negated:
            stretch.append(step)
            continue
        rates *= model.rate_of(step.variable)
        reach = _then_missing(reach, tuple(stretch), model.delays[step.variable], model, points)
        stretch = []
    if reach is None:
        return _absent(stretch, length, model)
    return rates * _integral(reach, tuple(stretch), length, model, points)


def _then_missing(
    earlier: Callable[[float], float] | None,
    between: tuple[Step, ...],
    delay: Delay,
    model: LossModel,
    points: Sequence[float],
) -> Callable[[float], float]:
    """The density of a missing positive at t, after what came earlier in the gap."""
    if earlier is None:
        return lambda t: delay.density(t) * _absent(between, t, model)
    return lambda t: delay.density(t) * _integral(earlier, between, t, model, points)


def _integral(
    density: Callable[[float], float],
    after: tuple[Step, ...],
    length: float,
    model: LossModel,
    points: Sequence[float],
) -> float:
    """The integral of a density over a stretch, with the negations `after` not happening in the rest of it."""
    if length <= 0:
        return 0.0
    # As in `augury.loss`: SciPy takes long to import, and few queries need it.
    from scipy.integrate import quad

    # Where a density jumps, the integrand is not smooth: integrate from jump to jump.
    ends = [0.0, *(x for x in points if x < length), length]
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
        happened = model.delays[step.variable].distribution(length)
        unseen = model.rate_of(step.variable) * happened + 1 - happened
        result *= (1 - happened) / unseen if unseen > 0 else 0.0
    return result


def _kinks(delay: Delay) -> tuple[float, ...]:
    """Where the density of a delay is not smooth."""
    match delay:
        case Uniform(low, high):
            return (low, high)
        case Empirical(edges):
            return edges
        case _:
            return ()
