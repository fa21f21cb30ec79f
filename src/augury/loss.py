"""How a lossy stream loses events, and how long the events of a pattern take to follow one another."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from scipy import special


class Delay(Protocol):
    """The distribution of the seconds between a component and the positive component before it."""

    def density(self, t: float) -> float: ...

    def distribution(self, t: float) -> float: ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """Memoryless delays.

    >>> Exponential(mean=10.0).distribution(10.0) == 1 - math.exp(-1)
    True
    """

    mean: float

    def __post_init__(self) -> None:
        _positive(mean=self.mean)

    def density(self, t: float) -> float:
        return math.exp(-t / self.mean) / self.mean if t >= 0 else 0.0

    def distribution(self, t: float) -> float:
        return 1 - math.exp(-t / self.mean) if t > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Uniform:
    """Delays spread evenly from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < math.inf:
            raise ValueError(f"a uniform delay needs 0 <= low < high, not {self.low} and {self.high}")

    def density(self, t: float) -> float:
        return 1 / (self.high - self.low) if self.low <= t <= self.high else 0.0

    def distribution(self, t: float) -> float:
        return min(1.0, max(0.0, (t - self.low) / (self.high - self.low)))


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal delays, cut off at zero: an event does not come before the one it follows."""

    mean: float
    stddev: float

    def __post_init__(self) -> None:
        _positive(stddev=self.stddev)
        if not math.isfinite(self.mean) or 1 - self._phi(0.0) <= 0:
            raise ValueError(f"a normal delay with mean {self.mean} and stddev {self.stddev} is never positive")

    def _phi(self, t: float) -> float:
        return 0.5 * (1 + math.erf((t - self.mean) / (self.stddev * math.sqrt(2))))

    def density(self, t: float) -> float:
        if t < 0:
            return 0.0
        z = (t - self.mean) / self.stddev
        return math.exp(-z * z / 2) / (self.stddev * math.sqrt(2 * math.pi)) / (1 - self._phi(0.0))

    def distribution(self, t: float) -> float:
        return (self._phi(t) - self._phi(0.0)) / (1 - self._phi(0.0)) if t > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Gamma:
    """Sums of memoryless stages."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        _positive(shape=self.shape, scale=self.scale)

    def density(self, t: float) -> float:
        if t <= 0:
            return 0.0
        x = t / self.scale
        return math.exp((self.shape - 1) * math.log(x) - x - math.lgamma(self.shape)) / self.scale

    def distribution(self, t: float) -> float:
        return float(special.gammainc(self.shape, t / self.scale)) if t > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Empirical:
    """A histogram of observed delays: `counts[k]` of them lie between `edges[k]` and `edges[k + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.edges) != len(self.counts) + 1 or sum(self.counts) <= 0 or min(self.counts) < 0:
            raise ValueError("a histogram needs one more edge than counts, and a count above zero")
        if self.edges[0] < 0 or any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise ValueError("the edges of a histogram of delays increase and do not go below zero")

    def density(self, t: float) -> float:
        for low, high, count in zip(self.edges, self.edges[1:], self.counts, strict=False):
            if low <= t < high:
                return count / sum(self.counts) / (high - low)
        return 0.0

    def distribution(self, t: float) -> float:
        covered = sum(
            count * min(1.0, max(0.0, (t - low) / (high - low)))
            for low, high, count in zip(self.edges, self.edges[1:], self.counts, strict=False)
        )
        return covered / sum(self.counts)


@dataclass(frozen=True, slots=True)
class LossModel:
    """Loss rate and delay of each component by variable; `rate` holds for those not named in `rates`.

    >>> LossModel(rate=0.1, rates={"z": 0.0}).rate_of("x")
    0.1
    """

    rate: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    delays: Mapping[str, Delay] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rate in (self.rate, *self.rates.values()):
            if not 0 <= rate <= 1:
                raise ValueError(f"a loss rate lies between 0 and 1, not {rate}")

    def rate_of(self, variable: str) -> float:
        return self.rates.get(variable, self.rate)


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number, not {value}")
