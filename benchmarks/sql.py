"""MATCH_RECOGNIZE beside window expressions of Polars and DuckDB: the same questions, the counts compared.

    python -m benchmarks.sql [--quick] [--scale] [--json FILE] [--flink PYTHON]

Tables are in memory when the clock starts. Engines take turns; of several rounds the best counts. `--flink` names a
Python that has the apache-flink wheel, which asks for other releases of other packages than Augury: where Flink SQL can
say a question, it is asked on the smaller tables, and the time it takes to read them is not counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from time import perf_counter, process_time

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.csv import WriteOptions, write_csv

import augury
from benchmarks.call.workloads import TICKS, write_days
from benchmarks.measure import WrongAnswer

BARS = TICKS.parent / "us_stocks_1min_2018.parquet"
SESSION_KEYS = 100_000
SESSION_ROWS = 2_000_000
SESSION_GAP = 1800
"""Seconds without an event that end a session."""

ENGINES = ("augury", "polars", "duckdb")


@dataclass(frozen=True, slots=True)
class FlinkQuestion:
    """The same in Flink SQL, which has no PREV and no greedy end of a pattern: columns of a table, and a clause."""

    columns: tuple[str, ...]
    declared: str
    clause: str


@dataclass(frozen=True, slots=True)
class Question:
    """A row pattern over one table, and what users of the others write; each gives the number of matches."""

    table: str
    clause: str
    polars: Callable[[pl.LazyFrame], pl.LazyFrame]
    duckdb: str
    matches: Mapping[bool, int]
    """What is known of the number of matches, by whether the run is quick."""
    flink: FlinkQuestion | None = None


def _w7(ticks: pl.LazyFrame) -> pl.LazyFrame:
    falls = (pl.col("price") <= pl.col("price").shift(1)).fill_null(True).cum_sum().over("name")
    ends = pl.col("volume") < 150
    reached = pl.when(ends).then(pl.col("rise").shift(1)).backward_fill().shift(-1).over("name")
    marked = ticks.with_columns(rise=falls).with_columns(reached=reached)
    return marked.filter(pl.col("volume") >= 1000, pl.col("reached") == pl.col("rise"))


def _runs(bars: pl.LazyFrame) -> pl.LazyFrame:
    """Runs of closes that fall, rise or stay, one row each."""
    moved = (pl.col("close") - pl.col("close").shift(1)).sign().over("ticker")
    moving = bars.select("ticker", "ts", "close", way=moved)
    numbered = moving.with_columns(
        run=(pl.col("way") != pl.col("way").shift(1)).fill_null(True).cum_sum().over("ticker")
    )
    return numbered.group_by("ticker", "run", maintain_order=True).agg(
        pl.col("way").first(), pl.col("ts").last(), pl.col("close").last()
    )


def _following(ways: tuple[int, ...]) -> pl.Expr:
    """Whether runs go these ways, one after the other."""
    return pl.all_horizontal(pl.col("way").shift(-k).over("ticker") == way for k, way in enumerate(ways))


_DUCK_RUNS = (
    "WITH moved AS (SELECT ticker, ts, close, sign(close - lag(close) OVER w) AS way FROM t WINDOW w AS "
    "(PARTITION BY ticker ORDER BY ts)), numbered AS (SELECT *, sum(CASE WHEN way IS DISTINCT FROM before "
    "THEN 1 ELSE 0 END) OVER (PARTITION BY ticker ORDER BY ts) AS run FROM (SELECT *, lag(way) OVER "
    "(PARTITION BY ticker ORDER BY ts) AS before FROM moved)), runs AS (SELECT ticker, run, first(way) AS "
    "way, max(ts) AS ts, arg_max(close, ts) AS close FROM numbered GROUP BY ticker, run), ahead AS (SELECT *, "
    "lead(way, 1) OVER w AS w1, lead(way, 2) OVER w AS w2, lead(way, 3) OVER w AS w3 FROM runs WINDOW w AS "
    "(PARTITION BY ticker ORDER BY run)) "
)

QUESTIONS: Mapping[str, Question] = {
    "W7": Question(
        "ticks",
        "PARTITION BY name ORDER BY ts_us MEASURES FIRST(ts_us) AS since, LAST(ts_us) AS until "
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B* C) DEFINE A AS volume >= 1000, "
        "B AS price > PREV(price) AND volume >= 150, C AS volume < 150",
        _w7,
        "WITH falls AS (SELECT name, ts_us, volume, sum(CASE WHEN fall THEN 1 ELSE 0 END) "
        "OVER (PARTITION BY name ORDER BY ts_us) AS rise FROM (SELECT name, ts_us, volume, "
        "coalesce(price <= lag(price) OVER (PARTITION BY name ORDER BY ts_us), true) AS fall FROM t)), "
        "ends AS (SELECT *, CASE WHEN volume < 150 THEN lag(rise) OVER (PARTITION BY name ORDER BY ts_us) END AS e "
        "FROM falls), reached AS (SELECT *, first_value(e IGNORE NULLS) OVER (PARTITION BY name ORDER BY ts_us "
        "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS r FROM ends) "
        "SELECT * FROM reached WHERE volume >= 1000 AND r = rise",
        {True: 7_444, False: 148_899},
        FlinkQuestion(
            ("name", "ts_us", "price", "volume"),
            "name STRING, ts_us BIGINT, price DOUBLE, volume BIGINT, moment AS TO_TIMESTAMP_LTZ(ts_us, 3), "
            "WATERMARK FOR moment AS moment",
            "PARTITION BY name ORDER BY moment MEASURES FIRST(A.ts_us) AS since, LAST(C.ts_us) AS until_ "
            "ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B* C) DEFINE A AS A.volume >= 1000, "
            "B AS B.price > LAST(price, 1) AND B.volume >= 150, C AS C.volume < 150",
        ),
    ),
    "V-shape": Question(
        "bars",
        "PARTITION BY ticker ORDER BY ts MEASURES LAST(D.ts) AS bottom, LAST(D.close) AS low, LAST(U.close) AS high "
        "AFTER MATCH SKIP TO LAST U PATTERN (S D+ U+) DEFINE D AS close < PREV(close), U AS close > PREV(close)",
        lambda bars: (
            _runs(bars)
            .with_columns(high=pl.col("close").shift(-1).over("ticker"), found=_following((-1, 1)))
            .filter(pl.col("found"))
        ),
        _DUCK_RUNS + "SELECT * FROM ahead WHERE way = -1 AND w1 = 1",
        {},
    ),
    "W-shape": Question(
        "bars",
        "PARTITION BY ticker ORDER BY ts MEASURES LAST(D1.close) AS low, LAST(D2.close) AS second "
        "AFTER MATCH SKIP TO LAST U1 PATTERN (S D1+ U1+ D2+ U2+) DEFINE D1 AS close < PREV(close), "
        "U1 AS close > PREV(close), D2 AS close < PREV(close), U2 AS close > PREV(close)",
        lambda bars: _runs(bars).with_columns(found=_following((-1, 1, -1, 1))).filter(pl.col("found")),
        _DUCK_RUNS + "SELECT * FROM ahead WHERE way = -1 AND w1 = 1 AND w2 = -1 AND w3 = 1",
        {},
    ),
    "sessions": Question(
        "clicks",
        "PARTITION BY visitor ORDER BY ts MEASURES FIRST(ts) AS since, LAST(ts) AS until, count(*) AS clicks "
        f"PATTERN (A B*) DEFINE B AS ts - PREV(ts) <= {SESSION_GAP}",
        lambda clicks: (
            clicks.with_columns(session=(pl.col("ts").diff() > SESSION_GAP).fill_null(True).cum_sum().over("visitor"))
            .group_by("visitor", "session")
            .agg(since=pl.col("ts").first(), until=pl.col("ts").last(), clicks=pl.len())
        ),
        "SELECT visitor, session, min(ts) AS since, max(ts) AS until, count(*) AS clicks FROM (SELECT visitor, ts, "
        f"sum(CASE WHEN gap > {SESSION_GAP} THEN 1 ELSE 0 END) OVER (PARTITION BY visitor ORDER BY ts) AS session "
        "FROM (SELECT visitor, ts, ts - lag(ts) OVER (PARTITION BY visitor ORDER BY ts) AS gap FROM t)) "
        "GROUP BY visitor, session",
        {},
    ),
    "AVG in DEFINE": Question(
        "bars",
        "PARTITION BY ticker ORDER BY ts MEASURES LAST(B.ts) AS ts, LAST(B.volume) AS volume "
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A{5} B) DEFINE B AS volume > 4 * avg(A.volume)",
        lambda bars: bars.with_columns(mean=pl.col("volume").rolling_mean(5).shift(1).over("ticker")).filter(
            pl.col("volume") > 4 * pl.col("mean")
        ),
        "SELECT * FROM (SELECT *, avg(volume) OVER w AS mean, count(*) OVER w AS n FROM t WINDOW w AS (PARTITION BY "
        "ticker ORDER BY ts ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING)) WHERE n = 5 AND volume > 4 * mean",
        {},
        FlinkQuestion(
            ("ticker", "ts", "volume"),
            "ticker STRING, ts BIGINT, volume BIGINT, moment AS TO_TIMESTAMP_LTZ(ts, 0), "
            "WATERMARK FOR moment AS moment",
            "PARTITION BY ticker ORDER BY moment MEASURES LAST(B.ts) AS ts, LAST(B.volume) AS volume ONE ROW PER MATCH "
            "AFTER MATCH SKIP TO NEXT ROW PATTERN (A{5} B) DEFINE B AS B.volume > 4 * AVG(CAST(A.volume AS DOUBLE))",
        ),
    ),
}


def tables(folder: Path, *, quick: bool) -> dict[str, pa.Table]:
    """The tables of all questions; `quick` ones are smaller."""
    chance = np.random.default_rng(3)
    rows = SESSION_ROWS // 20 if quick else SESSION_ROWS
    keys = SESSION_KEYS // 20 if quick else SESSION_KEYS
    clicks = pa.table({"visitor": chance.integers(0, keys, rows), "ts": np.sort(chance.integers(0, 86_400, rows))})
    bars = pq.read_table(BARS)
    ticks = pq.read_table(write_days(folder, 1 if quick else 20), columns=["name", "ts_us", "price", "volume"])
    return {"clicks": clicks, "bars": bars.slice(0, 200_000) if quick else bars, "ticks": ticks}


def ask(engine: str, question: Question, table: pa.Table) -> tuple[int, float]:
    """How many matches an engine finds, and the seconds it takes."""
    began = perf_counter()
    match engine:
        case "augury":
            found = len(augury.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({question.clause})", t=table))
        case "polars":
            frame = pl.from_arrow(table)
            assert isinstance(frame, pl.DataFrame)
            found = question.polars(frame.lazy()).collect().height
        case _:
            with duckdb.connect() as connection:
                connection.register("t", table)
                found = connection.sql(question.duckdb).to_arrow_table().num_rows
    return found, perf_counter() - began


def measure(question: Question, table: pa.Table, *, quick: bool) -> dict[str, float]:
    """The best time of each engine; a wrong count is an error."""
    best: dict[str, float] = {}
    counts: set[int] = set()
    for _ in range(2 if quick else 5):
        for engine in ENGINES:
            found, seconds = ask(engine, question, table)
            counts.add(found)
            best[engine] = min(seconds, best.get(engine, seconds))
    expected = question.matches.get(quick)
    if len(counts) > 1 or (expected is not None and counts != {expected}):
        raise WrongAnswer(f"engines found {sorted(counts)} matches, {expected} were expected")
    return {"matches": counts.pop(), **best}


def beside_flink(folder: Path, python: Path, *, rounds: int) -> dict[str, dict[str, float]]:
    """Print how much longer PyFlink takes for the questions that Flink SQL can say; a wrong count is an error.

    The figures are returned by question.
    """
    data, report = tables(folder, quick=True), {}
    print(f"{'question':<15}{'rows':>11}{'matches':>11}{'augury s':>11}{'pyflink s':>11}   pyflink / us")
    for name, question in QUESTIONS.items():
        if question.flink is None:
            continue
        table, path = data[question.table], folder / "flink.csv"
        write_csv(table.select(list(question.flink.columns)), path, WriteOptions(include_header=False))
        clause = f"MATCH_RECOGNIZE ({question.flink.clause})"
        script = Path(__file__).with_name("flink_rows.py")
        ask("augury", question, table)
        ours = [ask("augury", question, table)]
        command = [python, script, path, question.flink.declared, clause, str(rounds)]
        said = subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout
        theirs = json.loads(said.splitlines()[-1])
        ours += [ask("augury", question, table) for _ in range(3)]
        counts = {theirs["matches"], *(count for count, _ in ours)}
        if len(counts) > 1:
            raise WrongAnswer(f"{name}: engines found {sorted(counts)} matches")
        best, seconds = min(s for _, s in ours), theirs["query"] - theirs["scan"]
        found = counts.pop()
        report[name] = {"rows": table.num_rows, "matches": found, "augury": best, "flink": seconds}
        print(f"{name:<15}{table.num_rows:>11,}{found:>11,}{best:>11.3f}{seconds:>11.2f}{seconds / best:>15.0f}")
    return report


SCALES = (
    (100_000, 100),
    (1_000_000, 100),
    (10_000_000, 100),
    (1_000_000, 1),
    (1_000_000, 10_000),
    (1_000_000, 100_000),
)
"""Rows and keys over which the cost of a row should stay the same."""


def scale(*, quick: bool) -> dict[str, float]:
    """Nanoseconds a row of the V-shape over random walks, by rows and keys; the best of three rounds of CPU time."""
    clause = QUESTIONS["V-shape"].clause
    out: dict[str, float] = {}
    print(f"{'rows':>12}{'keys':>10}{'matches':>12}{'ns a row':>10}")
    for rows, keys in SCALES:
        rows, keys = (rows // 50, max(1, keys // 50)) if quick else (rows, keys)
        chance = np.random.default_rng(rows + keys)
        walk = np.cumsum(chance.integers(-2, 3, rows))
        table = pa.table({"ticker": np.arange(rows) % keys, "ts": np.arange(rows) // keys, "close": walk})
        best, found = float("inf"), 0
        for _ in range(3):
            began = process_time()
            found = len(augury.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=table))
            best = min(best, process_time() - began)
        out[f"{rows} rows, {keys} keys"] = 1e9 * best / rows
        print(f"{rows:>12,}{keys:>10,}{found:>12,}{1e9 * best / rows:>10.0f}")
    return out


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="smaller tables, fewer rounds")
    arguments.add_argument("--scale", action="store_true", help="only the cost of a row, by rows and keys")
    arguments.add_argument("--json", type=Path, help="where the figures go")
    arguments.add_argument("--flink", type=Path, help="only beside PyFlink, run by this Python")
    given = arguments.parse_args()
    if given.scale:
        scale(quick=given.quick)
        return
    if not (TICKS.exists() and BARS.exists()):
        print(f"the data of this benchmark are not there: {TICKS.parent}")
        return
    if given.flink is not None:
        with tempfile.TemporaryDirectory() as folder:
            write_report(given.json, beside_flink(Path(folder), given.flink, rounds=1 if given.quick else 3))
        return
    report, ratios = {}, []
    print(
        f"{'question':<15}{'rows':>11}{'matches':>11}"
        + "".join(f"{e + ' s':>11}" for e in ENGINES)
        + "   best peer / us"
    )
    with tempfile.TemporaryDirectory() as folder:
        data = tables(Path(folder), quick=given.quick)
        for name, question in QUESTIONS.items():
            table = data[question.table]
            figures = report[name] = {"rows": table.num_rows, **measure(question, table, quick=given.quick)}
            ratios.append(min(figures["polars"], figures["duckdb"]) / figures["augury"])
            print(
                f"{name:<15}{table.num_rows:>11,}{int(figures['matches']):>11,}"
                + "".join(f"{figures[e]:>11.3f}" for e in ENGINES)
                + f"{ratios[-1]:>17.2f}"
            )
    print(f"geometric mean of the ratios: {prod(ratios) ** (1 / len(ratios)):.2f}")
    write_report(given.json, report)


def write_report(path: Path | None, report: Mapping[str, Mapping[str, float]]) -> None:
    """Write the figures of a run as JSON, if there is a place for them."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
