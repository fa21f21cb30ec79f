"""Subjects of the playground: events given at the start, and bundled examples."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from augury.engine.scan.scan import Scan
from augury.engine.sources.events import read_events
from augury.engine.sources.schemas import KnownColumns, known_events
from augury.errors import HostError
from augury.ir.functions import BUILTINS, INTERNAL
from augury.ir.terms import AGGREGATES, OutputMode, Strategy
from augury.ir.text import name_text
from augury.lang.words import CLAUSES, CONSTANTS, OPERATORS
from augury.options import Roles
from augury.serve.examples import Example

PATTERN, SQL = "PATTERN", "SQL"
LANGUAGES = (PATTERN, SQL)

EVENTS_TABLE = "events"
"""The name of the events in SQL; each file of an example is also a table under its own name."""

FIRST_QUERY = {
    PATTERN: "PATTERN SEQ({first} a, {second} b)\nWITHIN  1 hour\n",
    SQL: (
        "SELECT *\nFROM events MATCH_RECOGNIZE (\n  ORDER BY {time}\n  MEASURES FIRST(A.{time}) AS since\n"
        "  PATTERN (A B)\n  DEFINE B AS TRUE)\n"
    ),
}
"""Initial queries by language, where no other is known."""

WORDS = (
    *((word, "clause") for word in CLAUSES),
    *((word, "") for word in (*OPERATORS, *CONSTANTS, "SEQ", "PERMUTE")),
    *((strategy.value, "strategy") for strategy in Strategy),
    *((str(mode), "OUTPUT") for mode in OutputMode),
    *((name, "function") for name in sorted({*BUILTINS, *AGGREGATES} - set(INTERNAL))),
)
"""Keywords of the pattern language, with descriptions."""

SQL_WORDS = (
    *("SELECT", "FROM", "WHERE", "MATCH_RECOGNIZE", "PARTITION BY", "ORDER BY", "MEASURES", "ONE ROW PER MATCH"),
    *("ALL ROWS PER MATCH", "AFTER MATCH SKIP PAST LAST ROW", "PATTERN", "SUBSET", "DEFINE", "WITHIN"),
    *("PREV", "NEXT", "FIRST", "LAST", "CLASSIFIER", "MATCH_NUMBER"),
)


class Subject:
    """Events to query, and an initial query; files are read on first use."""

    def __init__(
        self,
        name: str,
        events: Mapping[str, Path | pa.Table],
        roles: Roles | None = None,
        queries: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.language = next(iter(queries), PATTERN) if queries else PATTERN
        self._events, self._roles, self._queries = dict(events), roles, dict(queries or {})

    @cached_property
    def known(self) -> KnownColumns:
        """The events that a PATTERN is matched in, which are those of the first table."""
        roles = self._roles or likely_roles(self.tables[EVENTS_TABLE].schema)
        known = known_events(next(iter(self._events.values())), roles)
        if known is None:
            raise HostError("A703", f"there are no events in `{self.name}`", "name a file that holds some")
        return known

    @property
    def scan(self) -> Scan:
        """The scan that reads these events."""
        scan = self.known.scan
        assert scan is not None, "events that were given are scanned"
        return scan

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The tables of a SQL query."""
        tables = {name: read_events(given, "") for name, given in self._events.items()}
        return {EVENTS_TABLE: next(iter(tables.values())), **tables}

    def query(self, language: str) -> str:
        """The initial query."""
        if language in self._queries:
            return self._queries[language]
        types = sorted(self.types) or ["ANY"]
        time, first, second = map(name_text, (self.known.schema.time, types[0], types[-1]))
        return FIRST_QUERY[language].format(time=time, first=first, second=second)

    @cached_property
    def types(self) -> frozenset[str]:
        """The types of the events."""
        return frozenset() if self.known.schema.type is None else self.scan.types()

    def words(self, language: str) -> list[tuple[str, str, bool]]:
        """Completions: names of the events and keywords, each with a description, and whether it is a column."""
        if language == SQL:
            tables = self.tables.values()
            columns = {name: str(table.schema.field(name).type) for table in tables for name in table.column_names}
            others = [*((name, "table") for name in self.tables), *((word, "SQL") for word in SQL_WORDS)]
        else:
            columns = {column.name: str(column.type) for column in self.known.schema.columns}
            others = [*((name, "event type") for name in sorted(self.types)), *WORDS]
        return [(name, kind, True) for name, kind in columns.items()] + [(name, kind, False) for name, kind in others]

    def head(self, rows: int) -> tuple[pa.Table, int]:
        """The first events in order of arrival, with their rows, and the total number of events."""
        scan = self.scan
        numbers = np.arange(min(rows, scan.rows))
        return scan.log.fetch(numbers).add_column(0, "row", pa.array(numbers)), scan.rows


def likely_roles(arrow: pa.Schema) -> Roles:
    """Default columns of events: `ts` and `type`, or the first column of times.

    >>> likely_roles(pa.schema([("sensor", pa.string()), ("day", pa.date32())]))
    Roles(time='day', type=None, order_by=None, time_unit='s')
    """
    usual = Roles()
    times = [field.name for field in arrow if pa.types.is_temporal(field.type)]
    time = usual.time if usual.time in arrow.names or not times else times[0]
    return Roles(time=time, type=usual.type if usual.type in arrow.names else None)


def example_subject(example: Example) -> Subject:
    """The events of a bundled example; in SQL each of its files is a table."""
    return Subject(
        example.name,
        {path.stem: path for path in example.files},
        None,
        {example.language: example.text},
    )
