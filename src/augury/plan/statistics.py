"""Statistics of a stream for the planner, and where they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from augury.arguments import shown
from augury.errors import HostError, suggestion

ASSUMED = "assumed"
"""The source of statistics that were neither given nor measured."""

GIVEN = "given"
"""The source of statistics that the caller gave."""


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """Rates and selectivities of one query over one stream; what is missing is assumed.

    `rates` are events per tick by variable, after the predicates on one event alone; `total` is the rate of all events
    and `ticks` the length of the stream, 0 where they are not known. `selectivities` are by the text of a conjunct, the
    share of candidate tuples for which it is true; that of `[attr]` is the share of pairs of events that agree on it.
    Where lists are correlated, `bounded` is the share of tuples that their leading coefficients do not rule out.
    `source` says where they come from.

    >>> StreamStatistics().source
    'assumed'
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    total: float = 0.0
    ticks: float = 0.0
    source: str = ASSUMED
    bounded: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The statistics as `from_json` reads them."""
        return {
            "rates": dict(self.rates),
            "selectivities": dict(self.selectivities),
            "total": self.total,
            "ticks": self.ticks,
            "source": self.source,
            "bounded": dict(self.bounded),
        }

    @classmethod
    def from_json(cls, stated: object) -> StreamStatistics:
        """Statistics that `to_json` wrote, checked.

        >>> StreamStatistics.from_json(StreamStatistics(rates={"a": 0.5}, total=2.0).to_json()).total
        2.0
        """
        known = {"rates", "selectivities", "total", "ticks", "source", "bounded"}
        if not isinstance(stated, Mapping) or stated.keys() != known or not isinstance(stated["source"], str):
            raise unusable_statistics("they are not what was measured of a stream")
        rates, selectivities, bounded = (_numbers(key, stated[key]) for key in ("rates", "selectivities", "bounded"))
        totals = _numbers("rates", {key: stated[key] for key in ("total", "ticks")})
        return cls(rates, selectivities, totals["total"], totals["ticks"], stated["source"], bounded)


@dataclass(frozen=True, slots=True)
class GivenStatistics:
    """Statistics from a caller: events per second by type or variable, selectivities by the text of a condition.

    >>> GivenStatistics.of({"rates": {"A": 3}, "selectivities": {"a.x < b.x": 0.1}})
    GivenStatistics(rates={'A': 3.0}, selectivities={'a.x < b.x': 0.1})
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, stated: Mapping[str, Any]) -> GivenStatistics:
        """Statistics as mappings, checked."""
        if not isinstance(stated, Mapping):
            raise unusable_statistics(f"they are a {type(stated).__name__}, not a mapping", EXAMPLE)
        for key in stated:
            if key not in _LIMITS:
                raise unusable_statistics(f"there is no `{key}` among them", suggestion(str(key), _LIMITS))
        return cls(**{key: _numbers(key, values) for key, values in stated.items()})

    def to_json(self) -> dict[str, dict[str, float]]:
        """The statistics as `of` reads them."""
        return {"rates": dict(self.rates), "selectivities": dict(self.selectivities)}


Statistics: TypeAlias = "GivenStatistics | StreamStatistics"
"""Statistics in either form."""

EXAMPLE = 'write {"rates": {"A": 3.0}, "selectivities": {"a.x < b.x": 0.1}}, rates in events per second'

_LIMITS = {"rates": math.inf, "selectivities": 1.0}

_MEASURED = _LIMITS | {"bounded": 1.0}


def _numbers(key: str, values: Any) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise unusable_statistics(f"`{key}` is a {type(values).__name__}, not a mapping", EXAMPLE)
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
        if not number or not 0 <= value <= _MEASURED[key]:
            wanted = "a number of events per second" if key == "rates" else "a share between 0 and 1"
            raise unusable_statistics(f"`{name}` of `{key}` is {shown(value)}, not {wanted}")
    return {str(name): float(value) for name, value in values.items()}


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:
        return False  # an integer that no float can hold


def unusable_statistics(reason: str, help: str = "") -> HostError:
    """The error for statistics of the wrong form, or that do not fit the query."""
    return HostError("A528", f"statistics that cannot be used: {reason}", help)
