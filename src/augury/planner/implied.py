"""Removal of implied comparisons: with a < b and b < c, a < c need not be tested."""

from __future__ import annotations

from collections.abc import Sequence

from augury.ir.comparisons import sides
from augury.ir.predicate import Conjunct, Element, Expr, Ref, walk
from augury.schema import Kind


def without_implied(tested: Sequence[Conjunct], known: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
    """The conjuncts of `tested` that follow neither from others nor from those `known` to hold; earlier ones go first.

    Only comparisons of floats imply one another, since an integer may be rounded in one comparison and not in another.
    Where a whole chain of comparisons holds, no value in it is null.
    """
    steps = _Steps([_ascending(j) for j in (*tested, *known)])
    return tuple(j for number, j in enumerate(tested) if not steps.drop_if_implied(number))


MAX_STEPS = 200
"""Comparisons followed for one conjunct; one that would follow only from more of them is tested."""


class _Steps:
    """Comparisons as edges from the lower to the greater side; implied ones are dropped."""

    def __init__(self, found: Sequence[tuple[Expr, Expr, bool] | None]) -> None:
        numbers: dict[Expr, int] = {}
        self.steps = [
            None
            if step is None
            else (numbers.setdefault(step[0], len(numbers)), numbers.setdefault(step[1], len(numbers)), step[2])
            for step in found
        ]
        self.between: dict[tuple[int, int], dict[int, bool]] = {}
        """The remaining edges by their two sides, and whether they are strict."""
        self.onwards: dict[int, dict[int, None]] = {}
        """The sides that an edge leads to and that other edges start from."""
        lower = {step[0] for step in self.steps if step is not None}
        for number, step in enumerate(self.steps):
            if step is not None:
                low, high, strict = step
                self.between.setdefault((low, high), {})[number] = strict
                if high in lower:
                    self.onwards.setdefault(low, {})[high] = None

    def drop_if_implied(self, number: int) -> bool:
        step = self.steps[number]
        if step is None:
            return False
        low, high, strict = step
        del self.between[low, high][number]
        if self._reaches(low, high, strict):
            return True
        self.between[low, high][number] = strict
        return False

    def _reaches(self, low: int, high: int, strict: bool) -> bool:
        """Whether a path leads from `low` to `high`, with a strict edge if `strict`."""
        reached, pending, left = {(low, False)}, [(low, False)], MAX_STEPS
        while pending and left > 0:
            at, over = pending.pop()
            last = self.between.get((at, high), {}).values()
            if last and (over or not strict or any(last)):
                return True
            for further in self.onwards.get(at, ()):
                left -= 1
                kinds = self.between[at, further].values()
                # The strict edge leads wherever the other one does.
                beyond = (further, over or any(kinds))
                if kinds and beyond not in reached:
                    reached.add(beyond)
                    pending.append(beyond)
                if left <= 0:
                    break
        return False


def _ascending(j: Conjunct) -> tuple[Expr, Expr, bool] | None:
    """The sides of a comparison of floats of single events, the lower one first, and whether it is strict."""
    found = sides(j)
    if found is None or not all(e.element is Element.SINGLE for e in walk(j.expr) if isinstance(e, Ref)):
        return None
    low, high, _ = found
    return found if low.type.kind is high.type.kind is Kind.FLOAT else None
