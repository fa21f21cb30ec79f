"""Columns of every Arrow type in every role: they are read as what they are, or refused with a code."""

from __future__ import annotations

import io
import re
import warnings

import pyarrow as pa
import pytest

import augury
from augury import AuguryError, HostError, Matcher, Matches
from augury.cli.output import Format, write_text
from tests.door.columns import SIZE, columns

ROLES = {
    "time": ("ts", ["SEQ(A a, B b) WITHIN 1 hour RETURN a.ts AS s, b.ts - a.ts AS d"]),
    "type": ("type", ["SEQ(A a, B+ b[]) WHERE skip_till_next_match {}"]),
    "key": ("k", ["SEQ(A a, B b) WHERE partition_contiguity { [k] }"]),
    "order": ("seq", ["SEQ(A a, B b) WHERE skip_till_next_match {}"]),
    "attribute": (
        "x",
        [
            "SEQ(A a, B+ b[])",
            "SEQ(A a, B b) WHERE a.x < b.x OR a.x = 1 OR a.x IS NULL RETURN a.x AS x, b.x AS y",
            "SEQ(A a, B b) WHERE length(a.x) = 1 AND known(a.x)",
            "SEQ(A a, B b) WHERE a.x IS NOT NULL",
        ],
    ),
}


def known(value: object) -> bool:
    return value is not None


@pytest.mark.parametrize("share", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_every_type_in_every_role(share: int) -> None:
    """One test for all, or for every twentieth: a test for each would take longer to collect than to run."""
    base = {"ts": pa.array(range(SIZE)), "type": pa.array(list("ABAB")), "k": pa.array([1] * SIZE)}
    base["x"] = pa.array(range(SIZE))
    wrong = []
    for name, column in list(columns().items())[::share]:
        for role, (place, queries) in ROLES.items():
            table = pa.table({**base, place: column})
            for query in queries:
                for part in (table, table.slice(0, 0)) if query is queries[0] else (table,):
                    raised = failure(part, query, role)
                    if raised is not None:
                        wrong.append(f"{name} as {role}, {part.num_rows} rows, {query}: {raised!r}")
    assert wrong == []


def failure(table: pa.Table, query: str, role: str) -> BaseException | None:
    """What reading, matching and showing raises, if that is no error with a code."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", augury.AuguryWarning)
            look_at(table, query, ["ts", "seq"] if role == "order" else None)
    except AuguryError as e:
        return None if re.match(r"error\[A\d{3}\]: ", str(e)) else e
    except Exception as e:
        return e
    return None


def look_at(table: pa.Table, query: str, order_by: list[str] | None) -> None:
    functions = {"known": known}
    matches = augury.match(table, query, jit=False, functions=functions, order_by=order_by)
    show(matches)
    stream = Matcher(query, table.schema, jit=False, functions=functions, order_by=order_by)
    fed = [*stream.feed(table).to_batches(), *stream.finish().to_batches()]
    assert sum(piece.num_rows for piece in fed) == len(matches)
    # These may say that a value is none of Python's.
    matches.to_pylist()
    list(matches)


def show(matches: Matches) -> None:
    """Printing works whatever the values are."""
    for format in (Format.JSONL, Format.CSV, Format.TABLE):
        write_text(matches.to_arrow(), format, io.StringIO())
    repr(matches)


@pytest.mark.parametrize(
    "name, value",
    [
        ("string_view", "A"),
        ("list view of integers", [0]),
        ("run ends of text", "A"),
        ("extension of text", "A"),
        ("dictionary of dictionaries", "A"),
        ("decimal256(76, 20)", 0),
        ("timestamp[us, '+05:30']", columns()["timestamp[us, '+05:30']"][0].as_py()),
    ],
)
def test_what_is_encoded_is_read_as_what_it_stands_for(name: str, value: object) -> None:
    table = pa.table({"ts": range(SIZE), "type": list("ABAB"), "x": columns()[name]})
    found = augury.match(table, "SEQ(A a, B b) WITHIN 1 second RETURN a.x AS x", jit=False)
    assert found[0].values == {"x": value}


@pytest.mark.parametrize(
    "name, message",
    [
        ("sparse union of text", "error[A614]: the column `x` of type sparse_union<0: string=0> cannot be read: its"),
        ("timestamp[us, 'No/Where']", "error[A614]: the column `x` of type timestamp[us, tz=No/Where] cannot be read:"),
        ("struct with two of one name", "error[A614]: the column `x` of type struct<x: int64, x: string> cannot be"),
    ],
)
def test_what_has_no_plain_form_is_refused(name: str, message: str) -> None:
    table = pa.table({"ts": range(SIZE), "type": list("ABAB"), "x": columns()[name]})
    for call in (lambda: augury.match(table, "SEQ(A a, B b)"), lambda: Matcher("SEQ(A a, B b)", table.schema)):
        with pytest.raises(HostError) as caught:
            call()
        assert str(caught.value).startswith(message)


def test_a_time_that_python_cannot_hold_is_shown_in_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    table = pa.table({"ts": pa.array([2**62 - 2, 2**62 - 1], pa.timestamp("s")), "type": ["A", "B"]})
    found = augury.match(table, "SEQ(A a, B b) WITHIN 1 hour", jit=False)
    assert "4611686018427387902 s since 1970" in repr(found)
    with pytest.raises(HostError, match=r"error\[A615\]: a value of type timestamp\[s\] is none that Python can hold"):
        found.to_pylist()


def test_columns_of_one_name_are_refused() -> None:
    table = pa.table([pa.array([1]), pa.array([1])], names=["ts", "ts"])
    for call in (augury.match, lambda t, q: augury.explain(q, t), lambda t, q: Matcher(q, t)):
        with pytest.raises(HostError, match=r"error\[A501\]: the events have two columns named `ts`"):
            call(table, "A a")


def test_a_type_column_of_nulls_matches_nothing() -> None:
    table = pa.table({"ts": [1, 2], "type": pa.nulls(2), "x": [1, 2]})
    with pytest.warns(augury.AuguryWarning, match="no event is of type `A`"):
        assert len(augury.match(table, "PATTERN SEQ(A a, B b) WHERE a.x > 0 AND b.x > 1", jit=False)) == 0
