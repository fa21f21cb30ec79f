"""The pages for those who come from another engine: every row of their tables holds on the plan that is chosen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import augury
from augury.testing.tables import Case, describe, parse_stream

PAGES = sorted((Path(__file__).parents[2] / "docs" / "coming-from").glob("*.md"))


@dataclass(frozen=True, slots=True)
class Row:
    """What another engine says, and the same as a case of ours."""

    theirs: str
    case: Case


def rows(page: Path) -> list[Row]:
    """The rows of the tables with four columns: theirs, query, stream, matches."""
    found = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        cells = [c.replace("\\|", "|").strip().strip("`") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[1] != "query" and not set(cells[1]) <= {"-"}:
            found.append(Row(cells[0], Case(page.name, number, *cells[1:])))
    return found


ROWS = [row for page in PAGES for row in rows(page)]


def test_the_rows_were_found() -> None:
    assert {page.stem for page in PAGES} >= {"flink", "siddhi", "esper", "sase", "opencep"}
    assert len(ROWS) >= 50


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.case))
def test_row(row: Row) -> None:
    stream = parse_stream(row.case.stream)
    assert describe(augury.match(stream, row.case.query, jit=False), stream) == row.case.expected, row.theirs
