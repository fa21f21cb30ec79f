"""Batches as arrays, against the same said row by row in Python."""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.ir.functions import standardise
from augury.ir.predicate import Call, Ref
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.columns import ColumnSpec, EncodedBatch, Encoding, array_names, encode
from augury.runtime.dictionary import ranks
from augury.runtime.events import EventStore
from augury.runtime.state import RunState
from augury.runtime.values import to_values
from augury.schema import FLOAT, INT, STRING, EventSchema, Kind, list_of

FIELDS = pa.schema(
    [
        ("ts", pa.int64()),
        ("seq", pa.string()),
        ("type", pa.string()),
        ("s", pa.string()),
        ("u", pa.large_string()),
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("b", pa.bool_()),
        ("at", pa.timestamp("us", "UTC")),
        ("d", pa.duration("ms")),
        ("day", pa.date32()),
        ("h", pa.list_(pa.float64())),
        ("k", pa.list_(pa.int64())),
        ("nothing", pa.null()),
    ]
)
KINDS = {
    "s": Kind.STRING,
    "u": Kind.STRING,
    "i": Kind.INT,
    "f": Kind.FLOAT,
    "b": Kind.BOOL,
    "at": Kind.TIMESTAMP,
    "d": Kind.DURATION,
    "day": Kind.TIMESTAMP,
    "h": Kind.LIST,
    "k": Kind.LIST,
    "nothing": Kind.NULL,
}
UPPER = Call("upper", (Ref("a", "s", STRING),), STRING)
SPECS = [*(ColumnSpec(name, kind) for name, kind in KINDS.items()), ColumnSpec("upper_s", Kind.STRING, UPPER)]
LITERALS = ["B", "z"]

texts = st.sampled_from(["A", "B", "C", "a", "z", "", "é", "\U0001f600"])
integers = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), 7])
floats = st.sampled_from([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 5e-324])
ticks = st.integers(-5, 5)
rows = st.fixed_dictionaries(
    {
        "ts": st.integers(0, 4),
        "seq": st.sampled_from("xyz"),
        "type": st.none() | texts,
        "s": st.none() | texts,
        "u": st.none() | texts,
        "i": st.none() | integers,
        "f": st.none() | floats,
        "b": st.none() | st.booleans(),
        "at": st.none() | ticks,
        "d": st.none() | ticks,
        "day": st.none() | ticks,
        "h": st.none() | st.lists(st.none() | floats, max_size=3),
        "k": st.none() | st.lists(st.none() | integers, max_size=3),
        "nothing": st.none(),
    }
)
streams = st.lists(rows, max_size=12).map(lambda events: sorted(events, key=lambda e: (e["ts"], e["seq"])))
orders = st.sampled_from([("ts",), ("ts", "seq")])


def table_of(events: list[dict[str, Any]]) -> pa.Table:
    columns = []
    for f in FIELDS:
        values = [e[f.name] for e in events]
        raw = {"at": pa.int64(), "d": pa.int64(), "day": pa.int32()}.get(f.name, f.type)
        columns.append(pa.array(values, raw).cast(f.type))
    return pa.table(columns, schema=FIELDS)


def batches_of(table: pa.Table, schema: EventSchema, cuts: list[int]) -> list[EventBatch]:
    """The table cut into slices; arrival is the reverse of the order, so that rows are not mere counting."""
    time = time_ticks(table, schema)
    arrived = np.arange(len(table))[::-1]
    bounds = [0, *sorted(cut % (len(table) + 1) for cut in cuts), len(table)]
    return [EventBatch(table.slice(lo, hi - lo), arrived[lo:hi], time[lo:hi]) for lo, hi in pairwise(bounds)]


def run(batches: list[EventBatch], schema: EventSchema, *, save: bool = False) -> tuple[dict[str, list[Any]], Encoding]:
    """All arrays of the stream, joined."""
    joined: dict[str, list[Any]] = defaultdict(list)
    encoding = Encoding.start(LITERALS)
    for batch in batches:
        if save:
            state = RunState.from_bytes(RunState("test", 1, encoding.to_tables(), {}).to_bytes())
            encoding = Encoding.from_tables(state.tables)
        encoded, encoding = encode(batch, schema, SPECS, encoding)
        assert encoded.length == len(batch)
        assert encoded.first + len(batch) == encoding.next_event
        for name, array in arrays_of(encoded).items():
            if name.endswith("_offsets"):
                joined[name + "_lengths"] += np.diff(array).tolist()
            else:
                # NaN is not equal to itself, and -0.0 equals 0.0; their text tells them apart.
                joined[name] += map(repr, array.tolist()) if array.dtype == np.float64 else array.tolist()
    return dict(joined), encoding


def arrays_of(encoded: EncodedBatch) -> dict[str, Any]:
    own = {name: getattr(encoded, name) for name in ("rows", "time", "rank", "type")}
    return {**own, **{f"column {name}": array for name, array in encoded.arrays.items()}}


@given(streams, orders, st.lists(st.integers(0, 12), max_size=4), st.booleans())
def test_batch_cuts_and_saved_states_are_invisible(
    events: list[dict[str, Any]], order: tuple[str, ...], cuts: list[int], save: bool
) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema, order_by=order)
    whole, encoding = run(batches_of(table, schema, []), schema)
    cut, continued = run(batches_of(table, schema, cuts), schema, save=save)
    assert cut == whole
    assert continued.dictionary.strings == encoding.dictionary.strings
    assert continued.last == encoding.last


@given(streams, st.lists(st.integers(0, 12), max_size=4))
def test_parts_stored_one_by_one_are_the_batch(events: list[dict[str, Any]], cuts: list[int]) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema)
    (batch,) = batches_of(table, schema, [])
    encoded, _ = encode(batch, schema, SPECS, Encoding.start(LITERALS))
    whole, pieced = (EventStore(SPECS, with_places=False) for _ in range(2))
    whole.append(encoded)
    bounds = [0, *sorted(cut % (len(table) + 1) for cut in cuts), len(table)]
    for lo, hi in pairwise(bounds):
        part = encoded.part(lo, hi)
        assert (part.length, part.first) == (hi - lo, lo)
        pieced.append(part)
    stored, expected = pieced.to_tables(), whole.to_tables()
    # NaN is not equal to itself.
    assert {k: str(t.to_pydict()) for k, t in stored.items()} == {k: str(t.to_pydict()) for k, t in expected.items()}


@given(streams, st.lists(st.integers(0, 12), max_size=4))
def test_a_column_in_pieces_reads_as_one(events: list[dict[str, Any]], cuts: list[int]) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema)
    bounds = [0, *sorted(cut % (len(table) + 1) for cut in cuts), len(table)]
    pieces = pa.concat_tables([table.slice(lo, hi - lo) for lo, hi in pairwise(bounds)])
    assert run(batches_of(pieces, schema, []), schema)[0] == run(batches_of(table, schema, []), schema)[0]


@given(streams, orders, st.lists(st.integers(0, 12), max_size=4))
def test_positions_row_by_row(events: list[dict[str, Any]], order: tuple[str, ...], cuts: list[int]) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema, order_by=order)
    found, _ = run(batches_of(table, schema, cuts), schema)

    values: dict[str, list[Any]] = {name: list(to_values(table[name])) for name in FIELDS.names}
    rank, last = -1, None
    expected: list[int] = []
    for i in range(len(events)):
        key = tuple(values[name][i] for name in order)
        rank, last = rank + (key != last), key
        expected.append(rank)
    assert found.get("rank", []) == expected
    assert found.get("rows", []) == list(range(len(events)))[::-1]
    assert found.get("time", []) == values["ts"]


@given(streams, st.lists(st.integers(0, 12), max_size=4))
def test_columns_row_by_row(events: list[dict[str, Any]], cuts: list[int]) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema)
    found, encoding = run(batches_of(table, schema, cuts), schema)
    values: dict[str, list[Any]] = {name: list(to_values(table[name])) for name in FIELDS.names}
    strings = encoding.dictionary.strings

    def decoded(name: str) -> list[str | None]:
        return [None if code == -1 else strings[code] for code in found.get(name, [])]

    assert decoded("type") == values["type"]
    assert decoded("column upper_s") == [None if v is None else v.upper() for v in values["s"]]
    for name, kind in KINDS.items():
        column = values[name]
        nulls = [int(v is None) for v in column]
        x = f"column {name}"
        match kind:
            case Kind.STRING:
                assert decoded(x) == column
            case Kind.FLOAT:
                assert found.get(x, []) == [repr(math.nan if v is None else v) for v in column]
            case Kind.INT | Kind.TIMESTAMP | Kind.DURATION | Kind.BOOL:
                assert found.get(x, []) == [0 if v is None else int(v) for v in column]
                assert found.get(f"{x}_null", []) == nulls
            case Kind.LIST:
                lists = [[] if v is None else v for v in column]
                assert found.get(f"{x}_offsets_lengths", []) == [len(v) for v in lists]
                elements = [repr(math.nan if e is None else float(e)) for v in lists for e in v]
                assert found.get(f"{x}_values", []) == elements
                assert found.get(f"{x}_null", []) == nulls
            case _:
                assert found.get(f"{x}_null", []) == nulls


@given(streams)
def test_codes_are_numbered_by_event_after_the_literals(events: list[dict[str, Any]]) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema)
    encoding = run(batches_of(table, schema, []), schema)[1]
    in_order = [
        string
        for e in events
        for string in (e["type"], e["s"], e["u"], None if e["s"] is None else e["s"].upper())
        if string is not None
    ]
    assert encoding.dictionary.strings == list(dict.fromkeys([*LITERALS, *in_order]))


@given(streams)
def test_ranks_compare_as_the_strings_do(events: list[dict[str, Any]]) -> None:
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema)
    dictionary = run(batches_of(table, schema, []), schema)[1].dictionary
    order = ranks(dictionary).tolist()
    for i, s in enumerate(dictionary.strings):
        for j, t in enumerate(dictionary.strings):
            assert (order[i] < order[j]) == (s < t)


@given(streams, st.lists(st.integers(0, 12), max_size=3))
def test_every_batch_gives_arrays_of_the_same_types(events: list[dict[str, Any]], cuts: list[int]) -> None:
    """A kernel is compiled for these types; nulls, slices or an empty batch must not ask for another one."""
    expected: dict[str, Any] = dict.fromkeys(("rows", "time", "rank"), np.int64)
    expected["type"] = np.int32
    own = {Kind.STRING: np.int32, Kind.FLOAT: np.float64, Kind.BOOL: np.uint8}
    suffixes = {"_null": np.uint8, "_offsets": np.int64, "_values": np.float64}
    for spec in SPECS:
        for name in array_names(spec):
            suffix = name.removeprefix(spec.name)
            expected[f"column {name}"] = suffixes[suffix] if suffix else own.get(spec.kind, np.int64)
    table = table_of(events)
    schema = EventSchema.from_arrow(table.schema)
    encoding, store = Encoding.start(), EventStore(SPECS, with_places=True, capacity=1)
    types = {name: array.dtype for name, array in store.arrays.items()}
    for batch in batches_of(table, schema, cuts):
        encoded, encoding = encode(batch, schema, SPECS, encoding)
        arrays = arrays_of(encoded)
        assert arrays.keys() == expected.keys()
        for name, array in arrays.items():
            assert array.dtype == expected[name], name
            assert array.ndim == 1
        store.append(encoded)
        # This is what kernels get.
        for name, array in store.arrays.items():
            assert array.dtype == types[name], name
            assert array.flags.writeable, name
            assert array.flags.c_contiguous, name
            assert array.flags.aligned, name
            assert not np.shares_memory(array, batch.time)
            assert not np.shares_memory(array, batch.rows)


def encode_one(table: pa.Table, specs: list[ColumnSpec]) -> EncodedBatch:
    schema = EventSchema.from_arrow(table.schema)
    batch = EventBatch(table, np.arange(len(table)), time_ticks(table, schema))
    return encode(batch, schema, specs, Encoding.start())[0]


def test_events_without_a_type_column_have_type_zero() -> None:
    assert encode_one(pa.table({"ts": [1, 2]}), []).type.tolist() == [0, 0]


@pytest.mark.parametrize(
    "column, kind, expected",
    [
        (pa.array([3, None], pa.int8()), Kind.INT, {"x": [3, 0], "x_null": [0, 1]}),
        (pa.array([1.5, 2.0], pa.float32()), Kind.FLOAT, {"x": [1.5, 2.0]}),
        (pa.array([Decimal("1.25"), Decimal("2.50")]), Kind.FLOAT, {"x": [1.25, 2.5]}),
        (pa.array([86_400_000, None], pa.date64()), Kind.TIMESTAMP, {"x": [1, 0], "x_null": [0, 1]}),
        (pa.array(["p", "q"]).dictionary_encode(), Kind.STRING, {"x": [0, 1]}),
        (pa.array([b"p", None]), Kind.OTHER, {"x_null": [0, 1]}),
        (
            pa.array([[1, 2], None], pa.list_(pa.int16(), 2)),
            Kind.LIST,
            {"x_offsets": [0, 2, 2], "x_values": [1.0, 2.0], "x_null": [0, 1]},
        ),
    ],
    ids=str,
)
def test_other_arrow_types(column: pa.Array, kind: Kind, expected: dict[str, list[Any]]) -> None:
    arrays = encode_one(pa.table({"ts": [1, 2], "x": column}), [ColumnSpec("x", kind)]).arrays
    assert {name: array.tolist() for name, array in arrays.items()} == expected


def test_what_a_null_list_covers_is_left_out() -> None:
    array = pa.ListArray.from_arrays(
        pa.array([0, 1, 3, 4]), pa.array([1.0, 2.0, 3.0, 4.0]), mask=pa.array([False, True, False])
    )
    arrays = encode_one(pa.table({"ts": [1, 2, 3], "h": array}), [ColumnSpec("h", Kind.LIST)]).arrays
    assert arrays["h_offsets"].tolist() == [0, 1, 1, 2]
    assert arrays["h_values"].tolist() == [1.0, 4.0]


def test_what_has_to_be_computed_is_computed_for_events_of_its_types_only() -> None:
    """Others have a null, whatever the kind of the column; attributes are what they are."""
    table = pa.table(
        {
            "ts": range(5),
            "type": ["A", "B", None, "C", "A"],
            "s": ["p", "q", "r", "s", None],
            "i": [1, 2, 3, 4, 5],
            "h": [[1.0, 3.0], [1.0, 2.0], [5.0, 6.0], None, [3.0, 1.0]],
        }
    )
    called = []

    def negative(i: int) -> int:
        called.append(i)
        return -i

    exprs = {
        "text": Call("upper", (Ref("e", "s", STRING),), STRING),
        "number": Call("negative", (Ref("e", "i", INT),), INT),
        "list": Call("standardise", (Ref("e", "h", list_of(FLOAT)),), list_of(FLOAT)),
    }
    schema = EventSchema.from_arrow(table.schema)
    batch = EventBatch(table, np.arange(5), time_ticks(table, schema))
    for types, wanted in (("A", [0, 4]), ("AC", [0, 3, 4]), ("D", []), ("", range(5))):
        called.clear()
        specs = [ColumnSpec(name, e.type.kind, e, frozenset(types)) for name, e in exprs.items()]
        specs.append(ColumnSpec("i", Kind.INT, Ref("e", "i", INT), frozenset(types)))
        encoded, _ = encode(batch, schema, specs, Encoding.start("PQRS"), functions={"negative": negative})
        arrays = {name: array.tolist() for name, array in encoded.arrays.items()}
        assert arrays["text"] == [k if k in wanted and k != 4 else -1 for k in range(5)]
        assert arrays["number"] == [-(k + 1) if k in wanted else 0 for k in range(5)]
        assert arrays["number_null"] == [int(k not in wanted) for k in range(5)]
        assert called == [k + 1 for k in wanted]
        assert arrays["list_null"] == [int(k not in wanted or k == 3) for k in range(5)]
        assert np.diff(arrays["list_offsets"]).tolist() == [2 * (k in wanted and k != 3) for k in range(5)]
        lists = [x for k in wanted for x in (standardise(table["h"][k].as_py() or []) or [])]
        assert arrays["list_values"] == lists
        assert arrays["i"] == [1, 2, 3, 4, 5]


def test_a_column_under_another_name() -> None:
    """An attribute need not be called by an identifier."""
    spec = ColumnSpec("unit_price", Kind.STRING, Ref("a", "unit price", STRING))
    encoded = encode_one(pa.table({"ts": [1, 2], "unit price": ["x", "y"]}), [spec])
    assert encoded.arrays["unit_price"].tolist() == [0, 1]


def test_equal_strings_have_equal_codes_in_all_columns() -> None:
    table = pa.table({"ts": [1, 2], "src": ["x", "y"], "dst": ["y", "x"]})
    arrays = encode_one(table, [ColumnSpec("src", Kind.STRING), ColumnSpec("dst", Kind.STRING)]).arrays
    assert arrays["src"].tolist() == arrays["dst"].tolist()[::-1]


def test_an_earlier_encoding_can_be_continued_again() -> None:
    """`encode` is pure: what one continuation has seen does not show in another."""
    table = pa.table({"ts": [1, 2, 3], "s": ["x", "y", "z"]})
    schema = EventSchema.from_arrow(table.schema)
    first, one, other = (EventBatch(table.slice(i, 1), np.array([i]), np.array([i + 1])) for i in range(3))
    specs = [ColumnSpec("s", Kind.STRING)]
    _, start = encode(first, schema, specs, Encoding.start())
    encoded = [encode(batch, schema, specs, start)[0] for batch in (one, other, one)]
    assert [e.arrays["s"].tolist() for e in encoded] == [[1], [1], [1]]
    assert start.dictionary.strings == ["x"]
