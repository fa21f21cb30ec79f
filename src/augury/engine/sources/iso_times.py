"""Parses time columns of ISO 8601 strings into timestamps."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from augury.errors import HostError


def parse_times(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Parse ISO 8601 strings as timestamps in microseconds, or nanoseconds where their digits need them.

    With a time zone or offset they become UTC; some with and some without is an error.
    """
    text = column.cast(pa.string())
    for unit, zone in (("us", None), ("us", "UTC"), ("ns", None), ("ns", "UTC")):
        try:
            return text.cast(pa.timestamp(unit, zone))
        except pa.ArrowInvalid:
            continue  # The next form is tried; what fits none is found below.
    values: list[dt.datetime | None] = []
    zoned: int | None = None
    naive: int | None = None
    for row, value in enumerate(text.to_pylist()):
        try:
            time = None if value is None else dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise HostError(
                "A535",
                f"the time `{value}` of column `{name}` in row {row} is not an ISO 8601 time",
                "write it as 2026-03-14T09:00:02.120, or as a number of ticks",
            ) from None
        if time is not None and time.tzinfo is None:
            naive = row if naive is None else naive
        elif time is not None:
            zoned = row if zoned is None else zoned
            time = time.astimezone(dt.UTC)
        if zoned is not None and naive is not None:
            raise HostError(
                "A538",
                f"times of column `{name}` have a time zone in row {zoned} and none in row {naive}",
                "give all of them a zone, or none",
            )
        values.append(time)
    return pa.chunked_array([pa.array(values, pa.timestamp("us", None if zoned is None else "UTC"))])
