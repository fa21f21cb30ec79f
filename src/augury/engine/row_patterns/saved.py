"""The state of a bucket under a row pattern as bytes, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from augury.engine.row_patterns.bucket import KeyStates, RowBucket, new_bucket
from augury.engine.state.compression import compress
from augury.engine.state.facts import Facts
from augury.engine.state.head import packed_header, unpacked
from augury.errors import HostError
from augury.ir.row_pattern import BoundRowPattern
from augury.runtime.checks import MAX_COUNT, ArraySpec, flags, inconsistent, read_arrays, require
from augury.runtime.state import FOREVER, LONG_AGO, RunState

FAMILY, VERSION = "row-pattern-bucket", 1

PROGRESS = (
    ArraySpec("rows", low=0, below=MAX_COUNT),
    ArraySpec("candidate", low=0, below=MAX_COUNT),
    ArraySpec("number", low=1, below=MAX_COUNT),
    ArraySpec("mapped", low=0, below=MAX_COUNT),
    flags("forgotten"),
)


def header_bytes(meaning: Mapping[str, str]) -> bytes:
    """A head without rows, which says which query writes the checkpoint."""
    return packed_header(FAMILY, VERSION, meaning)


def check_meaning(data: bytes, meaning: Mapping[str, str]) -> RunState:
    """Read a saved state; one that another query wrote is refused."""
    help = "give the query a checkpoint of its own"
    other = HostError("A570", "the checkpoint was written by a query of the pattern language", help)
    return unpacked(data, FAMILY, VERSION, meaning, other)


def bucket_bytes(bucket: RowBucket, meaning: Mapping[str, str]) -> bytes:
    """The whole state of a bucket as bytes."""
    keys = bucket.keys
    arrays = (keys.rows, keys.candidate, keys.number, keys.mapped, keys.forgotten.astype(np.uint8))
    progress = pa.table({spec.name: pa.array(values) for spec, values in zip(PROGRESS, arrays, strict=True)})
    tables = {"held": bucket.held, "kept": bucket.kept, "progress": progress, "keys": keys.values}
    plain = {name: table.combine_chunks() for name, table in tables.items()}
    facts = {"meaning": dict(meaning), "watermark": bucket.watermark}
    return compress(RunState(FAMILY, VERSION, plain, facts).to_bytes())


def read_bucket(data: bytes, bound: BoundRowPattern, meaning: Mapping[str, str]) -> RowBucket:
    """Read what `bucket_bytes` wrote for the same query; anything else is a `HostError`."""
    state = check_meaning(data, meaning)
    watermark = Facts(state.facts, "the head").one("watermark", int)
    require(LONG_AGO <= watermark <= FOREVER, f"`watermark` cannot be {watermark}")
    held, kept = (_table(state, name, bound.schema) for name in ("held", "kept"))
    arrays = read_arrays(state.tables, "progress", PROGRESS)
    rows, candidate, number, mapped, forgotten = (arrays[spec.name] for spec in PROGRESS)
    values = _table(state, "keys", new_bucket(bound).keys.values.schema)
    require(values.num_rows == len(rows), "it has other keys than states of keys")
    require(int(rows.sum()) == kept.num_rows, "its keys have other rows than are kept")
    require((candidate <= rows).all() and (mapped <= rows).all(), "a key has come farther than its rows")
    keys = KeyStates(values, rows, candidate, number, mapped, forgotten.astype(np.bool_))
    return RowBucket(held, kept, keys, watermark)


def _table(state: RunState, name: str, schema: pa.Schema) -> pa.Table:
    table = state.tables.get(name)
    if table is None or not table.schema.equals(schema):
        raise inconsistent(f"`{name}` has other columns than this query")
    return table
