"""What the planner knows of a stream, and from where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ASSUMED = "assumed"
"""The source of statistics that nobody gave and nothing measured."""


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """Rates and selectivities of one query over one stream; what is missing is assumed.

    `rates` are events per tick by variable, after the predicates on one event alone; `total` is the rate of all events.
    `selectivities` are by the text of a conjunct, the share of candidate tuples for which it is true. `source` says
    where they come from.

    >>> StreamStatistics().source
    'assumed'
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    selectivities: Mapping[str, float] = field(default_factory=dict)
    total: float = 0.0
    source: str = ASSUMED
