"""The plan of lossy streams: states with arrival queues, and edges with tabulated scores (paper 004, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.loss import LossModel
from augury.plan.components import Component, Computed
from augury.plan.family import FamilyName

Floats = npt.NDArray[np.float64]

BUCKETS = 256
"""Steps per window in the table of running maxima."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """The scoring function H of a gap, by its length in ticks from 0 to the window, and its running maximum G.

    H is a Chebyshev series on each stretch from `starts[k]` to the next; `running[b]` is the greatest score of any gap
    up to the end of the b-th of equal steps. `error` is how far H was found to be from a finer integration.
    """

    starts: Floats
    ends: Floats
    coefficients: Floats
    running: Floats
    error: float

    @property
    def peak(self) -> float:
        return float(self.running[-1])

    def __call__(self, ticks: float) -> float:
        """H at one length."""
        k = max(0, int(np.searchsorted(self.starts, ticks, side="right")) - 1)
        x = (2 * ticks - self.starts[k] - self.ends[k]) / (self.ends[k] - self.starts[k])
        return float(np.polynomial.chebyshev.chebval(x, self.coefficients[k]))


@dataclass(frozen=True, slots=True)
class LossyEdge:
    """An edge from one observed component to the next, from before the first (-1), or to after the last.

    `missing` and `absent` are the components in the gap; no table where there are none, since the score is 1 then.
    `peak` is the best score of the edge, or a bound of it if that is already too low.
    """

    source: int
    target: int
    missing: tuple[str, ...]
    absent: tuple[str, ...]
    table: ScoreTable | None
    peak: float


@dataclass(frozen=True, slots=True)
class LossyPlan:
    """Arrival queues for the components of a sequence, and the edges between them whose scores can reach the threshold.

    `positive` and `negated` are in pattern order, `order` is all of them; `conjuncts` are those that one event alone
    does not decide. `hash_by` are attributes that all events of a match share. `watched` are the positive components of
    which no event may have been observed where a match has one missing. `best` is the most that the edges from a
    component on can leave of a score.
    """

    query: BoundQuery
    model: LossModel
    positive: tuple[Component, ...]
    negated: tuple[Component, ...]
    order: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]
    computed: tuple[Computed, ...]
    hash_by: tuple[str, ...]
    watched: tuple[str, ...]
    edges: tuple[LossyEdge, ...]
    removed: tuple[LossyEdge, ...]
    best: tuple[float, ...]
    family: ClassVar[FamilyName] = "lossy"

    def edge(self, source: int, target: int) -> LossyEdge | None:
        return next((e for e in self.edges if (e.source, e.target) == (source, target)), None)

    @property
    def error(self) -> float:
        """The largest error of the tables."""
        return max((e.table.error for e in self.edges if e.table is not None), default=0.0)
