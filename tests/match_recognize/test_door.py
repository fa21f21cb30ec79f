"""`augury.sql`: what goes in, what comes out, and what surrounds row patterns."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury
from augury.errors import HostError, QueryError
from augury.testing.row_patterns import rows_of

TICKS = pa.table(
    {
        "Symbol": pa.array(["x", "x", "y", "x", "y", "y", None, None]),
        "day": pa.array([1, 2, 1, 3, 2, 3, 1, 2], pa.int32()),
        "price": pa.array([9, 7, 5, 8, 4, 6, 3, 2], pa.int64()),
    }
)
FALL = """
SELECT * FROM ticks MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY day
  MEASURES FIRST(price) AS high, LAST(price) AS low
  PATTERN (START_ROW DOWN+)
  DEFINE DOWN AS price < PREV(price))
"""


def rows(query: str, **tables: Any) -> list[tuple[Any, ...]]:
    found = augury.sql(query, **tables).to_arrow()
    return list(zip(*(c.to_pylist() for c in found.columns), strict=True))


def test_null_keys_are_one_partition_and_names_have_no_case() -> None:
    assert sorted(rows(FALL, ticks=TICKS), key=str) == [("x", 9, 7), ("y", 5, 4), (None, 3, 2)]
    assert rows(FALL.replace("ticks", "TICKS").replace("price", '"price"'), Ticks=TICKS) == rows(FALL, ticks=TICKS)


def test_the_result_is_arrow_pandas_polars_and_a_stream(tmp_path: Path) -> None:
    pq.write_table(TICKS, tmp_path / "ticks.parquet")
    result = augury.sql(FALL, ticks=tmp_path / "ticks.parquet")
    assert result.to_arrow().column_names == ["Symbol", "high", "low"]
    assert result.to_pandas()["high"].tolist() == result.to_polars()["high"].to_list() == [9, 5, 3]
    assert pa.table(result).equals(result.to_arrow())
    assert len(result) == 3
    assert repr(result).splitlines()[0] == "3 rows"


@pytest.mark.parametrize("kind", ["pandas", "polars", "dicts"])
def test_frames_of_every_kind_are_tables(kind: str) -> None:
    import polars as pl

    frame: Any = {"pandas": TICKS.to_pandas, "polars": lambda: pl.from_arrow(TICKS), "dicts": TICKS.to_pylist}[kind]()
    assert rows(FALL, ticks=frame) == rows(FALL, ticks=TICKS)


def test_ties_are_in_the_order_of_the_input() -> None:
    letters = list("dbacfe") * 500
    table = pa.table({"k": pa.array([1] * len(letters)), "letter": letters})
    query = """SELECT who FROM {} MATCH_RECOGNIZE (
        ORDER BY k MEASURES array_join(array_agg(letter), '') AS who PATTERN (A+) DEFINE A AS true)"""
    assert rows(query.format("t"), t=table) == [("".join(letters),)]
    # Through DuckDB too.
    assert rows(query.format("(SELECT * FROM t WHERE k > 0)"), t=table) == [("".join(letters),)]


def test_order_by_says_where_nulls_and_nan_go() -> None:
    table = pa.table({"x": pa.array([2.0, None, float("nan"), 1.0]), "id": [1, 2, 3, 4]})

    def order(words: str) -> list[int]:
        clause = f"ORDER BY {words} MEASURES array_agg(id) AS ids PATTERN (A+) DEFINE A AS true"
        return list(rows(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=table)[0][0])

    assert order("x") == [4, 1, 3, 2]
    assert order("x DESC") == [3, 1, 4, 2]
    assert order("x NULLS FIRST") == [2, 4, 1, 3]
    assert order("x DESC NULLS FIRST") == [2, 3, 1, 4]


TYPES = {
    "decimal": (pa.decimal128(10, 2), [Decimal("1.50"), None]),
    "zoned": (pa.timestamp("us", "Europe/Berlin"), [dt.datetime(2026, 3, 14, 9, tzinfo=dt.UTC), None]),
    "fine": (pa.timestamp("ns"), [dt.datetime(2026, 3, 14), None]),
    "seconds": (pa.timestamp("s"), [dt.datetime(2026, 3, 14), None]),
    "day": (pa.date32(), [dt.date(2026, 3, 14), None]),
    "numbers": (pa.list_(pa.int32()), [[1, None], []]),
    "small": (pa.int8(), [1, None]),
    "unsigned": (pa.uint32(), [2**32 - 1, None]),
    "real": (pa.float32(), [1.5, None]),
    "text": (pa.string(), ["ä", None]),
    "yes": (pa.bool_(), [True, None]),
    "bytes": (pa.binary(), [b"\x00", None]),
    "clock": (pa.time64("us"), [dt.time(9), None]),
    "took": (pa.duration("us"), [dt.timedelta(days=1, microseconds=1), None]),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_come_out_as_they_went_in(name: str) -> None:
    type, values = TYPES[name]
    table = pa.table({"k": [1, 2], name: pa.array(values, type)})
    clause = f"ORDER BY k MEASURES {name} AS m, FIRST({name}) AS f, array_agg({name}) AS l ALL ROWS PER MATCH"
    found = augury.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause} PATTERN (A+) DEFINE A AS true)", t=table).to_arrow()
    assert [found.schema.field(c).type for c in (name, "m", "f")] == [type] * 3
    assert found.schema.field("l").type == pa.list_(type)
    expected = table[name].to_pylist()
    assert found[name].to_pylist() == found["m"].to_pylist() == expected
    assert found["l"].to_pylist()[-1] == expected


def test_row_patterns_stand_wherever_tables_do() -> None:
    falls = FALL.strip()
    again = "MATCH_RECOGNIZE (ORDER BY high MEASURES count(*) AS n PATTERN (A+) DEFINE A AS true)"
    assert rows(f"SELECT n FROM ({falls}) {again}", ticks=TICKS) == [(3,)]
    assert rows(f"WITH f AS ({falls}), g AS (SELECT * FROM f {again}) SELECT * FROM g", ticks=TICKS) == [(3,)]
    assert rows(f"WITH f AS ({falls}) SELECT count(*) FROM f a JOIN f b ON a.high > b.high", ticks=TICKS) == [(3,)]
    assert rows(f"SELECT max(high) FROM ticks t JOIN ({falls}) f ON t.price = f.low", ticks=TICKS) == [(9,)]
    # Two in a row, and one after JOIN whose condition follows.
    twice = f"{falls.removesuffix(')')}) {again} AS m (k)"
    assert rows(twice.replace("SELECT *", "SELECT k"), ticks=TICKS) == [(3,)]
    joined = f"SELECT m.n FROM ticks t JOIN ticks {again.replace('high', 'price')} AS m ON t.price = m.n"
    assert rows(joined, ticks=TICKS) == [(8,)]
    union = f"SELECT high FROM ({falls}) UNION ALL SELECT price FROM ticks WHERE price = 6 ORDER BY 1"
    assert rows(union, ticks=TICKS) == [(3,), (5,), (6,), (9,)]


def test_a_name_of_with_hides_the_table() -> None:
    query = "WITH ticks AS (SELECT 1 AS day UNION ALL SELECT 2) SELECT * FROM ticks MATCH_RECOGNIZE (" \
        "MEASURES sum(day) AS s PATTERN (A+) DEFINE A AS true)"  # fmt: skip
    assert rows(query, ticks=TICKS) == [(3,)]


def test_columns_take_the_names_of_the_alias() -> None:
    assert rows(f"{FALL} AS m (a, b, c)".replace("SELECT *", "SELECT c, m.a"), ticks=TICKS)[0] == (7, "x")
    with pytest.raises(QueryError, match="A727"):
        rows(f"{FALL} AS m (a, b)", ticks=TICKS)


def test_a_measure_named_like_a_column_is_refused_where_the_name_is_used() -> None:
    clause = "ORDER BY day MEASURES FIRST(price) AS price ALL ROWS PER MATCH PATTERN (A) DEFINE A AS true"
    found = augury.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=TICKS).to_arrow()
    assert found.column_names == ["day", "price", "Symbol", "price_1"]
    with pytest.raises(QueryError, match="A728"):
        rows(f"SELECT price FROM t MATCH_RECOGNIZE ({clause})", t=TICKS)


def test_division_keeps_integers_inside_and_around() -> None:
    clause = "MEASURES sum(price) / 3 AS a, -7 / 2 AS b, 7 % -2 AS c, 1e0 / 0 AS d PATTERN (A+) DEFINE A AS true"
    query = f"SELECT a, b, c, d, a / 4, a / 4e0 FROM t MATCH_RECOGNIZE ({clause})"
    assert rows(query, t=TICKS) == [(14, -3, 1, float("inf"), 3, 3.5)]
    with pytest.raises(QueryError, match="division by zero"):
        rows(
            "SELECT * FROM t MATCH_RECOGNIZE (MEASURES 1 / (price - price) AS a PATTERN (A) DEFINE A AS true)", t=TICKS
        )
    with pytest.raises(HostError, match=r"(?i)division by zero"):
        rows("SELECT price / (price - price) FROM t", t=TICKS)


def test_what_is_not_needed_is_not_computed() -> None:
    measures = (
        "CASE WHEN price = 9 THEN 0 ELSE 1 / (price - 9) END AS a, "
        "COALESCE(1, 1 / 0) AS b, price < 0 AND 1 / 0 = 1 AS c"
    )
    found = rows(f"SELECT a, b, c FROM t MATCH_RECOGNIZE (MEASURES {measures} PATTERN (A) DEFINE A AS true)", t=TICKS)
    assert found[0] == (0, 1, False)


def test_no_rows_give_no_rows_with_their_types() -> None:
    found = augury.sql(FALL, ticks=TICKS.slice(0, 0)).to_arrow()
    assert found.num_rows == 0
    assert found.schema.types == [pa.string(), pa.int64(), pa.int64()]


def test_errors_of_the_call_have_codes() -> None:
    with pytest.raises(HostError, match="A796"):
        rows(FALL, tick=TICKS)
    with pytest.raises(HostError, match="A790"):
        augury.sql(FALL, dialect="tsqql", ticks=TICKS)
    with pytest.raises(HostError, match="A795"):
        augury.sql(FALL, ticks=TICKS, Ticks=TICKS)
    with pytest.raises(HostError, match="A793"):
        augury.sql(FALL, max_steps=0, ticks=TICKS)
    with pytest.raises(HostError, match="A792"):
        rows("SELECT nothing FROM ticks", ticks=TICKS)


def test_other_dialects_are_read() -> None:
    snowflake = FALL.replace('"', "").replace("symbol", '"Symbol"')
    assert augury.sql(snowflake, dialect="snowflake", ticks=TICKS).to_arrow().num_rows == 3
    spark = FALL.replace("symbol", "`Symbol`")
    assert augury.sql(spark, dialect="spark", ticks=TICKS).to_arrow().num_rows == 3


def test_the_package_loads_neither_sqlglot_nor_duckdb() -> None:
    code = "import sys, augury; print([m for m in ('sqlglot', 'duckdb') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_the_extra_the_error_names_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['duckdb'] = None\n"
        "import augury\n"
        "try: augury.sql('SELECT 1')\n"
        "except augury.HostError as e: print(e)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith("error[A794]")
    assert "augury[sql]" in found.stdout


def test_encoded_strings_are_strings() -> None:
    codes = pa.array(["b", None, "a", "b", "a"]).dictionary_encode()
    table = pa.table({"k": codes, "id": [1, 2, 3, 4, 5]})
    measures = "LAST(k || '!') AS m, count(*) AS n"
    clause = f"PARTITION BY k ORDER BY id MEASURES {measures} PATTERN (A+) DEFINE A AS k <> 'c' OR k IS NULL"
    found = rows(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=table)
    assert found == [("b", "b!", 2), (None, None, 1), ("a", "a!", 2)]
    clause = "ORDER BY k, id MEASURES k AS m ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS true"
    assert [r[1] for r in rows(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=table)] == [3, 5, 1, 4, 2]


def test_times_are_computed_with() -> None:
    start = dt.datetime(2026, 1, 31, 12)
    table = pa.table({"t": pa.array([start, start + dt.timedelta(hours=25)], pa.timestamp("ms")), "i": [1, 2]})
    measures = {
        "LAST(t) - FIRST(t)": dt.timedelta(hours=25),
        "LAST(t) - FIRST(t) > INTERVAL '1' DAY": True,
        "FIRST(t) + INTERVAL '1' MONTH": dt.datetime(2026, 2, 28, 12),
        "FIRST(t) - INTERVAL '90' MINUTE": start - dt.timedelta(minutes=90),
        "date_diff('hour', FIRST(t), LAST(t))": 25,
        "date_trunc('month', LAST(t))": dt.datetime(2026, 2, 1),
        "EXTRACT(day FROM LAST(t))": 1,
        "CAST(FIRST(t) AS date)": dt.date(2026, 1, 31),
        "FIRST(t) > DATE '2026-01-31'": True,
        "CAST(FIRST(t) AS varchar)": "2026-01-31 12:00:00.000",
        "FIRST(t) BETWEEN TIMESTAMP '2026-01-31 12:00:00' AND TIMESTAMP '2026-01-31 12:00:00.001'": True,
        "INTERVAL '1' HOUR * 3 = INTERVAL '3' HOUR": True,
    }
    listed = ", ".join(f"{text} AS m{k}" for k, text in enumerate(measures))
    found = rows(
        f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY i MEASURES {listed} PATTERN (A+) DEFINE A AS true)", t=table
    )
    assert dict(zip(measures, found[0], strict=True)) == measures


SCALARS: dict[str, Any] = {
    "1.10 + 2": Decimal("3.10"),
    "1.5 * 1.5": Decimal("2.25"),
    "7 / 2": 3,
    "7 / 2.0": Decimal("3.5"),
    "7e0 / 2": 3.5,
    "-7 % 3": -1,
    "2147483647 + 1": "overflow",
    "CAST(2147483647 AS bigint) + 1": 2147483648,
    "CAST('12' AS integer) + 1": 13,
    "CAST('x' AS integer)": "not an integer",
    "TRY_CAST('x' AS integer)": None,
    "CAST(2.5 AS integer)": 3,
    "CAST(1e0 AS varchar)": "1.0E0",
    "CAST(12345e-2 AS varchar)": "1.2345E2",
    "CAST('abcdef' AS varchar(3))": "abc",
    "CAST(1.005 AS decimal(3, 2))": Decimal("1.01"),
    "CAST(1000 AS decimal(3, 2))": "overflow",
    "NULL AND false": False,
    "NULL OR true": True,
    "NOT NULL": None,
    "NULL IS NULL": True,
    "1 IS DISTINCT FROM NULL": True,
    "1 IN (2, NULL)": None,
    "1 IN (1, NULL)": True,
    "1 NOT IN (2, 3)": True,
    "'a%b' LIKE 'a!%_' ESCAPE '!'": True,
    "'abc' LIKE '%b%'": True,
    "'abc' NOT LIKE 'b%'": True,
    "'aXbXc' LIKE 'a%X%c'": True,
    "CASE 2 WHEN 1 THEN 'a' WHEN 2 THEN 'b' END": "b",
    "CASE WHEN false THEN 1 END": None,
    "COALESCE(NULL, 2, 3)": 2,
    "NULLIF(1, 1)": None,
    "IF(1 > 2, 'a', 'b')": "b",
    "GREATEST(1, 2.5)": Decimal("2.5"),
    "'a' || 'b' || NULL": None,
    "concat('a', 'b', 'c')": "abc",
    "concat_ws('-', 'a', NULL, 'b')": "a-b",
    "array_join(ARRAY[1, NULL, 2], ',', '?')": "1,?,2",
    "ARRAY[1, 2][2]": 2,
    "ARRAY[1, 2][3]": "no element 3",
    "element_at(ARRAY[1, 2], 3)": None,
    "cardinality(ARRAY[1, 2])": 2,
    "contains(ARRAY['a'], 'a')": True,
    "substr('abcdef', 2, 3)": "bcd",
    "substr('abcdef', -2)": "ef",
    "upper(trim('  x '))": "X",
    "length('äö')": 2,
    "replace('aXa', 'X', 'b')": "aba",
    "strpos('abc', 'c')": 3,
    "round(2.5)": Decimal("3.0"),
    "round(-2.5e0)": -3.0,
    "round(1234.567e0, 2)": 1234.57,
    "floor(-1.5e0)": -2.0,
    "ceil(1.2)": Decimal("2.0"),
    "abs(-3)": 3,
    "power(2, 10)": 1024.0,
    "sqrt(-1) = sqrt(-1)": False,
    "mod(7, 4)": 3,
    "sign(-2)": -1,
}


@pytest.mark.parametrize("text", SCALARS)
def test_scalar(text: str) -> None:
    query = f"SELECT * FROM t MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A+) DEFINE A AS true)"
    wanted = SCALARS[text]
    if wanted in ("overflow", "not an integer", "no element 3"):
        with pytest.raises(QueryError, match=wanted):
            evaluated(query)
    else:
        found = evaluated(query)
        assert found == wanted
        assert type(found) is type(wanted)


def evaluated(query: str) -> Any:
    """The one value of a query, without DuckDB around it."""
    clause = query.split("MATCH_RECOGNIZE (", 1)[1][:-1]
    return rows_of(clause, TICKS)[0][0]


def test_all_of_a_row_pattern_is_the_same_without_duckdb() -> None:
    """`SELECT *` of one row pattern alone is handed out as it is; anything around it goes through DuckDB."""
    table = pa.table(
        {
            "k": pa.array(["a", "b", None, "a"]),
            "n": pa.array([1, 2, 3, None], pa.int32()),
            "at": pa.array([0, 1, 2, 3], pa.timestamp("us")),
            "day": pa.array([0, 1, None, 3], pa.date32()),
            "x": pa.array([0.5, float("nan"), None, 1.0]),
        }
    )
    clause = (
        "t MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES n AS n, count(*) AS many, n > 1 AS more "
        "ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS true)"
    )
    alone = augury.sql(f"SELECT * FROM {clause}", t=table).to_arrow()
    around = augury.sql(f"SELECT * FROM (SELECT * FROM {clause})", t=table).to_arrow()
    assert alone.schema == around.schema
    assert repr(alone.to_pylist()) == repr(around.to_pylist())
    named = augury.sql(f"SELECT * FROM {clause} AS m(a, b, c, d, e, f, g, h)", t=table).to_arrow()
    assert named.column_names == list("abcdefgh")
