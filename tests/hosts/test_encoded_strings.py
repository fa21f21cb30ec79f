"""Strings that come as dictionaries: however they are encoded, the matches are those of the strings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury.plan import FamilyName
from augury.runtime.dictionary import distinct

EVENTS = pa.table(
    {
        "ts": [1, 2, 2, 3, 4, 5, 6, 6],
        "type": ["A", "B", None, "A", "B", "B", "A", "B"],
        "k": ["x", "x", "y", "y", None, "x", "y", "y"],
        "s": ["b", "a", "c", "B", "a", "C", None, "d"],
    }
)
QUERIES = [
    "PATTERN SEQ(A a, B b)",
    "PATTERN SEQ(A a, B b) WHERE [k]",
    "PATTERN SEQ(A a, B b) WHERE a.s > b.s",
    "PATTERN SEQ(A a, B b) WHERE upper(a.s) = 'B' AND b.s IN ('a', 'C')",
    "PATTERN SEQ(A a, NOT(B n), B b) WHERE a.k = b.k AND n.s = 'a'",
    "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] } RETURN a.s AS s, b[last].k AS k",
]


def with_duplicates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Codes of 8 bits into a dictionary that holds each string twice, and others that nobody has."""
    plain = column.combine_chunks()
    strings = ["nobody", *plain.unique().drop_null().to_pylist()]
    twice = [*strings, *strings]
    codes = [None if s is None else strings.index(s) + (i % 2) * len(strings) for i, s in enumerate(plain.to_pylist())]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(twice))])


FORMS: dict[str, Callable[[pa.ChunkedArray], pa.ChunkedArray]] = {
    "once": lambda column: column.dictionary_encode(),
    "twice": with_duplicates,
    "large": lambda column: column.cast(pa.large_string()).dictionary_encode(),
    "each chunk its own": lambda column: pa.chunked_array(
        [column.slice(0, 3).combine_chunks().dictionary_encode(), column.slice(3).combine_chunks().dictionary_encode()]
    ),
}


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("plan", [None, "reference"])
@pytest.mark.parametrize("query", QUERIES)
def test_encoded_strings_have_the_same_matches(query: str, plan: FamilyName | None, form: str) -> None:
    encoded = EVENTS
    for name in ("type", "k", "s"):
        encoded = encoded.set_column(EVENTS.column_names.index(name), name, FORMS[form](EVENTS[name]))
    plain = augury.match(EVENTS, query, plan=plan)
    assert augury.match(encoded, query, plan=plan) == plain
    assert len(plain)


@pytest.mark.parametrize("form", FORMS)
def test_events_may_be_ordered_by_encoded_strings(form: str) -> None:
    events = EVENTS.drop_columns(["s"]).append_column("s", pa.array(["b", "b", "a", "b", "a", "c", "z", "a"]))
    encoded = events.set_column(3, "s", FORMS[form](events["s"]))
    query = "PATTERN SEQ(x, y) WHERE strict_contiguity { }"
    plain = augury.match(events, query, order_by=("ts", "s"))
    assert augury.match(encoded, query, order_by=("ts", "s")) == plain
    assert len(plain) == 7


def test_a_matcher_takes_encoded_strings_a_few_at_a_time() -> None:
    encoded = EVENTS.set_column(2, "k", EVENTS["k"].dictionary_encode())
    query = "PATTERN SEQ(A a, B b) WHERE [k] AND a.s != b.s WITHIN 4 seconds"
    matcher = augury.Matcher(query, encoded.schema)
    found = [row for k in range(len(encoded)) for row in matcher.feed(encoded.slice(k, 1)).to_pylist()]
    found += matcher.finish().to_pylist()
    assert sorted(found, key=repr) == sorted(augury.match(EVENTS, query).to_pylist(), key=repr)
    assert found


def test_only_strings_in_use_are_distinct() -> None:
    column = with_duplicates(pa.chunked_array([pa.array(["b", None, "a", "b"])])).chunk(0)
    found = distinct(column)
    assert sorted(found.keys) == ["a", "b"]
    there = [None if p < 0 else found.keys[p] for p in found.positions.tolist()]
    assert there == ["b", None, "a", "b"]
    assert found.positions.dtype == np.int32


def test_the_first_event_of_a_key_is_found_however_late_it_comes() -> None:
    values = ["a"] * 20_000 + ["b"] + [None] * 5 + ["a", "c"]
    found = distinct(pa.array(values))
    assert dict(zip(found.keys, found.first_events(), strict=True)) == {"a": 0, "b": 20_000, "c": 20_007}


def test_codes_are_the_positions_where_every_string_is_in_use() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1], pa.int32()), ["b", "a"])
    found = distinct(column)
    assert (found.keys, found.positions.tolist()) == (["b", "a"], [1, -1, 0, 1])


def test_a_string_is_in_use_however_late_it_comes() -> None:
    codes = pa.array([0] * 20_000 + [2, None], pa.int32())
    found = distinct(pa.DictionaryArray.from_arrays(codes, ["a", "b", "c"]))
    assert (found.keys, found.positions[-3:].tolist()) == (["a", "c"], [0, 1, -1])
