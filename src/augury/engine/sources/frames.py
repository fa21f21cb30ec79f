"""Converts pandas data frames to tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from augury.engine.sources.readable import two_columns
from augury.engine.sources.rows import mixed_types

INDEX = "index"
"""The name of an index without a name, as in `reset_index` of pandas."""


def pandas_table(frame: Any, time: str) -> pa.Table:
    """The columns of a pandas frame, and its index if that holds the time.

    The index is left out unless `time`, which is then no column, names one of its levels: then every level that has a
    name is a column. An index without a name is called "index", as `reset_index` does.
    """
    columns = [str(name) for name in frame.columns]
    repeated = sorted({name for name in columns if columns.count(name) > 1}) if len(set(columns)) < len(columns) else []
    if repeated:
        raise two_columns(repeated[0])
    try:
        table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        if time not in columns:
            for name, values in _levels(frame, time).items():
                if name not in columns:
                    table = table.append_column(name, pa.Array.from_pandas(values))
    except (pa.ArrowException, OverflowError, ValueError, TypeError, KeyError) as e:
        raise mixed_types(f"the data frame has a column of mixed types: {e}") from e
    return table


def _levels(frame: Any, time: str) -> dict[str, Any]:
    """The levels of the index by name, if one of them is the time."""
    named = {str(name): k for k, name in enumerate(frame.index.names) if name is not None}
    if time in named:
        return {name: frame.index.get_level_values(k) for name, k in named.items()}
    if time == INDEX and frame.index.nlevels == 1 and not named:
        return {INDEX: frame.index}
    return {}
