"""SQL text is a stranger's: it sees the tables it was given, and nothing else of the machine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import augury
from augury.errors import AuguryError

T = pa.table({"a": [1, 2]})
SECRET = "the secret of this file"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('{file}')",
        "SELECT * FROM read_text('{file}')",
        "SELECT * FROM read_blob('{file}')",
        "SELECT * FROM read_json('{file}')",
        "SELECT * FROM read_parquet('{file}')",
        "SELECT * FROM '{file}'",
        'SELECT * FROM "{file}"',
        "SELECT * FROM glob('{folder}/*')",
        "SELECT * FROM sniff_csv('{file}')",
        "SELECT (SELECT content FROM read_text('{file}')) FROM t",
        "SELECT * FROM read_text('{file}') MATCH_RECOGNIZE (MEASURES LAST(content) AS c PATTERN (A) DEFINE A AS true)",
        "SELECT * FROM t MATCH_RECOGNIZE (MEASURES (SELECT content FROM read_text('{file}')) AS c "
        "PATTERN (A) DEFINE A AS true)",
        "WITH x AS (SELECT * FROM read_csv('{file}')) SELECT * FROM x",
        "COPY (SELECT 1) TO '{folder}/written.csv'",
        "COPY t TO '{folder}/written.csv'",
        "ATTACH '{folder}/written.db'",
        "EXPORT DATABASE '{folder}/written'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "PRAGMA enable_external_access",
        "CREATE TABLE u AS SELECT 1",
        "DROP VIEW t",
        "SELECT * FROM read_csv('https://127.0.0.1:9/x.csv')",
        "SELECT 1; SELECT * FROM read_text('{file}')",
        "SELECT * FROM pragma_enable_external_access()",
        "SELECT getenv('HOME')",
        "SELECT * FROM python_map_function(1)",
        "SELECT * FROM secret",
    ],
)
@pytest.mark.parametrize("dialect", ["trino", "duckdb"])
def test_nothing_but_the_tables_is_in_reach(query: str, dialect: str, tmp_path: Path) -> None:
    # Nor are variables of the caller tables, as they are in DuckDB by itself.
    secret = tmp_path / "secret.csv"
    secret.write_text(SECRET)
    text = query.replace("{file}", str(secret)).replace("{folder}", str(tmp_path))
    with pytest.raises(AuguryError) as caught:
        augury.sql(text, dialect=dialect, t=T)
    assert SECRET not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["secret.csv"]


def test_a_table_may_have_any_name() -> None:
    name = 'x"; DROP TABLE y; --'
    assert augury.sql('SELECT a FROM "x""; DROP TABLE y; --"', **{name: T}).to_arrow().num_rows == 2


def test_names_and_strings_are_never_code() -> None:
    label = '"; import os; os.system("x"); "'
    quoted = label.replace('"', '""')
    query = f"""SELECT * FROM t MATCH_RECOGNIZE (
        MEASURES CLASSIFIER() AS "a""b", '{label}' AS c PATTERN ("{quoted}") DEFINE "{quoted}" AS a = 1)"""
    found = augury.sql(query, t=T).to_arrow()
    assert found.to_pylist() == [{'a"b': label, "c": label}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (" + "(" * 500 + "A" + ")" * 500 + ") DEFINE A AS true)",
        "SELECT * FROM t MATCH_RECOGNIZE (MEASURES "
        + "(" * 500
        + "1"
        + ")" * 500
        + " AS x PATTERN (A) DEFINE A AS true)",
        "SELECT * FROM t MATCH_RECOGNIZE (MEASURES " + "-" + " -" * 500 + "1 AS x PATTERN (A) DEFINE A AS true)",
        "SELECT " + "(" * 5000 + "1" + ")" * 5000,
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A{99999999999999999999}) DEFINE A AS true)",
        "SELECT 'abc",
        "",
        ";",
        "SELECT * FROM t MATCH_RECOGNIZE",
        "SELECT * FROM t MATCH_RECOGNIZE (",
        "SELECT * FROM t MATCH_RECOGNIZE ()",
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A",
        "\x00",
    ],
)
def test_broken_text_is_an_error_with_a_code(query: str) -> None:
    with pytest.raises(AuguryError, match=r"error\[A7\d\d\]"):
        augury.sql(query, t=T)
