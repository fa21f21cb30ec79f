"""Bids: how plans of different families are compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """Groups of bids: a plan of an earlier group is chosen before any of a later one."""

    LATEST_ONLY = 0
    """Finds only the latest matches, where other plans enumerate all matches first."""
    COUNT_ONLY = 1
    """Counts matches without enumerating them."""
    NO_ORDER = 2
    """The pattern has only one evaluation order; the plan with the least preparation is taken."""
    BY_COST = 3
    """Compared by estimated cost."""
    UNESTIMATED = 4
    """Compiled, but without an estimate."""
    INTERPRETED = 5
    """Runs in an interpreter, for queries that no compiled plan can run."""


@dataclass(frozen=True, slots=True)
class Bid:
    """The estimated cost of a plan in operations a window, None if it cannot be estimated, and its rank.

    A rough estimate has to be `margin` times cheaper than another one. Between equal costs the smaller `tie` wins.
    `wins` says why the plan is chosen over one of the same cost, `yields` why it loses to one.
    """

    cost: float | None = None
    rank: Rank = Rank.UNESTIMATED
    margin: float = 1.0
    tie: int = 0
    wins: str = ""
    yields: str = ""

    @property
    def key(self) -> tuple[int, float, int]:
        """Sort key of bids, the best first."""
        return self.rank, 0.0 if self.rank is not Rank.BY_COST else self.margin * (self.cost or 0.0), self.tie


def why_not(loser: Bid, winner: Bid, name: str) -> str:
    """The reason why the plan of `loser` is not chosen, where `name` is the family of the winner."""
    if loser.cost is None or winner.cost is None:
        return f"`{name}` is expected to be faster"
    tied = winner.wins or loser.yields
    if tied and loser.cost == winner.cost and winner.rank is not Rank.NO_ORDER:
        return tied
    estimate = f"estimated {loser.cost:.3g} against {winner.cost:.3g} operations a window"
    if loser.cost > winner.cost:
        return f"dearer: {estimate}"
    return f"{'no order to choose' if winner.rank is Rank.NO_ORDER else 'not cheap enough'}: {estimate}"
