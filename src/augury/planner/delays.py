"""Delay distributions evaluated over arrays, and the points where their densities are not smooth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from augury.loss import Delay, Empirical, Exponential, Gamma, Normal, Uniform, importing_scipy
from augury.plan.lossy import Floats


def density(delay: Delay, t: Floats) -> Floats:
    """The density at each of `t`, none of them negative.

    >>> density(Uniform(0, 4), np.array([1.0, 5.0])).tolist()
    [0.25, 0.0]
    """
    match delay:
        case Exponential(mean):
            return np.asarray(np.exp(-t / mean) / mean)
        case Uniform(low, high):
            return np.where((t >= low) & (t <= high), 1 / (high - low), 0.0)
        case Normal(mean, stddev):
            z = (t - mean) / stddev
            above = 0.5 * math.erfc(-mean / (stddev * math.sqrt(2)))
            return np.asarray(np.exp(-z * z / 2) / (stddev * math.sqrt(2 * math.pi)) / above)
        case Gamma(shape, scale):
            x = np.maximum(t, 1e-300) / scale
            log = (shape - 1) * np.log(x) - x - math.lgamma(shape)
            return np.where(t > 0, np.exp(log) / scale, 0.0)
        case Empirical(edges, counts):
            heights = np.array(counts) / math.fsum(counts) / np.diff(edges)
            k = np.searchsorted(edges, t, side="right") - 1
            inside = (k >= 0) & (k < len(counts))
            return np.where(inside, heights[np.clip(k, 0, len(counts) - 1)], 0.0)
        case _:
            return _each(delay.density, t)


def distribution(delay: Delay, t: Floats) -> Floats:
    """The probability of a delay up to each of `t`, none of them negative."""
    match delay:
        case Exponential(mean):
            return np.asarray(-np.expm1(-t / mean))
        case Uniform(low, high):
            return np.clip((t - low) / (high - low), 0.0, 1.0)
        case Normal(mean, stddev):
            with importing_scipy():
                from scipy.special import ndtr

            below = ndtr(-mean / stddev)
            return np.asarray((ndtr((t - mean) / stddev) - below) / (1 - below))
        case Gamma(shape, scale):
            with importing_scipy():
                from scipy.special import gammainc

            return np.asarray(gammainc(shape, t / scale))
        case Empirical(edges, counts):
            reached = np.concatenate([[0.0], np.cumsum(counts)]) / math.fsum(counts)
            return np.interp(t, edges, reached)
        case _:
            return _each(delay.distribution, t)


def kinks(delay: Delay) -> list[float]:
    """Points where the density is not smooth."""
    match delay:
        case Uniform(low, high):
            return [low, high]
        case Empirical(edges):
            return list(edges)
        case _:
            return []


def landmarks(delay: Delay, length: float) -> list[float]:
    """Points between which the density, and the probability of no event so far, are close to polynomials."""
    near_zero = [length * 2.0**-k for k in range(1, 45)]
    match delay:
        case Exponential(mean):
            return near_zero + [mean * k for k in range(1, 45)]
        case Uniform(low, high):
            # The probability of no event so far drops to zero at the upper end.
            return [low, high, *(high - (high - low) * 2.0**-k for k in range(1, 20))]
        case Normal(mean, stddev):
            return [mean + stddev * k / 2 for k in range(-18, 19)]
        case Gamma(shape, scale):
            mean, stddev = shape * scale, math.sqrt(shape) * scale
            return near_zero + [mean + stddev * k / 2 for k in range(-18, 60)]
        case Empirical(edges):
            *_, low, high = edges
            return [*edges, *(high - (high - low) * 2.0**-k for k in range(1, 20))]
        case _:
            return near_zero + [length * k / 64 for k in range(1, 64)]


def _each(f: Any, t: Floats) -> Floats:
    """The values of a delay that the caller defined, computed one at a time."""
    return np.array([f(float(x)) for x in t.ravel()], dtype=np.float64).reshape(t.shape)
