"""Small files of events in every format, with bytes changed: matched, explained or fed to a stream."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq

import augury
from augury import Matcher, Matches

EVENTS = 48
ROW_GROUP_EVENTS = 16

QUERIES = (
    "SEQ(A a, B b) WHERE [k] WITHIN 6 seconds",
    "SEQ(A a, B+ b[]) WHERE skip_till_next_match { a.v < 30 AND b[i].s = 'x' } WITHIN 9 seconds",
    "SEQ(A a, NOT(C n), B b) WHERE a.x < b.x WITHIN 5 seconds RETURN a.at AS at, b.s AS s, b.v - a.v AS d",
    "SEQ(D a, B b) WHERE a.v > 1000 WITHIN 1 second",
    "SEQ(a, b) WHERE strict_contiguity { a.s = 'y' } OUTPUT COUNT",
)
"""The fourth is about a type that no row group holds, which its statistics tell."""


def events() -> pa.Table:
    """The events that every file holds, with strings as codes and without, numbers, times and lists."""
    chance = Random(7)
    plain = {
        "ts": pa.array([k * 500_000 for k in range(EVENTS)], pa.timestamp("us")),
        "type": pa.array([chance.choice("ABC") for _ in range(EVENTS)]),
        "k": pa.array([chance.randrange(3) for _ in range(EVENTS)], pa.int32()),
        "v": pa.array([chance.choice([*range(60), None]) for _ in range(EVENTS)], pa.int64()),
        "x": pa.array([chance.random() for _ in range(EVENTS)]),
        "s": pa.array([chance.choice(["x", "y", "größer", None]) for _ in range(EVENTS)]).dictionary_encode(),
        "at": pa.array([chance.randrange(2**40) for _ in range(EVENTS)], pa.timestamp("ms", "Europe/Berlin")),
        "l": pa.array([[chance.random()] * chance.randrange(3) for _ in range(EVENTS)]),
    }
    return pa.table(plain)


def _parquet(**options: Any) -> bytes:
    file = io.BytesIO()
    pq.write_table(events(), file, row_group_size=ROW_GROUP_EVENTS, **options)
    return file.getvalue()


def _arrow(open_writer: Callable[[io.BytesIO, pa.Schema, pa.ipc.IpcWriteOptions], Any], codec: str | None) -> bytes:
    file, table = io.BytesIO(), events()
    with open_writer(file, table.schema, pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table, max_chunksize=ROW_GROUP_EVENTS)
    return file.getvalue()


def _new_file(file: io.BytesIO, schema: pa.Schema, options: pa.ipc.IpcWriteOptions) -> Any:
    return pa.ipc.new_file(file, schema, options=options)


def _new_stream(file: io.BytesIO, schema: pa.Schema, options: pa.ipc.IpcWriteOptions) -> Any:
    return pa.ipc.new_stream(file, schema, options=options)


def _csv() -> bytes:
    file = io.BytesIO()
    table = events().drop_columns(["l"])
    pa.csv.write_csv(table.set_column(table.column_names.index("s"), "s", table["s"].cast(pa.string())), file)
    return file.getvalue()


def _json(rows: Callable[[list[str]], str]) -> bytes:
    lines = [json.dumps(row | {name: str(row[name]) for name in ("ts", "at")}) for row in events().to_pylist()]
    return rows(lines).encode()


FORMATS: Mapping[str, Callable[[], bytes]] = {
    "plain.parquet": lambda: _parquet(compression="none"),
    "snappy.parquet": lambda: _parquet(compression="snappy", data_page_version="2.0"),
    "zstd.parquet": lambda: _parquet(compression="zstd", write_page_checksum=True, write_page_index=True),
    "no_codes.parquet": lambda: _parquet(use_dictionary=False, compression="none", store_schema=False),
    "file.arrow": lambda: _arrow(_new_file, None),
    "zstd.feather": lambda: _arrow(_new_file, "zstd"),
    "stream.arrows": lambda: _arrow(_new_stream, None),
    "events.csv": _csv,
    "events.jsonl": lambda: _json("\n".join),
    "events.json": lambda: _json(lambda lines: f"[{','.join(lines)}]"),
}
"""The bytes of an unharmed file, by the name of the file."""


@cache
def unharmed(name: str) -> bytes:
    """The bytes of a file, which are made once."""
    return FORMATS[name]()


def damaged(data: bytes, chance: Random) -> bytes:
    """The bytes with some flipped, deleted or inserted; half of the damage is near an end, where formats say most."""
    found = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 1, 2, 3])):
        if not found:
            break
        near = chance.choice([len(found), len(found), 64, 1_500])
        at = max(0, len(found) - 1 - chance.randrange(near)) if chance.random() < 0.7 else chance.randrange(len(found))
        match chance.choice(["flip"] * 6 + ["set"] * 3 + ["copy"] * 2 + ["delete", "insert", "cut"]):
            case "flip":
                found[at] ^= 1 << chance.randrange(8)
            case "set":
                found[at] = chance.choice([0, 1, 127, 128, 255, chance.randrange(256)])
            case "delete":
                del found[at : at + chance.choice([1, 1, 4, 40])]
            case "insert":
                found[at:at] = chance.randbytes(chance.choice([1, 1, 4, 40]))
            case "cut":
                del found[at:]
            case _:
                size, source = chance.choice([1, 4, 8, 40]), chance.randrange(len(found))
                found[at : at + size] = found[source : source + size]
    return bytes(found)


def run_file(chance: Random, limits: dict[str, Any]) -> None:
    """A query over a file with bytes changed, which another file may follow that is as it was."""
    name = chance.choice(list(FORMATS))
    text = chance.choice(QUERIES)
    given: dict[str, Any] = {"jit": False, "max_matches": 5_000, **limits}
    with TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(damaged(unharmed(name), chance))
        source: Any = path
        if name.endswith(".parquet") and chance.random() < 0.2:
            Path(folder, f"then_{name}").write_bytes(unharmed(name))
            source = Path(folder) if chance.random() < 0.7 else pa.dataset.dataset(folder, schema=events().schema)
        match chance.choice(["match", "match", "match", "reference", "stream", "explain"]):
            case "match":
                look_at(augury.match(source, text, **given), chance)
            case "reference":
                look_at(augury.match(source, text, plan="reference", **given), chance)
            case "stream":
                stream = Matcher(text, events(), **given)
                look_at(stream.feed(source), chance)
                look_at(stream.finish(), chance)
            case _:
                augury.explain(text, source, stage=chance.choice(["bound", "plan"]), **given)


def look_at(found: Matches, chance: Random) -> None:
    """Read columns of events that are fetched from the file when they are asked for."""
    match chance.choice(["shown", "arrow", "pandas", "values"]):
        case "shown":
            repr(found.head(3))
        case "arrow":
            found.to_arrow().validate(full=True)
        case "pandas":
            found.to_pandas()
        case _:
            [match.events for match in found.head(20)]
