"""Models of lossy streams: loss rates, and distributions of the delays between the events of a pattern."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Protocol

from augury.errors import HostError, names


@contextmanager
def importing_scipy() -> Iterator[None]:
    """Wraps an import of SciPy, which is an extra: says how to install it where it is missing."""
    try:
        yield
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] != "scipy":
            raise
        raise HostError("A518", "this loss model needs SciPy", "pip install 'augury[lossy]'") from e


class Delay(Protocol):
    """The distribution of the seconds between a component and the positive component before it."""

    def density(self, t: float) -> float: ...

    def distribution(self, t: float) -> float: ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """Exponentially distributed delays.

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
    """Gamma distributed delays: for a whole `shape`, sums of that many exponential stages of mean `scale`."""

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
        # SciPy takes longer to import than everything else together, and only this needs it.
        with importing_scipy():
            from scipy.special import gammainc

        return float(gammainc(self.shape, t / self.scale)) if t > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Empirical:
    """A histogram of observed delays: `counts[k]` of them lie between `edges[k]` and `edges[k + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (*self.edges, *self.counts))):
            raise ValueError("the edges and counts of a histogram are numbers")
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


PRECISION = 1e-9
"""Tolerance of scores: one that falls short of the threshold by less than this reaches it."""

DIGITS = 12
"""Decimals of a reported score; what comes after them is rounding error."""

MAX_INTEGER = 2**1000
"""Largest integer taken as a loss rate or a delay: larger ones may not fit a float."""

SCORINGS = ("paper", "posterior")
"""A score says that a missing component happened and was lost, or that it happened, given that it was not seen."""

DELAYS: Mapping[str, Callable[..., Delay]] = {
    "exponential": Exponential,
    "uniform": Uniform,
    "normal": Normal,
    "gamma": Gamma,
    "empirical": Empirical,
}
"""The delays that have a name in JSON."""


@dataclass(frozen=True, slots=True)
class LossModel:
    """Loss rate and delay of each component by variable, and what a score says of a missing one.

    `rates` are by variable; `values` by the value of an attribute that the query demands of the component, such as its
    reader; `rate` holds for all others. A component may be missing if its rate is above zero; the last one of the
    pattern only if it also has a delay.

    >>> LossModel(rate=0.1, rates={"z": 0.0}).rate_of("x")
    0.1
    """

    rate: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    delays: Mapping[str, Delay] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    scoring: str = "paper"

    def __post_init__(self) -> None:
        by_value = (rate for rates in self.values.values() for rate in rates.values())
        for rate in (self.rate, *self.rates.values(), *by_value):
            if not 0 <= rate <= 1:
                raise ValueError(f"a loss rate lies between 0 and 1, not {rate}")
        if self.scoring not in SCORINGS:
            raise ValueError(f"the scoring of a loss rate is one of {names(SCORINGS)}, not {self.scoring!r}")

    @property
    def posterior(self) -> bool:
        return self.scoring == "posterior"

    def rate_of(self, variable: str) -> float:
        return self.rates.get(variable, self.rate)

    @classmethod
    def fit(cls, history: Any, query: str | os.PathLike[str], **options: Any) -> LossModel:
        """Delays and loss rates as `history` shows them, a stream of events or the `Matches` of a query over one.

        See `augury.engine.loss.fitting.fit_loss` for the options.
        """
        from augury.engine.loss.fitting import fit_loss

        return fit_loss(history, query, **options)

    def to_json(self) -> dict[str, Any]:
        """The model as JSON can hold it; a delay of one's own cannot be.

        >>> LossModel(0.1, {"z": 0.0}, {"y": Exponential(3600.0)}).to_json()
        {'rate': 0.1, 'rates': {'z': 0.0}, 'delays': {'y': {'exponential': {'mean': 3600.0}}}}
        """
        stated: dict[str, Any] = {
            "rate": self.rate,
            "rates": dict(self.rates),
            "delays": {variable: _stated(variable, delay) for variable, delay in self.delays.items()},
        }
        if self.values:
            stated["values"] = {attribute: dict(rates) for attribute, rates in self.values.items()}
        return stated if self.scoring == "paper" else {**stated, "scoring": self.scoring}

    @classmethod
    def from_json(cls, stated: object) -> LossModel:
        """The model that `to_json` stated; what is left out is not lost, and has no delay.

        >>> LossModel.from_json({"rate": 0.1, "delays": {"y": {"uniform": {"low": 0, "high": 5}}}}).delays
        {'y': Uniform(low=0, high=5)}
        """
        parts = _object(stated, "a loss model", ("rate", "rates", "delays", "values", "scoring"))
        rates = {v: _number(rate, f"the rate of `{v}`") for v, rate in _object(parts.get("rates", {}), "rates").items()}
        delays = {v: _delay(v, delay) for v, delay in _object(parts.get("delays", {}), "delays").items()}
        values = {
            attribute: {
                value: _number(rate, f"the rate of `{value}`")
                for value, rate in _object(of, f"the rates by `{attribute}`").items()
            }
            for attribute, of in _object(parts.get("values", {}), "values").items()
        }
        try:
            return cls(_number(parts.get("rate", 0.0), "rate"), rates, delays, values, parts.get("scoring", "paper"))
        except ValueError as e:
            raise _malformed(str(e)) from e


def _stated(variable: str, delay: Delay) -> dict[str, Any]:
    name = next((n for n, model in DELAYS.items() if model is type(delay)), None)
    if name is None:
        raise HostError(
            "A553",
            f"the delay of `{variable}`, a {type(delay).__name__}, cannot be saved",
            f"use one of {', '.join(DELAYS)}",
        )
    assert isinstance(delay, Exponential | Uniform | Normal | Gamma | Empirical)
    return {name: asdict(delay)}


def _delay(variable: str, stated: object) -> Delay:
    what = f"the delay of `{variable}`"
    named = _object(stated, what, DELAYS)
    if len(named) != 1:
        raise _malformed(f"{what} has to be one of {names(DELAYS)}")
    ((name, parameters),) = named.items()
    model: Any = DELAYS[name]
    needed = [f.name for f in fields(model)]
    given = _object(parameters, f"the {name} delay of `{variable}`", needed)
    missing = [n for n in needed if n not in given]
    if missing:
        raise _malformed(f"the {name} delay of `{variable}` lacks {names(missing)}")
    lists = model is Empirical
    values = {n: (_numbers if lists else _number)(v, f"`{n}` of the delay of `{variable}`") for n, v in given.items()}
    try:
        delay: Delay = model(**values)
    except ValueError as e:
        raise _malformed(f"{what}: {e}") from e
    return delay


def _object(stated: object, what: str, known: Collection[str] | None = None) -> Mapping[str, Any]:
    if not isinstance(stated, Mapping):
        raise _malformed(f"{what} has to be an object, not {stated!r}")
    unknown = [] if known is None else [key for key in stated if key not in known]
    if unknown:
        raise _malformed(f"{what} has no {names(unknown)}, only {names(known or ())}")
    return stated


def _number(stated: object, what: str) -> float:
    if isinstance(stated, bool) or not isinstance(stated, int | float):
        raise _malformed(f"{what} has to be a number, not {stated!r}")
    if isinstance(stated, int) and abs(stated) > MAX_INTEGER:
        raise _malformed(f"{what} is larger than any number")
    return stated


def _numbers(stated: object, what: str) -> tuple[float, ...]:
    if not isinstance(stated, list | tuple):
        raise _malformed(f"{what} has to be a list of numbers, not {stated!r}")
    return tuple(_number(n, what) for n in stated)


def _malformed(reason: str) -> HostError:
    return HostError(
        "A552",
        f"this is not a loss model: {reason}",
        'write {"rate": 0.1, "rates": {"z": 0}, "delays": {"y": {"exponential": {"mean": 3600}}}}',
    )


def _positive(**values: float) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number, not {value}")
