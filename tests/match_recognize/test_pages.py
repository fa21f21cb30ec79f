"""Every table and every query of the pages on MATCH_RECOGNIZE."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury.engine.sources.files import read_csv
from augury.errors import AuguryError
from augury.testing.row_patterns import rows_of

PAGES = Path(__file__).parents[2] / "docs" / "language" / "match-recognize"
TABLE = re.compile(r"^\| *pattern .*\n\|[-|]+\n(?:\|.*\n)+", re.MULTILINE)
CSV = re.compile(r"```csv (\w+)\n(.*?)```", re.DOTALL)
QUERY = re.compile(r"```(sql|augury \w+)\n(.*?)```\n```text\n(.*?)```", re.DOTALL)
CONDITIONS = {"A": "letter = 'a'", "B": "letter = 'b'", "C": "letter = 'c'", "X": "true", "Y": "true"}


def lines() -> Iterator[Any]:
    """Every row of every table, by the names of its columns."""
    for page in sorted(PAGES.glob("*.md")):
        for table in TABLE.findall(page.read_text(encoding="utf-8")):
            header, _, *rows = [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in table.strip().splitlines()]
            for row in rows:
                cells = [cell.strip("`").replace("\\|", "|") for cell in row]
                yield pytest.param(dict(zip(header, cells, strict=True)), id=f"{page.stem}: {' '.join(cells[:2])}")


def queries() -> Iterator[Any]:
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        tables = {name: read_csv(body.encode(), name) for name, body in CSV.findall(text)}
        for number, (language, query, expected) in enumerate(QUERY.findall(text), start=1):
            yield pytest.param(language, query, expected, tables, id=f"{page.stem}-{number}")


def test_there_are_tables_and_queries() -> None:
    assert len(list(lines())) > 60
    assert len(list(queries())) > 50


def test_the_page_of_errors_lists_every_code_once() -> None:
    source = Path(augury.__file__).parent
    written = {code for file in source.rglob("*.py") for code in re.findall(r'"(A7\d\d)"', file.read_text("utf-8"))}
    page = (PAGES / "errors.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| (A7\d\d) \|", page, re.MULTILINE)) == sorted(written)


def test_an_example_of_an_error_has_the_code_of_its_section() -> None:
    _, *pieces = re.split(r"^### (A7\d\d):", (PAGES / "errors.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for code, text in zip(pieces[::2], pieces[1::2], strict=True):
        found = set(re.findall(r"^error\[(A\d+)\]", text, re.MULTILINE))
        # Two of them would take long to write or to run, and have tests of their own.
        assert found == (set() if code in ("A704", "A741") else {code})


@pytest.mark.parametrize("line", list(lines()))
def test_table(line: dict[str, str]) -> None:
    stream = line["rows"]
    table = pa.table({"place": pa.array(range(1, len(stream) + 1)), "letter": list(stream)})
    mentioned = {v: c for v, c in CONDITIONS.items() if re.search(rf"\b{v}\b", line["pattern"])} or {}
    # A clause needs a condition; one of a variable that cannot be reached changes nothing.
    pattern = line["pattern"] if mentioned else f"{line['pattern']} | X"
    define = ", ".join(f"{v} AS {c}" for v, c in (mentioned or {"X": "true"}).items())
    clause = (
        "ORDER BY place MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS who "
        f"{line.get('rows per match', 'ALL ROWS PER MATCH')} "
        f"AFTER MATCH {line.get('after match', 'SKIP PAST LAST ROW')} "
        f"PATTERN ({pattern}) DEFINE {define}"
    )
    found: dict[Any, tuple[int, str]] = {}
    for place, number, who, _ in rows_of(clause, table):
        key = ("row", place) if number is None else number
        first, before = found.get(key, (place, ""))
        found[key] = first, before + ("-" if number is None else who or "()")
    assert (" ".join(f"{first}:{who}" for first, who in found.values()) or "none") == line["matches"]


@pytest.mark.parametrize("language, query, expected, tables", list(queries()))
def test_query(language: str, query: str, expected: str, tables: dict[str, pa.Table]) -> None:
    try:
        if language == "sql":
            said = repr(augury.sql(query.rstrip("\n"), **tables))
        else:
            said = repr(augury.match(tables[language.split()[1]], query))
    except AuguryError as e:
        said = str(e)
    assert said.rstrip("\n") == expected.rstrip("\n")
