"""What is fed to a stream: tables of its own columns are taken as they are, all others are brought into its form."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.engine.arrivals import arrive, split_late
from augury.engine.sources.column_types import engine_columns
from augury.engine.sources.stream_reader import stream_reader
from augury.errors import HostError
from augury.runtime.state import LONG_AGO
from augury.schema import EventSchema

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.float64())], metadata={"of": "the stream"})
SCHEMA = EventSchema.from_arrow(COLUMNS)
EVENTS = pa.table({"ts": [1, 2], "type": ["A", "B"], "x": [0.5, None]}, schema=COLUMNS)


def test_a_table_of_the_same_columns_is_not_touched() -> None:
    reader = stream_reader(COLUMNS, SCHEMA)
    assert reader.read(EVENTS) is EVENTS
    (batch,) = EVENTS.to_batches()
    assert reader.read(batch).column("x").chunk(0).buffers()[1].address == batch.column("x").buffers()[1].address
    assert engine_columns(COLUMNS, "type").read(EVENTS) is EVENTS


@pytest.mark.parametrize(
    "events",
    [
        EVENTS.select(["x", "type", "ts"]),
        EVENTS.replace_schema_metadata(None),
        EVENTS.set_column(0, "ts", EVENTS["ts"].cast(pa.int32())),
        EVENTS.set_column(1, "type", EVENTS["type"].dictionary_encode()),
        [{"ts": 1, "type": "A", "x": 0.5}, {"ts": 2, "type": "B"}],
        ({"ts": np.int64(k), "type": t, "x": x} for k, t, x in ((1, "A", 0.5), (2, "B", None))),
    ],
    ids=["order", "metadata", "narrow", "encoded", "dicts", "numpy"],
)
def test_others_are_brought_into_its_form(events: object) -> None:
    table = stream_reader(COLUMNS, SCHEMA).read(events)
    assert table.equals(EVENTS)
    assert table.schema.equals(COLUMNS, check_metadata=True)


def test_values_are_looked_at_where_the_type_does_not_say_enough() -> None:
    columns = pa.schema([("ts", pa.int64()), ("day", pa.date64())])
    reader = stream_reader(columns, EventSchema.from_arrow(columns))
    noon = pa.array([43_200_000], pa.int64()).view(pa.date64())
    with pytest.raises(HostError) as raised:
        reader.read(pa.table([pa.array([1]), noon], schema=columns))
    assert raised.value.code == "A614"
    assert reader.read(pa.table([[1], [dt.date(2026, 3, 14)]], schema=columns)).num_rows == 1


KEYS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), max_size=6)


@given(KEYS, st.tuples(st.integers(0, 5), st.integers(0, 2)), st.integers(0, 6), st.booleans(), st.booleans())
def test_late_is_what_precedes_the_watermark_or_the_last_event(
    keys: list[tuple[int, int]], last: tuple[int, int], watermark: int, by_key: bool, second: bool
) -> None:
    schema = pa.schema([("ts", pa.int64()), ("seq", pa.int64())])
    read = EventSchema.from_arrow(schema, order_by=("ts", "seq") if second else ("ts",))
    before, events = (
        arrive(pa.table([[k for k, _ in some], [k for _, k in some]], schema=schema), read, 0)
        for some in ([last], keys)
    )
    in_time, late = split_late(events, before, watermark, read, by_key=by_key)
    size = 2 if second else 1
    expected = [k for k, key in enumerate(keys) if key[0] < watermark or (by_key and key[:size] < last[:size])]
    assert ([] if late is None else late.rows.tolist()) == expected
    assert in_time.rows.tolist() == [k for k in range(len(keys)) if k not in expected]
    assert split_late(events, before, LONG_AGO, read, by_key=False) == (events, None)
