"""JSON lines read by Arrow are those that Python reads, or Arrow is not used."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from augury.engine.sources.files import read_json, read_line_by_line
from augury.engine.sources.json_lines import native_table
from augury.errors import HostError

INTEGERS = st.sampled_from([0, -1, 7, 2**53 + 1, 2**63 - 1, -(2**63), 2**63, -(2**63) - 1, 10**30])
FLOATS = st.sampled_from([0.5, -0.0, 1e22, 5e-324, 1e300, float("nan"), float("inf")])
TIMES = ["2026-03-14", "2026-03-14T09:00:00Z", "2026-03-14 09:00:00.123456789"]
TEXTS = st.sampled_from(["", "x", "é", "😀", "\x00", "a\nb", '"', "1", "NaN", "\ud800", *TIMES])
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
# One kind of value a column most of the time: others are errors, and these are told by the slow reader.
COLUMNS = st.sampled_from(
    [
        INTEGERS,
        FLOATS,
        INTEGERS | FLOATS,
        TEXTS,
        st.sampled_from(TIMES),
        st.booleans(),
        st.lists(INTEGERS, max_size=2),
        st.lists(TEXTS, max_size=2),
        st.lists(st.lists(FLOATS, max_size=2), max_size=2),
        st.dictionaries(st.sampled_from("ab"), INTEGERS),
        SCALARS,
    ]
)
ODD_LINES = ["", " \t", "[1]", '{"x": 1', "}", '{"x": 1, "x": 2}', "\x0c"]


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """Lines of JSON, some of them blank, broken, or two of them in one line."""
    columns = draw(st.dictionaries(st.sampled_from(["ts", "x", "é", ""]), COLUMNS, max_size=3))
    lines = []
    for _ in range(draw(st.integers(0, 6))):
        row = {name: draw(values) for name, values in columns.items() if draw(st.integers(0, 4))}
        lines.append(json.dumps(row, ensure_ascii=draw(st.booleans())))
        lines += draw(st.sampled_from([[]] * 20 + [[line] for line in ODD_LINES]))
    ending = draw(st.sampled_from(["\n"] * 8 + ["\r\n", " \n", "", "\r"]))
    lines.append(draw(st.sampled_from(["", *lines[-1:]])))
    return ending.join(lines).encode("utf-8", "surrogatepass")


def told(read: Any) -> Any:
    try:
        table = read()
    except HostError as e:
        return str(e)
    return table.schema, repr(table.to_pylist())


@given(files())
@example(b'{"ts": 1}\n{"ts": 2}{"ts": 3}\n')
@example(b'{"x": 1} {"x": 2}\n{"x":\n1}\n')
@example(b'{"x": {"b": 1, "a": 2}}\n')
@example(b'{"x": 0.5}\n{"x": 18446744073709551616}\n')
def test_arrow_reads_what_python_reads(data: bytes) -> None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        with pytest.raises(HostError, match="A531"):
            read_json(data, "e.jsonl")
        return
    slow = told(lambda: read_line_by_line(text, "e.jsonl"))
    native = native_table(data)
    if native is not None:
        assert told(lambda: native) == slow
    if not text.lstrip().startswith("["):
        assert told(lambda: read_json(data, "e.jsonl")) == slow


@pytest.mark.parametrize(
    "data",
    [
        b'{"ts": 1, "type": "A", "x": 0.5}\n{"ts": 2, "x": 1, "type": null}\n',
        b'{"ts": "2026-03-14T09:00:00+01:00", "l": [1, 2]}\r\n\r\n{"ts": "x", "l": []}',
        b"".join(b'{"ts": %d, "at": "2026-03-14"}\n' % k for k in range(20_000)),
        # Times that begin to look so after the part that is looked at first, and columns that come later still.
        b'{"ts": 1}\n' * 20_000 + b'{"ts": 1, "at": "2026-03-14"}\n{"new": true}',
    ],
)
def test_plain_lines_are_read_by_arrow(data: bytes) -> None:
    native = native_table(data)
    assert native is not None
    assert told(lambda: native) == told(lambda: read_line_by_line(data.decode(), "e.jsonl"))


@pytest.mark.parametrize("depth", [50, 200, 5_000, 100_000])
@pytest.mark.parametrize("ends", [True, False])
def test_deep_values_are_not_given_to_arrow(depth: int, ends: bool) -> None:
    data = b'{"ts": 1, "x": ' + b"[" * depth + b"]" * (depth * ends) + b"}\n"
    assert (native_table(data) is not None) is (ends and depth < 100)
    assert (native_table(data * 3) is not None) is (ends and depth < 100)
