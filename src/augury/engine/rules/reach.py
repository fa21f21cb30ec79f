"""How far behind the watermark an event may still matter to a rule, so that its state can be rebuilt from events."""

from __future__ import annotations

from augury.ir.branches import branches
from augury.ir.query import BoundQuery, TimeWindow


def reach_of(query: BoundQuery) -> int:
    """How many ticks before the watermark an event can still make a difference; 0 without a WITHIN in time.

    A match that is not certain yet began less than a window, and the silence it waits for, before the watermark. A NOT
    that looks back from such a match reaches as far again, if the match may end long before it is certain.
    """
    if not isinstance(query.window, TimeWindow):
        return 0
    window, silence = query.window.ticks, query.longest_silence or 0
    return window + silence + (max(window, silence) if _looks_back_and_ahead(query) else 0)


def _looks_back_and_ahead(query: BoundQuery) -> bool:
    """Whether a NOT may look back beyond the first event of a match that waits for what a NOT looks ahead for."""
    if any(variable.negated and variable.group is not None for variable in query.variables):
        # A NOT inside a group is not part of the branches below, which leave out rounds.
        return True
    return any(
        any(not part.after for part in branch.absent) and any(not part.before for part in branch.absent)
        for branch in branches(query.pattern)
    )
