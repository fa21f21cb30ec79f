"""The workloads of the whole call: queries over a day of stock ticks, and how many matches they have."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

TICKS = Path(__file__).parents[3] / "shared" / "data" / "stock_ticks_10sym.parquet"
"""A day of trades of ten shares; the benchmark says so where it is not there."""

DAY = 86_400_000_000
"""Microseconds of a day."""

KEYS = 100_000
KEY_WINDOW = 4 * 3_600_000_000
"""Microseconds: a key has some two events a day, so that its window has to be long."""

ROW_GROUP_EVENTS = 250_000


def microseconds(seconds: float) -> int:
    """A window that no two ticks, which have whole milliseconds and a rank, are exactly apart."""
    return int(seconds * 1_000_000) - 500


@dataclass(frozen=True, slots=True)
class Workload:
    """A query, and the number of its matches in one day and in twenty."""

    query: str
    matches: Mapping[int, int]
    """By how many days the stream has; where a number is missing, engines are compared with one another only."""

    all_columns: bool = False
    """Whether every column of the bound events is part of the result."""


def _within(seconds: float) -> str:
    return f"WITHIN {microseconds(seconds)} microseconds"


WORKLOADS: Mapping[str, Workload] = {
    "W1": Workload(
        f"PATTERN SEQ(INTC_S a, RIMM_B b, QQQ_B c) {_within(10)}",
        {1: 346_046, 20: 6_920_920},
    ),
    "W2": Workload(
        "PATTERN SEQ(MSFT_S a, ORCL_B b, CSCO_B c, AMAT_S d) "
        f"WHERE a.volume = b.volume AND b.volume = c.volume AND c.volume = d.volume {_within(10)}",
        {1: 291, 20: 5_820},
    ),
    "W3": Workload(
        f"PATTERN SEQ(MSFT_S a, MSFT_B b, INTC_B c) WHERE b.price > a.price AND c.volume > b.volume {_within(5)}",
        {1: 30_711, 20: 614_220},
    ),
    "W4": Workload(
        f"PATTERN AND(INTC_S a, RIMM_B b, QQQ_B c) {_within(2)}",
        {1: 76_987, 20: 1_539_740},
    ),
    "W5": Workload(
        f"PATTERN SEQ(INTC_S a, YHOO_B+ b[], QQQ_B c) {_within(1)}",
        {1: 32_542, 20: 650_840},
    ),
    "W6": Workload(
        f"PATTERN SEQ(INTC_S a, NOT(QQQ_S n), RIMM_B b) {_within(5)}",
        {1: 17_284, 20: 345_680},
    ),
    "W7": Workload(
        "PATTERN SEQ(a, b*[], c) WHERE partition_contiguity { [name] AND a.volume >= 1000 AND b[1].price > a.price "
        "AND b[i].price > b[i-1].price AND b[i].volume >= 150 AND c.volume < 150 }",
        {1: 7_444, 20: 148_899},
    ),
    "key": Workload(f"PATTERN SEQ(INTC_S a, MSFT_B b) WHERE [key] WITHIN {KEY_WINDOW} microseconds", {}),
    "trailing": Workload(f"PATTERN SEQ(INTC_S a, RIMM_B b, NOT(QQQ_S n)) {_within(2)}", {}),
    "count": Workload(
        f"PATTERN SEQ(INTC_S a, RIMM_B b, QQQ_B c) {_within(10)} OUTPUT COUNT",
        {1: 346_046, 20: 6_920_920},
    ),
    "program": Workload(
        f"PATTERN SEQ(INTC_S a, RIMM_B b) WHERE b.volume > a.volume {_within(1)} RETURN a.volume AS volume INTO Pair; "
        f"PATTERN SEQ(Pair p, QQQ_B c) WHERE c.volume = p.volume {_within(1)}",
        {},
    ),
    "columns": Workload(
        f"PATTERN SEQ(MSFT_S a, MSFT_B b, INTC_B c) WHERE b.price > a.price AND c.volume > b.volume {_within(5)}",
        {1: 30_711, 20: 614_220},
        all_columns=True,
    ),
}


def write_days(folder: Path, days: int) -> Path:
    """The ticks of so many days as a Parquet file in time order, written once."""
    path = folder / f"ticks_{days}.parquet"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    ticks = pq.read_table(TICKS)
    typ = pc.binary_join_element_wise(ticks["name"], pc.utf8_slice_codeunits(ticks["side"], 0, 1), "_")
    ticks = ticks.append_column("typ", typ)
    half = path.with_suffix(f".{os.getpid()}")
    chance = np.random.default_rng(1)
    schema = pa.schema([pa.field(f.name, f.type) for f in ticks.schema] + [pa.field("key", pa.int64())])
    with pq.ParquetWriter(half, schema, compression="zstd") as writer:
        for day in range(days):
            columns = {name: ticks[name] for name in ticks.column_names} | {
                "key": pa.array(chance.integers(0, KEYS, len(ticks)))
            }
            columns["ts_us"] = pc.add(ticks["ts_us"], pa.scalar(day * DAY))
            writer.write_table(pa.table(columns, schema), row_group_size=ROW_GROUP_EVENTS)
    half.rename(path)
    return path
