"""A few kernels, byte for byte: a change to the generator shows what it changes; `make golden` rewrites them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import Exponential, LossModel, Uniform
from augury.plan import StreamStatistics

FOLDER = Path(__file__).parents[1] / "golden"
COLUMNS = pa.schema(
    [
        ("ts", pa.timestamp("ms")),
        ("type", pa.string()),
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
        ("history", pa.list_(pa.float64())),
    ]
)
QUERIES = {
    "negation": """\
PATTERN SEQ(Shelf s, NOT(Register r), Exit e)
WHERE   skip_till_any_match { [symbol] AND e.price >= s.price AND r.volume = s.volume }
WITHIN  12 hours""",
    "rising": """\
PATTERN SEQ(Stock+ a[], Stock b)
WHERE   skip_till_next_match { [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
                               AND b.volume < 0.8 * a[last].volume }
WITHIN  1 hour""",
    "each_element": """\
PATTERN SEQ(A a, B{2,5} b[], C c)
WHERE   skip_till_any_match { b[i].price > a.price AND c.price > b[i].price AND c.volume > max(b[].volume) }
WITHIN  10 minutes""",
    "contiguous": """\
PATTERN SEQ(A a, B+ b[], NOT(D d))
WHERE   strict_contiguity { b[i].price > b[i-1].price AND a.symbol IN ('x', 'y') }
WITHIN  7 EVENTS""",
    "lazy_first_chance": """\
PATTERN SEQ(A a, NOT(N n), B b, C c)
WHERE   skip_till_any_match { a.price < b.price AND b.price < c.price AND n.volume > a.volume }
WITHIN  10 minutes""",
    "lazy_correlated": """\
PATTERN SEQ(A a, NOT(N n), B b, C c)
WHERE   skip_till_any_match { corr(a.history, c.history) > 0.9 AND corr(b.history, c.history) < -0.5
                              AND corr(a.history, n.history) >= 0.8 }
WITHIN  10 minutes""",
    "lazy_led": """\
PATTERN SEQ(A a, B b)
WHERE   skip_till_any_match { corr(a.history, b.history) < -0.9 }
WITHIN  10 minutes""",
    "lazy_keyed": """\
PATTERN AND(A a, B b, C c)
WHERE   skip_till_any_match { a.symbol = b.symbol AND b.volume = c.volume AND a.price < c.price }
WITHIN  1 hour""",
    "lazy_list": """\
PATTERN SEQ(A a, B{2,5} b[], C c)
WHERE   skip_till_any_match { [symbol] AND b[i].price > b[i-1].price AND c.volume > max(b[].volume) }
WITHIN  10 minutes""",
    "event_sets": """\
PATTERN SEQ(AND(C c, P{2,} p[], D d), B b)
WHERE   skip_till_next_match { c.symbol = d.symbol AND d.symbol = b.symbol AND p[i].price > c.price
                               AND b.volume > avg(p[].volume) }
WITHIN  11 days""",
    "covers": """\
PATTERN SEQ(A a, NOT(N n), B b, C c)
WHERE   [symbol] AND a.price < b.price AND a.volume < c.volume
WITHIN  10 minutes
OUTPUT  COVER""",
    "latest_list": """\
PATTERN SEQ(A a, B+ b[], C c)
WHERE   b[i].price < b[i-1].price AND b[i].volume > c.volume AND a.price < c.price
WITHIN  10 minutes
OUTPUT  LATEST""",
    "lossy": """\
PATTERN   SEQ(Shelf s, NOT(Register r), Gate g, Exit e)
WHERE     s.symbol[e.symbol] = e.symbol AND g.symbol[e.symbol] = e.symbol AND r.symbol = e.symbol
          AND s.price[g.price] <= g.price[s.price] AND r.volume = s.volume[0]
WITHIN    12 hours
THRESHOLD 0.2""",
}
LOSS = LossModel(0.3, {}, {"s": Uniform(0, 3600), "r": Uniform(0, 7200), "g": Exponential(900)}, scoring="posterior")

FEW_LEFT = {"dot(standardise(a.history), standardise(b.history)) < -0.9": 0.02}

HINTS: Mapping[str, Mapping[str, Any]] = {
    "lazy_first_chance": {"order": ["c", "b", "a"], "negation": "first-chance"},
    "lazy_correlated": {"order": ["c", "b", "a"], "negation": "first-chance"},
    "lazy_led": {"order": ["b", "a"], "statistics": StreamStatistics(bounded=FEW_LEFT)},
    "lazy_keyed": {"order": ["a", "b", "c"]},
    "lazy_list": {"order": ["c", "a", "b"]},
    "event_sets": {"plan": "event-sets"},
    "covers": {"plan": "linked"},
    "latest_list": {"plan": "linked"},
    "lossy": {"loss": LOSS},
}
"""How those are asked for that are not eager automata."""


def kernel(name: str) -> str:
    source = augury.explain(QUERIES[name], COLUMNS, stage="kernel", **HINTS.get(name, {"plan": "eager-nfa"}))
    return source + "\n"


@pytest.mark.parametrize("name", QUERIES)
def test_golden(name: str, request: pytest.FixtureRequest) -> None:
    path = FOLDER / f"{name}.py"
    if request.config.getoption("--update-golden"):
        path.write_text(kernel(name), encoding="utf-8")
    assert kernel(name) == path.read_text(encoding="utf-8")


def test_every_golden_file_has_its_query() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(QUERIES)


def test_one_of_them_is_merged() -> None:
    assert "; runs merged" in kernel("rising")
    assert "; runs not merged" in kernel("each_element")


def test_the_lazy_ones_are_what_they_are_called() -> None:
    first_chance, keyed, lists = map(kernel, ("lazy_first_chance", "lazy_keyed", "lazy_list"))
    assert "# chain 0: c, b, a; negation first-chance\n" in first_chance
    assert "if gone_v1_n:  # NOT(N n)\n" in first_chance
    assert "# take B b with the same symbol\n" in keyed
    assert "# iterate B b\n" in lists
