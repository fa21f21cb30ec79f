"""Each rule on its before/after pairs, kept in fixtures/ under the rule's name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from augury.bind import bind
from augury.ir.query import BoundQuery
from augury.ir.unbind import unbind_query
from augury.lang import parse
from augury.rewrite import RULES, rewrite
from augury.schema import EventSchema
from augury.source import Source
from augury.testing.streams import SCHEMA

FIXTURES = Path(__file__).parent / "fixtures"
EVENTS = EventSchema.from_arrow(SCHEMA)


def bound(text: str) -> BoundQuery:
    source = Source(text)
    return bind(parse(source).queries[0], EVENTS, source)


def pairs() -> Iterator[object]:
    for rule in RULES:
        for block in (FIXTURES / f"{rule.__name__}.txt").read_text().strip().split("\n\n"):
            title, before, mark, *after = block.split("\n")
            yield pytest.param(rule.__name__, before, mark, "\n".join(after), id=f"{rule.__name__}: {title[2:]}")


@pytest.mark.parametrize("name, before, mark, after", list(pairs()))
def test_rule(name: str, before: str, mark: str, after: str) -> None:
    rule = next(r for r in RULES if r.__name__ == name)
    rewritten = rule(bound(before))
    if name == "derive_partition_key":
        assert mark == f"--- key: {', '.join(rewritten.key) or 'none'}"
        assert replace(rewritten, key=()) == bound(before)
    else:
        assert str(unbind_query(rewritten)) == str(unbind_query(bound(after)))
        assert rule(rewritten) == rewritten, "a rule applied twice is a rule applied once"


def test_rules_run_in_order() -> None:
    query = rewrite(bound("PATTERN SEQ(A a, SEQ(B b, C c)) WHERE NOT (a.k != b.k OR b.k != c.k)"))
    assert [str(c) for c in query.conjuncts] == ["a.k = b.k", "b.k = c.k", "a.k = c.k"]
    assert query.key == ("k",)
