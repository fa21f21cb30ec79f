"""What a user of Polars or DuckDB would write for the workloads: each function counts the matches in a Parquet file.

Where two formulations are common, both are here, and the faster one counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import polars as pl

from benchmarks.call.workloads import KEY_WINDOW, microseconds

Count: TypeAlias = Callable[[str], int]


# -- Polars ------------------------------------------------------------------------------------------------------------


def _of(path: str, type: str, number: int, *columns: str) -> pl.LazyFrame:
    """The events of one type: their time as `t0`, `t1`, ..., and columns named likewise."""
    names = {"ts_us": f"t{number}"} | {column: f"{column}{number}" for column in columns}
    return pl.scan_parquet(path).filter(pl.col("typ") == type).select([pl.col(c).alias(n) for c, n in names.items()])


def _len(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect().item())


def _sequence(path: str, types: tuple[str, str, str], window: int, *columns: str) -> pl.LazyFrame:
    a, b, c = (_of(path, type, k, *columns) for k, type in enumerate(types))
    t0, t1, t2 = (pl.col(f"t{k}") for k in range(3))
    return a.join_where(b, t1 > t0, t1 <= t0 + window).join_where(c, t2 > t1, t2 <= t0 + window)


def _polars_w1(path: str) -> int:
    return _len(_sequence(path, ("INTC_S", "RIMM_B", "QQQ_B"), microseconds(10)))


def _polars_w2_equality(path: str) -> int:
    window = microseconds(10)
    found = _of(path, "MSFT_S", 0, "volume").rename({"volume0": "volume"})
    for k, type in enumerate(("ORCL_B", "CSCO_B", "AMAT_S"), start=1):
        following = _of(path, type, k, "volume").rename({f"volume{k}": "volume"})
        found = found.join(following, on="volume").filter(
            pl.col(f"t{k}") > pl.col(f"t{k - 1}"), pl.col(f"t{k}") <= pl.col("t0") + window
        )
    return _len(found)


def _polars_w2_inequality(path: str) -> int:
    window = microseconds(10)
    found = _of(path, "MSFT_S", 0, "volume")
    for k, type in enumerate(("ORCL_B", "CSCO_B", "AMAT_S"), start=1):
        found = found.join_where(
            _of(path, type, k, "volume"),
            pl.col(f"t{k}") > pl.col(f"t{k - 1}"),
            pl.col(f"t{k}") <= pl.col("t0") + window,
        ).filter(pl.col(f"volume{k}") == pl.col("volume0"))
    return _len(found)


def _polars_relational(path: str, columns: tuple[str, ...]) -> pl.LazyFrame:
    found = _sequence(path, ("MSFT_S", "MSFT_B", "INTC_B"), microseconds(5), *columns)
    return found.filter(pl.col("price1") > pl.col("price0"), pl.col("volume2") > pl.col("volume1"))


def _polars_w3(path: str) -> int:
    return _len(_polars_relational(path, ("price", "volume")))


def _polars_w4(path: str) -> int:
    window = microseconds(2)
    a, b, c = (_of(path, type, k) for k, type in enumerate(("INTC_S", "RIMM_B", "QQQ_B")))
    t0, t1, t2 = (pl.col(f"t{k}") for k in range(3))
    pairs = a.join_where(b, t1 >= t0 - window, t1 <= t0 + window).with_columns(
        lo=pl.max_horizontal("t0", "t1") - window, hi=pl.min_horizontal("t0", "t1") + window
    )
    return _len(pairs.join_where(c, t2 >= pl.col("lo"), t2 <= pl.col("hi")))


def _polars_w5(path: str) -> int:
    window = microseconds(1)
    counted = pl.scan_parquet(path).select("ts_us", "typ", bs=(pl.col("typ") == "YHOO_B").cum_sum())
    a = counted.filter(pl.col("typ") == "INTC_S").select(t0="ts_us", b0="bs")
    c = counted.filter(pl.col("typ") == "QQQ_B").select(t1="ts_us", b1="bs")
    pairs = a.join_where(c, pl.col("t1") > pl.col("t0"), pl.col("t1") <= pl.col("t0") + window)
    between = (pl.col("b1") - pl.col("b0")).cast(pl.Int64)
    return int(pairs.select((2**between - 1).sum()).collect().item())


def _polars_next(path: str, type: str, negated: str) -> pl.LazyFrame:
    """The events of a type, with the time of the next negated one."""
    both = pl.scan_parquet(path).filter(pl.col("typ").is_in([type, negated]))
    following = pl.when(pl.col("typ") == negated).then(pl.col("ts_us")).backward_fill()
    return both.select("ts_us", "typ", following=following).filter(pl.col("typ") == type)


def _polars_w6(path: str) -> int:
    a = _polars_next(path, "INTC_S", "QQQ_S").select(
        t0="ts_us",
        last=pl.min_horizontal(pl.col("ts_us") + microseconds(5), pl.col("following").fill_null(2**62) - 1),
    )
    b = _of(path, "RIMM_B", 1)
    return _len(a.join_where(b, pl.col("t1") > pl.col("t0"), pl.col("t1") <= pl.col("last")))


def _polars_w7(path: str) -> int:
    ends = pl.col("volume") < 150
    falls = (pl.col("price") <= pl.col("price").shift(1)).fill_null(True).cum_sum().over("name")
    marked = pl.scan_parquet(path).select("name", "price", "volume").with_columns(rise=falls)
    # Of the row before the next end: the rise it belongs to.
    reached = pl.when(ends).then(pl.col("rise").shift(1)).backward_fill().shift(-1).over("name")
    starts = marked.with_columns(reached=reached).filter(pl.col("volume") >= 1000)
    return _len(starts.filter(pl.col("reached") == pl.col("rise")))


def _polars_key(path: str) -> int:
    a = _of(path, "INTC_S", 0, "key").rename({"key0": "key"})
    b = _of(path, "MSFT_B", 1, "key").rename({"key1": "key"})
    return _len(a.join(b, on="key").filter(pl.col("t1") > pl.col("t0"), pl.col("t1") <= pl.col("t0") + KEY_WINDOW))


def _polars_trailing(path: str) -> int:
    window = microseconds(2)
    a = _of(path, "INTC_S", 0)
    b = _polars_next(path, "RIMM_B", "QQQ_S").select(t1="ts_us", following=pl.col("following").fill_null(2**62))
    pairs = a.join_where(b, pl.col("t1") > pl.col("t0"), pl.col("t1") <= pl.col("t0") + window)
    return _len(pairs.filter(pl.col("following") > pl.col("t0") + window))


def _polars_count(path: str) -> int:
    found = _sequence(path, ("INTC_S", "RIMM_B", "QQQ_B"), microseconds(10))
    return int(found.group_by("t2").len().select(pl.col("len").sum()).collect().item())


def _polars_program(path: str) -> int:
    window = microseconds(1)
    a, b, c = (_of(path, type, k, "volume") for k, type in enumerate(("INTC_S", "RIMM_B", "QQQ_B")))
    t0, t1, t2 = (pl.col(f"t{k}") for k in range(3))
    pairs = a.join_where(b, t1 > t0, t1 <= t0 + window).filter(pl.col("volume1") > pl.col("volume0"))
    return _len(pairs.join_where(c, t2 > t1, t2 <= t1 + window).filter(pl.col("volume2") == pl.col("volume0")))


def _polars_columns(path: str) -> int:
    columns = ("seq", "id", "ts_ms", "name", "side", "price", "volume", "typ", "key")
    return _polars_relational(path, columns).collect().height


POLARS: Mapping[str, tuple[Count, ...]] = {
    "W1": (_polars_w1,),
    "W2": (_polars_w2_equality, _polars_w2_inequality),
    "W3": (_polars_w3,),
    "W4": (_polars_w4,),
    "W5": (_polars_w5,),
    "W6": (_polars_w6,),
    "W7": (_polars_w7,),
    "key": (_polars_key,),
    "trailing": (_polars_trailing,),
    "count": (_polars_count,),
    "program": (_polars_program,),
    "columns": (_polars_columns,),
}


# -- DuckDB ------------------------------------------------------------------------------------------------------------


def _query(text: str, **tables: str) -> Count:
    """A count by SQL over the view `ticks` and over tables: the events of one type, or what a SELECT gives.

    Over filtered views DuckDB 2.0 joins all pairs first and runs for minutes; over tables, whose sizes it knows, it
    uses its joins for inequalities.
    """

    def count(path: str) -> int:
        import duckdb

        connection: Any = duckdb.connect()
        try:
            connection.execute(f"CREATE VIEW ticks AS SELECT * FROM read_parquet('{path}')")
            for name, content in tables.items():
                select = content if content.startswith("SELECT") else f"SELECT {_COLUMNS} WHERE typ = '{content}'"
                connection.execute(f"CREATE TEMP TABLE {name} AS {select}")
            [(found,)] = connection.execute(text).fetchall()
            return int(found or 0)
        finally:
            connection.close()

    return count


_COLUMNS = "ts_us AS t, price, volume, key FROM ticks"


def _followed(type: str, negated: str) -> str:
    """The events of a type, with the time of the next negated one."""
    return (
        f"SELECT t, n FROM (SELECT ts_us AS t, typ, min(CASE WHEN typ = '{negated}' THEN ts_us END) "
        "OVER (ORDER BY ts_us ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS n FROM ticks "
        f"WHERE typ IN ('{type}', '{negated}')) WHERE typ = '{type}'"
    )


def _before(type: str) -> str:
    """The events of a type, with how many Bs of W5 came before them."""
    counted = "count(*) FILTER (typ = 'YHOO_B') OVER (ORDER BY ts_us) AS n"
    return f"SELECT t, n FROM (SELECT ts_us AS t, typ, {counted} FROM ticks) WHERE typ = '{type}'"


_W1 = f"b.t > a.t AND b.t <= a.t + {microseconds(10)} JOIN c ON c.t > b.t AND c.t <= a.t + {microseconds(10)}"
_W3 = _query(
    f"SELECT count(*) FROM a JOIN b ON b.t > a.t AND b.t <= a.t + {microseconds(5)} AND b.price > a.price "
    f"JOIN c ON c.t > b.t AND c.t <= a.t + {microseconds(5)} AND c.volume > b.volume",
    a="MSFT_S",
    b="MSFT_B",
    c="INTC_B",
)

DUCKDB: Mapping[str, tuple[Count, ...]] = {
    "W1": (_query(f"SELECT count(*) FROM a JOIN b ON {_W1}", a="INTC_S", b="RIMM_B", c="QQQ_B"),),
    "W2": (
        _query(
            f"SELECT count(*) FROM a JOIN b ON a.volume = b.volume AND b.t > a.t AND b.t <= a.t + {microseconds(10)} "
            f"JOIN c ON c.volume = b.volume AND c.t > b.t AND c.t <= a.t + {microseconds(10)} "
            f"JOIN d ON d.volume = c.volume AND d.t > c.t AND d.t <= a.t + {microseconds(10)}",
            a="MSFT_S",
            b="ORCL_B",
            c="CSCO_B",
            d="AMAT_S",
        ),
    ),
    "W3": (_W3,),
    "W4": (
        _query(
            f"SELECT count(*) FROM a JOIN b ON b.t BETWEEN a.t - {microseconds(2)} AND a.t + {microseconds(2)} JOIN c "
            f"ON c.t BETWEEN greatest(a.t, b.t) - {microseconds(2)} AND least(a.t, b.t) + {microseconds(2)}",
            a="INTC_S",
            b="RIMM_B",
            c="QQQ_B",
        ),
    ),
    "W5": (
        _query(
            f"SELECT sum(2 ** (c.n - a.n) - 1) FROM a JOIN c ON c.t > a.t AND c.t <= a.t + {microseconds(1)}",
            a=_before("INTC_S"),
            c=_before("QQQ_B"),
        ),
    ),
    "W6": (
        _query(
            "SELECT count(*) FROM a JOIN b ON b.t > a.t "
            f"AND b.t <= least(a.t + {microseconds(5)}, coalesce(a.n, {2**62}) - 1)",
            a=_followed("INTC_S", "QQQ_S"),
            b="RIMM_B",
        ),
    ),
    "W7": (
        _query(
            "WITH falls AS (SELECT name, ts_us, volume, sum(CASE WHEN fall THEN 1 ELSE 0 END) "
            "OVER (PARTITION BY name ORDER BY ts_us) AS rise FROM (SELECT name, ts_us, volume, "
            "coalesce(price <= lag(price) OVER (PARTITION BY name ORDER BY ts_us), true) AS fall FROM ticks)), "
            "ends AS (SELECT *, CASE WHEN volume < 150 THEN lag(rise) OVER (PARTITION BY name ORDER BY ts_us) END AS e "
            "FROM falls), reached AS (SELECT *, first_value(e IGNORE NULLS) OVER (PARTITION BY name ORDER BY ts_us "
            "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS r FROM ends) "
            "SELECT count(*) FROM reached WHERE volume >= 1000 AND r = rise"
        ),
    ),
    "key": (
        _query(
            f"SELECT count(*) FROM a JOIN b ON a.key = b.key AND b.t > a.t AND b.t <= a.t + {KEY_WINDOW}",
            a="INTC_S",
            b="MSFT_B",
        ),
    ),
    "trailing": (
        _query(
            f"SELECT count(*) FROM a JOIN b ON b.t > a.t AND b.t <= a.t + {microseconds(2)} "
            f"WHERE coalesce(b.n, {2**62}) > a.t + {microseconds(2)}",
            a="INTC_S",
            b=_followed("RIMM_B", "QQQ_S"),
        ),
    ),
    "count": (
        _query(
            f"SELECT sum(n) FROM (SELECT c.t, count(*) AS n FROM a JOIN b ON {_W1} GROUP BY c.t)",
            a="INTC_S",
            b="RIMM_B",
            c="QQQ_B",
        ),
    ),
    "program": (
        _query(
            f"SELECT count(*) FROM a JOIN b ON b.t > a.t AND b.t <= a.t + {microseconds(1)} AND b.volume > a.volume "
            f"JOIN c ON c.t > b.t AND c.t <= b.t + {microseconds(1)} AND c.volume = a.volume",
            a="INTC_S",
            b="RIMM_B",
            c="QQQ_B",
        ),
    ),
    # Counted only, which favours DuckDB: the others hand out every column.
    "columns": (_W3,),
}
