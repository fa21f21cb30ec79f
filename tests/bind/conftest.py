"""A stream of stock events to bind queries over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from augury.bind import bind
from augury.errors import QueryError
from augury.ir.query import BoundQuery
from augury.lang import parse_query
from augury.schema import EventSchema
from augury.source import Source

Bound: TypeAlias = Callable[..., BoundQuery]
Codes: TypeAlias = Callable[..., list[str]]

STOCKS = pa.schema(
    [
        ("ts", pa.timestamp("ms")),
        ("type", pa.string()),
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
        ("halted", pa.bool_()),
        ("history", pa.list_(pa.float64())),
        ("micros", pa.timestamp("us")),
        ("day", pa.date32()),
        ("delay", pa.duration("ms")),
        ("wait", pa.duration("s")),
        ("nothing", pa.null()),
        ("blob", pa.binary()),
        ("len", pa.int64()),
    ]
)


def run(text: str, *, arrow: pa.Schema = STOCKS, options: dict[str, Any] | None = None, **names: Any) -> BoundQuery:
    source = Source(text)
    return bind(parse_query(source), EventSchema.from_arrow(arrow, **(options or {})), source, **names)


@pytest.fixture
def bound() -> Bound:
    """Bind query text over the stocks."""
    return run


@pytest.fixture
def codes() -> Codes:
    """The codes of the errors of query text, none when it is right."""

    def codes_of(text: str, **names: Any) -> list[str]:
        try:
            run(text, **names)
        except QueryError as error:
            return [d.code for d in error.diagnostics]
        return []

    return codes_of
