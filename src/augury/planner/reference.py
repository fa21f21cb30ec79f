"""The reference evaluator, which runs every query of the language."""

from __future__ import annotations

from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Repeat, Seq
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode
from augury.plan import ReferencePlan
from augury.planner.bids import Bid, Rank
from augury.planner.hints import Hints
from augury.planner.supports import RESULTS, SELECTED_OUTPUTS, STRATEGIES, Supports

SUPPORTS = Supports(
    strategies=STRATEGIES,
    outputs=SELECTED_OUTPUTS | {OutputMode.COVER},
    operators=frozenset({Event, Seq, AllOf, AnyOf, Repeat, Group, OptionalPart, Absent}),
    windows=frozenset({TimeWindow, CountWindow}),
    clauses=RESULTS
    | {"threshold", "steps", "reluctant", "skip_to", "every", "once", "since", "silence", "each", "until", "nth"},
)


def build_reference(query: BoundQuery, _hints: Hints) -> ReferencePlan:
    """A plan that is the query itself."""
    return ReferencePlan(query)


def bid_reference(_plan: ReferencePlan, _hints: Hints) -> Bid:
    """A bid that wins only when nothing else can run the query."""
    return Bid(rank=Rank.INTERPRETED)
