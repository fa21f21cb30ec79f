"""Checks saved arrays before code without bounds checks reads them.

A kernel declares in a table of `ArraySpec` what each array of its state holds and what its numbers refer to.
`read_arrays` converts a saved table to NumPy arrays if it is exactly as declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from augury.errors import HostError
from augury.runtime.arrays import FLOAT64, INT32, INT64, UINT8, Array, ArraySpec

__all__ = [
    "FLOAT64",
    "INT32",
    "INT64",
    "MAX_COUNT",
    "UINT8",
    "Array",
    "ArraySpec",
    "ends_of",
    "flags",
    "inconsistent",
    "read_arrays",
    "require",
]

MAX_COUNT = 2**62  # largest saved number of events, ranks and counts: adding a batch to it still fits 64 bits


def flags(name: str) -> ArraySpec:
    """An array of 0 and 1."""
    return ArraySpec(name, UINT8, 0, 2)


def read_arrays(
    tables: Mapping[str, pa.Table],
    table: str,
    specs: Sequence[ArraySpec],
    sizes: Mapping[str, int] | None = None,
    *,
    rows: int | None = None,
) -> dict[str, Array]:
    """Copy the arrays of a saved table; a table that is not as the specs say is a `HostError`.

    `sizes` are the numbers of things that the arrays refer to, by `refers_to`. `rows` is the required length.
    """
    saved = tables.get(table)
    if saved is None:
        raise inconsistent(f"it has no `{table}`")
    if saved.column_names != [spec.name for spec in specs]:
        raise inconsistent(f"`{table}` has other columns than this query")
    if rows is not None and saved.num_rows != rows:
        raise inconsistent(f"`{table}` has {saved.num_rows} rows, not {rows}")
    return {spec.name: _array(saved.column(k), spec, table, sizes or {}) for k, spec in enumerate(specs)}


def _array(column: pa.ChunkedArray, spec: ArraySpec, table: str, sizes: Mapping[str, int]) -> Array:
    if column.type != pa.from_numpy_dtype(spec.dtype) or column.null_count:
        raise inconsistent(f"`{spec.name}` of `{table}` does not hold {spec.dtype} throughout")
    values = np.array(column.to_numpy(), dtype=spec.dtype)
    below = spec.below if spec.refers_to is None else sizes[spec.refers_to]
    if len(values):
        if spec.low is not None and values.min() < spec.low:
            raise inconsistent(f"`{spec.name}` of `{table}` is {values.min()}, less than {spec.low}")
        if below is not None and values.max() >= below:
            raise inconsistent(f"`{spec.name}` of `{table}` is {values.max()}, of {below}")
    if spec.ascending and (values[1:] < values[:-1]).any():
        raise inconsistent(f"`{spec.name}` of `{table}` goes down")
    if spec.earlier and (values >= np.arange(len(values))).any():
        raise inconsistent(f"`{spec.name}` of `{table}` leads to a later cell")
    return values


def require(holds: Any, what: str) -> None:
    """Refuse a saved state unless `holds` is true, or an array whose values are all true."""
    if not (holds if isinstance(holds, bool) else bool(np.all(holds))):
        raise inconsistent(what)


def inconsistent(what: str) -> HostError:
    """The error for a saved state whose parts do not fit together."""
    return HostError(
        "A595",
        f"the saved state cannot be continued: {what}",
        "it was changed or damaged after it was written: restore an earlier one",
    )


def ends_of(tables: Mapping[str, pa.Table], partitions: int) -> dict[int, tuple[int, int]]:
    """Read, by partition, the rank and time of the end of the last match kept (NONOVERLAP)."""
    specs = (ArraySpec("partition", low=0, refers_to="partitions"), ArraySpec("rank", low=-1), ArraySpec("time"))
    arrays = read_arrays(tables, "ends", specs, {"partitions": max(1, partitions)})
    found = {p: (rank, time) for p, rank, time in zip(*(arrays[spec.name].tolist() for spec in specs), strict=True)}
    require(len(found) == len(arrays["rank"]), "a partition has two last matches")
    return found
