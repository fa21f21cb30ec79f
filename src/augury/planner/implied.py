"""Comparisons that others decide: with a < b and b < c there is no need to ask whether a < c."""

from __future__ import annotations

from collections.abc import Sequence

from augury.ir.comparisons import sides
from augury.ir.predicate import Conjunct, Element, Expr, Ref, walk
from augury.schema import Kind


def without_implied(tested: Sequence[Conjunct], known: Sequence[Conjunct]) -> tuple[Conjunct, ...]:
    """What is left of `tested` when none follows from the others and from those `known` to hold; earlier ones go first.

    Only floats are compared, as in the conjuncts themselves: an integer may be rounded in one comparison and not in
    another. Where all of a chain hold, no value in it is null.
    """
    steps = _Steps([_ascending(j) for j in (*tested, *known)])
    return tuple(j for number, j in enumerate(tested) if not steps.drop_if_implied(number))


MAX_STEPS = 200
"""Comparisons that are followed for each conjunct; one that would follow from more of them is tested after all."""


class _Steps:
    """Comparisons as steps upwards between numbered sides; those that are implied by others are dropped."""

    def __init__(self, found: Sequence[tuple[Expr, Expr, bool] | None]) -> None:
        numbers: dict[Expr, int] = {}
        self.steps = [
            None
            if step is None
            else (numbers.setdefault(step[0], len(numbers)), numbers.setdefault(step[1], len(numbers)), step[2])
            for step in found
        ]
        self.between: dict[tuple[int, int], dict[int, bool]] = {}
        """By their two sides the steps that are left, and whether they are strict."""
        self.onwards: dict[int, dict[int, None]] = {}
        """The sides that a step leads to and that others lead on from."""
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
        """Whether steps lead from `low` to `high`, one of them strict if that is asked."""
        reached, pending, left = {(low, False)}, [(low, False)], MAX_STEPS
        while pending and left > 0:
            at, over = pending.pop()
            last = self.between.get((at, high), {}).values()
            if last and (over or not strict or any(last)):
                return True
            for further in self.onwards.get(at, ()):
                left -= 1
                kinds = self.between[at, further].values()
                # The strict one leads wherever the other does.
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
