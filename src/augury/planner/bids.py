"""How the plans of different families are compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Rank(IntEnum):
    """Groups of bids: a plan of an earlier group is chosen before any of a later one."""

    LATEST_ONLY = 0
    """Finds the latest matches alone, where the others find all of them first."""
    COUNT_ONLY = 1
    """Counts without enumerating."""
    NO_ORDER = 2
    """There is only one order, so the plan with the least to prepare is taken."""
    BY_COST = 3
    """Compared by what it is expected to do."""
    UNESTIMATED = 4
    """No estimate; compiled."""
    INTERPRETED = 5
    """Never fast."""


@dataclass(frozen=True, slots=True)
class Bid:
    """What a plan is expected to cost in operations a window, None if nobody can tell, and its rank.

    A rough estimate has to be `margin` times cheaper than another. Of two that cost the same the one with the smaller
    `tie` is chosen. `wins` says why it is chosen though another costs no more, `yields` why it is not though it costs
    no more.
    """

    cost: float | None = None
    rank: Rank = Rank.UNESTIMATED
    margin: float = 1.0
    tie: int = 0
    wins: str = ""
    yields: str = ""

    @property
    def key(self) -> tuple[int, float, int]:
        """Sorts bids, the best first."""
        return self.rank, 0.0 if self.rank is not Rank.BY_COST else self.margin * (self.cost or 0.0), self.tie


def why_not(loser: Bid, winner: Bid, name: str) -> str:
    """Why a plan is not chosen, when the winner is called `name`."""
    if loser.cost is None or winner.cost is None:
        return f"`{name}` is expected to be faster"
    tied = winner.wins or loser.yields
    if tied and loser.cost == winner.cost and winner.rank is not Rank.NO_ORDER:
        return tied
    estimate = f"estimated {loser.cost:.3g} against {winner.cost:.3g} operations a window"
    if loser.cost > winner.cost:
        return f"dearer: {estimate}"
    return f"{'no order to choose' if winner.rank is Rank.NO_ORDER else 'not cheap enough'}: {estimate}"
