"""Row patterns of SQL: the search against regular expressions, and against every mapping in the order of preference."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from augury.ir.row_pattern import (
    Alternation,
    Anchor,
    Concatenation,
    Empty,
    Exclusion,
    Permutation,
    Quantified,
    RowPattern,
    Variable,
)
from augury.match_recognize.pattern_text import read_pattern
from augury.source import Source
from augury.testing.row_patterns import Condition, preferred, row_patterns, rows_of
from tests.thorough import rounds

WHO = {"A": "[ab]", "B": "[bc]", "C": "[c]"}
"""The letters for which a variable is true, as a regular expression says it."""


def regular_expression(pattern: RowPattern) -> str:
    match pattern:
        case Variable(name):
            return WHO[name]
        case Concatenation(parts):
            return "".join(f"(?:{regular_expression(p)})" for p in parts)
        case Alternation(options):
            return "|".join(f"(?:{regular_expression(o)})" for o in options)
        case Quantified(body, least, most, reluctant):
            return f"(?:{regular_expression(body)}){{{least},{'' if most is None else most}}}" + "?" * reluctant
        case Empty() | Anchor() | Exclusion() | Permutation():
            raise AssertionError(pattern)


def matches_by_definition(
    pattern: RowPattern, values: Sequence[Any], conditions: Mapping[str, Condition]
) -> list[tuple[int, tuple[str, ...]]]:
    """Start and variables of each match, with SKIP PAST LAST ROW; empty ones have no variables."""
    out, row = [], 0
    while row < len(values):
        taken = preferred(pattern, row, values, conditions)
        if taken is not None:
            out.append((row, taken))
        row += max(1, len(taken or ()))
    return out


def matches_found(pattern: RowPattern, values: list[int], define: str) -> list[tuple[int, tuple[str, ...]]]:
    """What the evaluator finds, in the same form; an unmapped row is that of an empty match."""
    table = pa.table({"place": pa.array(range(len(values)), pa.int32()), "x": pa.array(values, pa.int32())})
    clause = (
        "ORDER BY place MEASURES MATCH_NUMBER() AS n, FIRST(place) AS start, FINAL array_agg(CLASSIFIER()) AS who "
        f"ALL ROWS PER MATCH PATTERN ({pattern}) DEFINE {define}"
    )
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    for place, number, start, who, _ in rows_of(clause, table):
        found.setdefault(number, (place if start is None else start, tuple(who or ())))
    return list(found.values())


@given(row_patterns(loops_of_nothing=False), st.text("abc", min_size=1, max_size=8))
@settings(max_examples=80, deadline=None)
def test_the_preferred_match_is_that_of_a_regular_expression(pattern: RowPattern, text: str) -> None:
    table = pa.table({"place": pa.array(range(len(text))), "letter": list(text)})
    define = ", ".join(
        f"{v} AS letter IN ({', '.join(repr(c) for c in w[1:-1])})" for v, w in WHO.items() if v in str(pattern)
    )
    clause = f"ORDER BY place MEASURES count(*) AS n AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) DEFINE {define}"
    compiled = re.compile(regular_expression(pattern))
    expected = [m.end() - k for k in range(len(text)) if (m := compiled.match(text, k)) is not None]
    assert [n for (n,) in rows_of(clause, table)] == expected


def last(values: Sequence[Any], taken: Sequence[str], start: int, who: str, back: int = 0) -> Any:
    places = [k for k, v in enumerate(taken) if v in who]
    return values[start + places[-1 - back]] if len(places) > back else None


def less(a: Any, b: Any) -> bool | None:
    return None if a is None or b is None else bool(a < b)


def here(values: Sequence[Any], taken: Sequence[str], start: int) -> Any:
    return values[start + len(taken) - 1]


def before(values: Sequence[Any], taken: Sequence[str], start: int) -> Any:
    row = start + len(taken) - 2
    return values[row] if row >= 0 else None


CONDITIONS: dict[str, Condition] = {
    "true": lambda v, t, s: True,
    "x > 1": lambda v, t, s: here(v, t, s) > 1,
    "x > PREV(x)": lambda v, t, s: less(before(v, t, s), here(v, t, s)),
    "x >= FIRST(x)": lambda v, t, s: here(v, t, s) >= v[s],
    "LAST(A.x) < x": lambda v, t, s: less(last(v, t, s, "A"), here(v, t, s)),
    "LAST(B.x, 1) IS NULL OR x > LAST(B.x, 1)": lambda v, t, s: (
        last(v, t, s, "B", 1) is None or here(v, t, s) > last(v, t, s, "B", 1)
    ),
    "count(*) <= 3": lambda v, t, s: len(t) <= 3,
    "sum(A.x) < 4": lambda v, t, s: (
        None if "A" not in t else sum(v[s + k] for k, who in enumerate(t) if who == "A") < 4
    ),
    "LAST(CLASSIFIER(), 1) = 'B'": lambda v, t, s: t[-2] == "B" if len(t) > 1 else None,
    "FIRST(CLASSIFIER()) = 'A'": lambda v, t, s: t[0] == "A",
    "count(A.*) > count(B.*)": lambda v, t, s: t.count("A") > t.count("B"),
}


def agree(pattern: RowPattern, values: list[int], chosen: Mapping[str, str]) -> None:
    # A last option that mentions every variable, since conditions may speak of any of them.
    pattern = Alternation((pattern, Concatenation((Variable("A"), Variable("B"), Variable("C")))))
    define = ", ".join(f"{v} AS {c}" for v, c in chosen.items())
    expected = matches_by_definition(pattern, values, {v: CONDITIONS[c] for v, c in chosen.items()})
    assert matches_found(pattern, values, define) == expected


CHOSEN = st.fixed_dictionaries({v: st.sampled_from(sorted(CONDITIONS)) for v in "ABC"})
VALUES = st.lists(st.integers(0, 3), min_size=1, max_size=5)


@given(row_patterns(exclusions=False), VALUES, CHOSEN)
@settings(max_examples=80, deadline=None)
def test_the_preferred_match_is_the_first_of_all_mappings(
    pattern: RowPattern, values: list[int], chosen: dict[str, str]
) -> None:
    agree(pattern, values, chosen)


@pytest.mark.slow
@given(row_patterns(exclusions=False), VALUES, CHOSEN)
@settings(max_examples=rounds(1_000, 5_000), deadline=None)
def test_the_preferred_match_is_the_first_of_all_mappings_at_length(
    pattern: RowPattern, values: list[int], chosen: dict[str, str]
) -> None:
    agree(pattern, values, chosen)


@given(row_patterns(exclusions=True))
@settings(max_examples=80, deadline=None)
def test_a_printed_pattern_reads_as_itself(pattern: RowPattern) -> None:
    text = str(pattern)
    once = read_pattern(Source(text), 0, len(text))
    assert str(once) == text
    assert read_pattern(Source(str(once)), 0, len(text)) == once
