"""Warnings about parts of a query that can never matter, whatever the events: known as soon as it is compiled."""

from __future__ import annotations

from collections.abc import Iterator

from augury.ir.branches import MAX_BRANCHES, AbsentPart, Branch, branch_count, branches, in_order
from augury.ir.query import BoundQuery
from augury.ir.terms import Strategy
from augury.ir.text import part_text
from augury.ir.unbind import unbind_pattern
from augury.printable import printable

CONTIGUOUS = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)


def idle_parts(query: BoundQuery) -> tuple[str, ...]:
    """Warnings about a NOT between adjacent events, and about a strategy for a gap before the first event."""
    if not query.strategies & set(CONTIGUOUS) and not query.steps:
        return ()
    if branch_count(query.pattern) > MAX_BRANCHES:
        return ()
    found = [b for b in branches(query.pattern) if b.components]
    return tuple(printable(text) for text in (*_without_place(query, found), *_without_gap(query, found)))


def _without_place(query: BoundQuery, found: list[Branch]) -> Iterator[str]:
    """Warnings about negated parts between two events that are next to each other in every branch."""
    if not all(branch.by_runs for branch in found):
        return
    for part in {part.body: part for branch in found for part in branch.absent}.values():
        behind = [_next(branch, p) for branch in found for p in branch.absent if p.body == part.body]
        if all(v is not None and query.strategy_of(v) in CONTIGUOUS for v in behind):
            v = behind[0]
            assert v is not None
            body = part_text(unbind_pattern(part.body))
            yield f"`NOT({body})` can never matter: {query.strategy_of(v)} leaves no place for it before `{v}`"


def _next(branch: Branch, part: AbsentPart) -> str | None:
    """The variable after a negated part that lies between two others; None for one that lies elsewhere."""
    if not part.after or not part.before or part.since is not None or part.silence is not None:
        return None
    return next(v for v in in_order(branch.variables, branch.order) if v in part.before)


def _without_gap(query: BoundQuery, found: list[Branch]) -> Iterator[str]:
    """Warnings about strategies for the gap before the first event of every match, where there is none."""
    first = {in_order(branch.variables, branch.order)[0] for branch in found}
    for step in query.steps:
        if not step.inside and first == {step.variable}:
            yield f"`{step.strategy}({step.variable})` says nothing: no match has an event before `{step.variable}`"
