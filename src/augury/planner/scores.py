"""Scoring functions as tables: integrated once when a query is planned, looked up for each pair of events.

The score of a gap (paper 004, section 3) is a chain of one-dimensional integrals: with missing positives p1 ... pk and
A_m the probability that the negations after p_m did not happen in the rest of the gap,

    I_1(T) = integral of f_1(t) A_0(t) A_1(T - t),    I_m(T) = integral of f_m(t) I_{m-1}(t) A_m(T - t),  t from 0 to T

and the score is the product of the loss rates and I_k. Each I_m is tabulated before the next one, so that the work is
linear in the number of missing components instead of exponential.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from augury.ir.lossy import Step
from augury.loss import Delay, LossModel
from augury.plan.lossy import BUCKETS, Floats, ScoreTable
from augury.planner.delays import density, distribution, kinks, landmarks

SERIES_TERMS = 16
"""Coefficients of a Chebyshev series, and points of a Gauss rule."""

SERIES_TOLERANCE = 1e-13
"""Largest error of a series between its nodes; with a larger one the stretch is halved."""

ERROR_SAMPLES = 97
"""Gap lengths at which a table is compared with a finer integration."""

MAX_HALVINGS = 44
"""Times that a stretch is halved at most, whatever the error of its series is then."""

MAX_KINKS = 400
"""Kinks of a gap up to which sums of kinks are added; beyond, only those of single delays are."""

Function = Callable[[Floats], Floats]

_NODES = np.cos(np.pi * (np.arange(SERIES_TERMS) + 0.5) / SERIES_TERMS)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_NODES, SERIES_TERMS - 1))
_CHECKED = np.array([-1.0, -0.93, -0.71, -0.37, 0.04, 0.42, 0.77, 0.95, 1.0])
_AT_CHECKED = chebyshev.chebvander(_CHECKED, SERIES_TERMS - 1)
_GAUSS = {n: np.polynomial.legendre.leggauss(n) for n in (SERIES_TERMS, SERIES_TERMS + 8)}


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """A function as piecewise Chebyshev series."""

    starts: Floats
    ends: Floats
    coefficients: Floats

    def __call__(self, t: Floats) -> Floats:
        k = np.clip(np.searchsorted(self.starts, t, side="right") - 1, 0, len(self.starts) - 1)
        x = (2 * t - self.starts[k] - self.ends[k]) / (self.ends[k] - self.starts[k])
        # Clenshaw's recurrence, with a series of its own for each point.
        b1, b2 = np.zeros_like(x), np.zeros_like(x)
        for n in range(SERIES_TERMS - 1, 0, -1):
            b1, b2 = self.coefficients[k, n] + 2 * x * b1 - b2, b1
        return np.asarray(self.coefficients[k, 0] + x * b1 - b2)


def tabulate(gap: Sequence[Step], window: int, tick: float, model: LossModel) -> ScoreTable:
    """The score of a gap of 0 to `window` ticks, each `tick` seconds long."""
    length = max(window * tick, tick)
    exact = _score(gap, length, model, SERIES_TERMS)
    points = _points(gap, length, model)
    pieces = approximate(exact, points, tick)
    finer = _score(gap, length, model, SERIES_TERMS + 8)
    samples = np.unique(np.round(np.linspace(0, window, ERROR_SAMPLES))) * tick
    error = float(np.max(np.abs(finer(samples) - pieces(samples))))
    # From seconds to ticks.
    starts, ends = pieces.starts / tick, pieces.ends / tick
    return ScoreTable(starts, ends, pieces.coefficients, _running(pieces, length, (window + 1) * tick), error)


def most_probable(missing: Iterable[str], length: float, model: LossModel) -> float:
    """An upper bound of the score of gaps of that length with these components missing, without integrating."""
    result = 1.0
    for variable in missing:
        rate, happened = model.rate_of(variable), model.delays[variable].distribution(length)
        result *= rate * happened
        if model.posterior and result > 0:
            result /= rate * happened + 1 - happened
    return result


def approximate(f: Function, points: Floats, tick: float) -> Pieces:
    """`f` between the first and the last point, as series on stretches that are halved until they are precise.

    Values between two ticks are never looked up, so a short stretch without a tick inside becomes a straight line.
    """
    todo = np.stack([points[:-1], points[1:]], axis=1)
    done: list[tuple[Floats, Floats]] = []
    for halving in range(MAX_HALVINGS):
        middle, half = (todo[:, :1] + todo[:, 1:]) / 2, (todo[:, 1:] - todo[:, :1]) / 2
        series = f(middle + half * _NODES) @ _TO_SERIES.T
        wrong = np.abs(f(middle + half * _CHECKED) - series @ _AT_CHECKED.T).max(axis=1)
        fine = (wrong <= SERIES_TOLERANCE) | (halving == MAX_HALVINGS - 1)
        between = ~fine & (np.ceil(todo[:, 1] / tick) - np.floor(todo[:, 0] / tick) <= 1)
        ends = f(todo[between])
        series[between] = 0.0
        series[between, 0], series[between, 1] = ends.mean(axis=1), (ends[:, 1] - ends[:, 0]) / 2
        fine |= between
        done.append((todo[fine], series[fine]))
        rest = todo[~fine]
        if not len(rest):
            break
        centre = rest.mean(axis=1)
        todo = np.concatenate([np.stack([rest[:, 0], centre], 1), np.stack([centre, rest[:, 1]], 1)])
    stretches = np.concatenate([d for d, _ in done])
    order = np.argsort(stretches[:, 0])
    return Pieces(stretches[order, 0], stretches[order, 1], np.concatenate([s for _, s in done])[order])


def _score(gap: Sequence[Step], length: float, model: LossModel, rule: int) -> Function:
    """The score of a gap as a function of its length in seconds, integrated by a Gauss rule of `rule` points."""
    inner: Function | None = None
    before: list[Step] = []
    missing: list[Step] = []
    rates = 1.0
    for k, step in enumerate(gap):
        if step.negated:
            if inner is None:
                before.append(step)
            continue
        after = _until_positive(gap[k + 1 :])
        level = _level(inner, before if inner is None else (), step, after, model, length, rule)
        missing.append(step)
        rates *= model.rate_of(step.variable)
        last = not any(not s.negated for s in gap[k + 1 :])
        inner = level if last else approximate(level, _points(gap[: k + 1 + len(after)], length, model), length * 1e-12)
    if inner is None:
        return lambda t: _absent(gap, t, model)
    whole = inner

    def score(t: Floats) -> Floats:
        lost = rates * whole(t)
        if not model.posterior:
            return lost
        unseen = np.ones_like(t)
        for step in missing:
            happened = distribution(model.delays[step.variable], t)
            unseen *= model.rate_of(step.variable) * happened + 1 - happened
        return np.divide(lost, unseen, out=np.zeros_like(t), where=unseen > 0)

    return score


def _until_positive(steps: Sequence[Step]) -> list[Step]:
    found = []
    for step in steps:
        if not step.negated:
            break
        found.append(step)
    return found


def _level(
    inner: Function | None,
    before: Sequence[Step],
    step: Step,
    after: Sequence[Step],
    model: LossModel,
    length: float,
    rule: int,
) -> Function:
    """I_m: the integral over the time of one missing positive."""
    delay = model.delays[step.variable]
    if inner is None and not before and not after:
        return lambda t: distribution(delay, t)
    from_start = [x for d in (delay, *(model.delays[s.variable] for s in before)) for x in landmarks(d, length)]
    if isinstance(inner, Pieces):
        from_start += inner.starts.tolist()
    from_end = [x for s in after for x in landmarks(model.delays[s.variable], length)]
    nodes, weights = _GAUSS[rule]

    def integral(t: Floats) -> Floats:
        flat = t.ravel()
        result = np.zeros_like(flat)
        fixed, moving = _inside(from_start, length), _inside(from_end, length)
        chunk = max(1, 2_000_000 // ((len(fixed) + len(moving) + 2) * rule))
        for first in range(0, len(flat), chunk):
            end = flat[first : first + chunk, None]
            marks = np.concatenate([np.broadcast_to(fixed, (len(end), len(fixed))), end - moving], axis=1)
            bounds = np.sort(np.clip(np.concatenate([marks, np.zeros_like(end), end], axis=1), 0.0, end), axis=1)
            low, high = bounds[:, :-1, None], bounds[:, 1:, None]
            at = (low + high) / 2 + (high - low) / 2 * nodes
            weight = np.ones_like(at) if inner is None else inner(at)
            if before:
                weight = weight * _absent(before, at, model)
            if after:
                weight = weight * _absent(after, end[:, :, None] - at, model)
            mass = (density(delay, at) * weight * weights).sum(axis=2) * (high - low)[:, :, 0] / 2
            # Where the density has a pole, the distribution gives the probability of the first stretch.
            head = distribution(delay, bounds[:, 1]) * weight[:, 0, rule // 2]
            steep = (bounds[:, 1] > 0) & (bounds[:, 1] <= length * 2.0**-40)
            mass[:, 0] = np.where(steep, head, mass[:, 0])
            result[first : first + chunk] = mass.sum(axis=1)
        return result.reshape(t.shape)

    return integral


def _absent(negations: Iterable[Step], t: Floats, model: LossModel) -> Floats:
    """The probability that unobserved negations did not happen within t seconds."""
    result = np.ones_like(t)
    for step in negations:
        rate = model.rate_of(step.variable)
        if rate > 0:
            happened = distribution(model.delays[step.variable], t)
            result *= (1 - happened) / (rate * happened + 1 - happened)
    return result


def _inside(points: Iterable[float], length: float) -> Floats:
    return np.array(sorted({x for x in points if 0 < x < length}), dtype=np.float64)


def _points(gap: Sequence[Step], length: float, model: LossModel) -> Floats:
    """Points where the score of a gap may not be smooth: kinks of the delays, and their sums."""
    found = {0.0}
    for step in gap:
        own = kinks(model.delays[step.variable])
        sums = {a + b for a in found for b in (0.0, *own) if a + b < length}
        found = sums if len(sums) <= MAX_KINKS else found | {x for x in own if x < length}
    delays: list[Delay] = [model.delays[step.variable] for step in gap]
    marks = {x for d in delays for x in landmarks(d, length)[-24:] if 0 < x < length}
    return np.array(sorted(found | marks | {length}), dtype=np.float64)


def _running(pieces: Pieces, length: float, over: float) -> Floats:
    """Running maximum at the end of each of equal steps over `over`, which is slightly more than `length`.

    Between the ends of stretches and the extrema of a series, it only rises or only falls.
    """
    turns = [np.concatenate([pieces.starts, pieces.ends])]
    for start, end, series in zip(pieces.starts, pieces.ends, pieces.coefficients, strict=True):
        steps = np.diff(chebyshev.chebval(_CHECKED, series))
        if (steps > 1e-14).any() and (steps < -1e-14).any():
            roots = chebyshev.chebroots(np.trim_zeros(chebyshev.chebder(series), "b"))
            real = roots[np.abs(roots.imag) < 1e-6].real
            turns.append((start + end) / 2 + (end - start) / 2 * real[np.abs(real) <= 1])
    at = np.sort(np.concatenate(turns))
    highest = np.maximum.accumulate(pieces(at))
    limits = np.minimum(length, over * (np.arange(BUCKETS) + 1) / BUCKETS)
    before = highest[np.searchsorted(at, limits, side="right") - 1]
    return np.asarray(np.maximum.accumulate(np.maximum(before, pieces(limits))))
