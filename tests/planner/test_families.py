"""The registry of plan families: what each declares, and that nothing else is accepted."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, replace
from enum import StrEnum
from typing import Any, get_args

import pyarrow as pa
import pytest

import augury
from augury import UnsupportedPlan
from augury.families import FAMILIES
from augury.ir import pattern, query
from augury.ir.pattern import Seq
from augury.ir.query import BoundQuery
from augury.loss import Exponential, LossModel
from augury.plan import FamilyName, Unsupported
from augury.planner import Hints, choose, planned
from augury.planner.supports import WORDS, clauses_of
from augury.source import Span

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.float64())])
LOSS = LossModel(rate=0.1, delays={"a": Exponential(mean=5)})
RUNS = {
    "reference": "SEQ(A a, B b) WITHIN 60",
    "eager-nfa": "SEQ(A a, B b) WITHIN 60",
    "lazy-chain": "SEQ(A a, B b) WITHIN 60",
    "lazy-tree": "SEQ(A a, B b) WITHIN 60",
    "event-sets": "AND(A a, B b) WHERE skip_till_next_match {} WITHIN 60",
    "linked": "SEQ(A a, B b) WITHIN 60",
    "lossy": "SEQ(A a, B b) WITHIN 60 THRESHOLD 0.5",
}
"""A query for each family that it can run."""


def query_for(family: str) -> BoundQuery:
    text = f"PATTERN {RUNS[family]}".replace("WITHIN 60", "WITHIN 60 seconds")
    return augury.compile(text, COLUMNS, loss=LOSS).program.last.rewritten


def test_every_name_has_a_record_in_the_order_of_the_names() -> None:
    assert tuple(FAMILIES) == get_args(FamilyName)
    assert all(name == family.name == family.plan.family for name, family in FAMILIES.items())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_runs_its_query(family: str) -> None:
    plan = planned(FAMILIES[family], query_for(family), Hints(loss=LOSS))
    assert isinstance(plan, FAMILIES[family].plan)


class NewOutput(StrEnum):
    EARLIEST = "EARLIEST"


class NewStrategy(StrEnum):
    SKIP_TWICE = "skip_twice"


@dataclass(frozen=True, slots=True)
class Twice:
    """A new node of patterns."""

    span: Span = Span(8, 11)


@dataclass(frozen=True, slots=True)
class LastingWindow:
    """A new window."""


@dataclass(frozen=True, slots=True)
class NewQuery(BoundQuery):
    """A query with a new clause."""

    having: str | None = None


def with_clause(query: BoundQuery) -> BoundQuery:
    return NewQuery(**{f.name: getattr(query, f.name) for f in fields(query)}, having="x > 1")


def changed(query: BoundQuery, **parts: Any) -> BoundQuery:
    return replace(query, **parts)


def inside(query: BoundQuery, node: Any) -> BoundQuery:
    return replace(query, pattern=Seq((query.pattern, node)))


NEW: dict[str, tuple[Callable[[BoundQuery], BoundQuery], str]] = {
    "output": (lambda q: changed(q, output=NewOutput.EARLIEST), "OUTPUT EARLIEST"),
    "strategy": (lambda q: changed(q, strategy=NewStrategy.SKIP_TWICE), "skip_twice"),
    "window": (lambda q: changed(q, window=LastingWindow()), "this kind of window"),
    "pattern": (lambda q: changed(q, pattern=Twice()), "this part of the pattern"),
    "nested pattern": (lambda q: inside(q, Twice()), "this part of the pattern"),
    "clause": (with_clause, "the clause `having`"),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("what", NEW)
def test_what_a_family_does_not_declare_is_refused(family: str, what: str) -> None:
    """A member that the language may get one day, in a query that the family runs without it."""
    change, words = NEW[what]
    refused = planned(FAMILIES[family], change(query_for(family)), Hints(loss=LOSS))
    assert isinstance(refused, Unsupported)
    assert refused.reason == f"{words} is not among what this plan evaluates"
    assert refused.family == family
    assert refused.span == (Span(8, 11) if "pattern" in what else None)


@pytest.mark.parametrize("what", NEW)
def test_a_query_that_no_family_declares_has_no_plan(what: str) -> None:
    change, words = NEW[what]
    with pytest.raises(UnsupportedPlan, match="no plan can run this query") as raised:
        choose(change(query_for("eager-nfa")), FAMILIES)
    assert raised.value.code == "A650"
    assert f"linked: {words} is not among what this plan evaluates" in raised.value.help


EXTENDED = """
import enum, augury.ir.terms as terms
from augury.source import Span

def extended(old, name):
    return enum.StrEnum(old.__name__, {**{m.name: m.value for m in old}, name: name})

terms.OutputMode = extended(terms.OutputMode, "EARLIEST")
terms.Strategy = extended(terms.Strategy, "SKIP_TWICE")
from augury.families import FAMILIES
for family in FAMILIES.values():
    assert terms.OutputMode.EARLIEST not in family.supports.outputs, family.name
    assert terms.Strategy.SKIP_TWICE not in family.supports.strategies, family.name
    assert terms.OutputMode.ALL in family.supports.outputs, family.name
print(len(FAMILIES), "families")
"""


def test_members_are_listed_one_by_one() -> None:
    """A member that is added to the language itself is not declared by "all of them"."""
    found = subprocess.run([sys.executable, "-c", EXTENDED], capture_output=True, text=True, check=False)
    assert found.stdout == f"{len(FAMILIES)} families\n", found.stderr


def test_clauses_are_the_optional_fields_of_a_query() -> None:
    text = "PATTERN SEQ(A a, B b) WITHIN 60 seconds THRESHOLD 0.5 RETURN b.x AS x INTO T"
    assert clauses_of(augury.compile(text, COLUMNS, loss=LOSS).program.last.bound) == ["threshold", "returns", "into"]
    assert clauses_of(query_for("eager-nfa")) == []


def test_refusals_have_words_for_all_clauses_windows_and_operators() -> None:
    clauses = {f.name for f in fields(BoundQuery) if f.default is not MISSING}
    windows, parts = eval(str(query.Window), vars(query)), eval(str(pattern.Pattern), vars(pattern))
    assert set(WORDS) == clauses | {*get_args(windows), *get_args(parts)}


@pytest.mark.parametrize(
    "text, family, reason",
    [
        ("SEQ(A a, SEQ(B b, C c)+ g[])", "lossy", "a repeated part (`SEQ(...)+ g[]`)"),
        ("AND(A a, B b)", "lossy", "AND"),
        ("SEQ(A a, B b) WHERE skip_till_any_match, strict_contiguity(b) {}", "linked", "a strategy for single"),
        ("SEQ(A a, B b) WITHIN 5 EVENTS", "lossy", "WITHIN a number of events"),
        ("SEQ(A a, B b) OUTPUT NONOVERLAP FROM b", "linked", "OUTPUT NONOVERLAP FROM"),
        ("SEQ(A a, B b) WITHIN 5 seconds OUTPUT ALL ONCE", "linked", "OUTPUT ... ONCE"),
    ],
)
def test_refusals_are_in_words_of_the_language(text: str, family: str, reason: str) -> None:
    bound = augury.compile(f"PATTERN {text}", COLUMNS).program.last.rewritten
    # Nothing but the declarations of the family: its reasons and demands are left out.
    refused = replace(FAMILIES[family].supports, requires={}, because={}).refusal(FAMILIES[family].name, bound)
    assert refused is not None
    assert refused.reason.startswith(reason)
