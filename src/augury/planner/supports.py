"""Declarations of what a family can evaluate; any other query is refused before planning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, assert_never

from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Pattern, Repeat, Seq
from augury.ir.predicate import Nth, Ref, walk
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode, Strategy
from augury.plan import FamilyName, Unsupported
from augury.source import Span

HintName: TypeAlias = Literal["order", "negation", "statistics"]
"""Hints that a caller may give; named like the fields of `Hints`."""

Feature: TypeAlias = "Strategy | OutputMode | type | str"
"""A strategy, an output, a class of patterns or windows, or the name of a clause: an optional field of `BoundQuery`."""

WORDS: Mapping[type | str, str] = MappingProxyType(
    {
        "threshold": "THRESHOLD",
        "returns": "RETURN",
        "into": "RETURN ... INTO",
        "key": "a key that all events of a match share",
        "steps": "a strategy for single components (`strict_contiguity(b)`)",
        "skip_to": "OUTPUT NONOVERLAP FROM",
        "each": "WITHIN ... EACH",
        "every": "OUTPUT ... EVERY",
        "once": "OUTPUT ... ONCE",
        TimeWindow: "WITHIN a time",
        CountWindow: "WITHIN a number of events",
        Event: "a single event",
        Seq: "SEQ",
        AllOf: "AND",
        AnyOf: "OR",
        Repeat: "a list or an optional event (`+`, `*`, `{2,5}`, `?`)",
        Group: "a repeated part (`SEQ(...)+ g[]`)",
        OptionalPart: "an optional part (`SEQ(...)?`)",
        Absent: "NOT",
    }
)
"""Clauses, windows and operators in the words of the language, for messages."""


@dataclass(frozen=True, slots=True)
class Supports:
    """The strategies, outputs, operators, windows and clauses of a family, and the hints that it follows.

    Members are listed one by one, never as "all of them", so that a new member of the language is refused until a
    family lists it. A builder may refuse more, for reasons that depend on several parts of a query. `because` says why
    a feature is not listed, `requires` why a query without a clause is refused.
    """

    strategies: frozenset[Strategy]
    outputs: frozenset[OutputMode]
    operators: frozenset[type]
    windows: frozenset[type]
    clauses: frozenset[str]
    hints: frozenset[HintName] = frozenset()
    requires: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    because: Mapping[Feature, str] = field(default_factory=lambda: MappingProxyType({}))

    def refusal(self, family: FamilyName, query: BoundQuery) -> Unsupported | None:
        """The first feature of the query that is not declared; None if all are."""
        written = clauses_of(query)
        for clause, reason in self.requires.items():
            if clause not in written:
                return Unsupported(family, reason)
        for feature, declared, words, span in self._asked(query, written):
            if feature not in declared:
                reason = self.because.get(feature, f"{words} is not among what this plan evaluates")
                return Unsupported(family, reason, span)
        return None

    def _asked(
        self, query: BoundQuery, clauses: Iterable[str]
    ) -> Iterator[tuple[Feature, frozenset[Any], str, Span | None]]:
        """The features that a query uses, each with the declared set it must be in, its name and its place."""
        yield query.strategy, self.strategies, str(query.strategy), None
        for clause in clauses:
            yield clause, self.clauses, WORDS.get(clause, f"the clause `{clause}`"), None
        yield query.output, self.outputs, f"OUTPUT {query.output}", None
        if query.window is not None:
            kind = type(query.window)
            yield kind, self.windows, WORDS.get(kind, "this kind of window"), None
        for e in (e for c in query.conjuncts for e in walk(c.expr)):
            if isinstance(e, Ref) and isinstance(e.element, Nth):
                yield "nth", self.clauses, f"an element by its number (`{e.variable}[{e.element.number}]`)", e.span
        for node in _nodes(query.pattern):
            yield type(node), self.operators, WORDS.get(type(node), "this part of the pattern"), node.span
            if isinstance(node, Absent) and node.since is not None:
                yield "since", self.clauses, "NOT ... SINCE", node.span
            if isinstance(node, Absent) and node.silence is not None:
                yield "silence", self.clauses, "NOT ... FOR", node.span
            if isinstance(node, Repeat) and node.reluctant:
                yield "reluctant", self.clauses, "a list that may end early (`+?`)", node.span
            if isinstance(node, Repeat) and node.until is not None:
                yield "until", self.clauses, "a list that ends UNTIL an event", node.span


def clauses_of(query: BoundQuery) -> list[str]:
    """The optional fields of a query that have a value, written or derived by a rule."""
    return [f.name for f in fields(query) if _is_optional(f) and getattr(query, f.name) != f.default]


def _is_optional(f: Field[Any]) -> bool:
    return f.default is not MISSING


def _nodes(p: Pattern) -> Iterator[Pattern]:
    """Every part of a pattern, before the parts inside it."""
    yield p
    match p:
        case Event() | Repeat():
            pass
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _nodes(part)
        case Group(body=body) | OptionalPart(body) | Absent(body):
            yield from _nodes(body)
        case _:
            assert_never(p)


RESULTS = frozenset({"returns", "into", "key"})
"""Clauses on how matches are returned, which concern no family."""

STRATEGIES = frozenset(
    {
        Strategy.STRICT_CONTIGUITY,
        Strategy.PARTITION_CONTIGUITY,
        Strategy.SKIP_TILL_NEXT_MATCH,
        Strategy.SKIP_TILL_ANY_MATCH,
    }
)
"""Strategies that all families which use this set evaluate; a new one joins when all of them do."""

SELECTED_OUTPUTS = frozenset(
    {
        OutputMode.ALL,
        OutputMode.NONOVERLAP,
        OutputMode.LATEST,
        OutputMode.COUNT,
        OutputMode.FIRST,
        OutputMode.LONGEST,
        OutputMode.LONGEST_NONOVERLAP,
        OutputMode.NONOVERLAP_FROM,
        OutputMode.TIMEOUTS,
        OutputMode.ALL_WITH_TIMEOUTS,
        OutputMode.FIRST_WITH_TIMEOUTS,
    }
)
"""Outputs selected from all matches, complete and partial, for families that enumerate every one."""

LOSSY_REASON = "a lossy stream needs the scores of the lossy plan"

ROUNDS_REASON = "a repeated part: only automata of sequences have loops"


def each(features: Iterable[Feature], reason: str) -> dict[Feature, str]:
    """A dictionary with one reason for several features; `{}` in it stands for the feature.

    >>> each(["a", "b"], "no {}")
    {'a': 'no a', 'b': 'no b'}
    """
    return {feature: reason.format(feature) for feature in features}
