"""The figures that the documentation shows: kept in docs/measured/, written into tables here, drawn by `make pictures`.

python -m benchmarks.published                                        write the tables of README and docs anew
python -m benchmarks.published --call build/bench/call.json           take the figures of a run over first
python -m benchmarks.published --streamed build/bench/streamed.json
python -m benchmarks.published --sql build/bench/sql.json --flink build/bench/flink.json
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measured"
SMALL, LARGE, STREAMED = "1", "20", "400"
"""The days of ticks of the streams that are shown, as the benchmark of the whole call names them."""

QUESTIONS = {
    "W1": "three types in order",
    "W2": "four in order, equal volumes",
    "W3": "three in order, two comparisons",
    "W4": "three in any order",
    "W5": "a list between two events",
    "W6": "one missing in between",
    "W7": "rising trades, none left out",
}
"""The workloads of the whole call in a few words."""

MORE_QUESTIONS = {
    "key": "two types with the same of 100,000 keys",
    "trailing": "two types, and one that does not follow",
    "count": "W1, counted",
    "program": "a query over the matches of another",
    "columns": "W3, with all columns of the events",
}
"""Those that the README does not show."""

SQL_QUESTIONS = {
    "W7": QUESTIONS["W7"],
    "AVG in DEFINE": "a volume far above the average of the five before",
}
"""The row patterns that Flink can say, in a few words."""

Figures: TypeAlias = "Mapping[str, Mapping[str, Any]]"


def read(name: str) -> Figures:
    """The figures of one benchmark, by workload."""
    figures: Figures = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    return figures


def call_figures(run: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]) -> dict[str, dict[str, Any]]:
    """What is published of a run of `benchmarks.call`: days, workloads, engines, and what each needed."""
    figures = {}
    for name in (*QUESTIONS, *MORE_QUESTIONS):
        large, small = run[LARGE][name], run[SMALL][name]
        own, polars = large["augury"], large["polars"]
        figures[name] = {
            "matches": own["matches"],
            "seconds": {"augury": round(own["again"], 3), "polars": round(polars["again"], 3)},
            "polars_to_augury": round(polars["again"] / own["again"], 2),
            "one_thread_to_two": round(large["augury-1"]["again"] / own["again"], 1),
            "peak_mb": {"augury": round(own["peak"] / 1e6), "polars": round(polars["peak"] / 1e6)},
            "small_ms": {e: round(1000 * small[e]["again"]) for e in ("augury", "polars", "duckdb") if e in small},
        }
    return figures


def streamed_figures(run: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]) -> dict[str, dict[str, Any]]:
    """What is published of streams that are matched while they are read: of the engines that did so in time."""
    return {
        name: {
            "matches": next(iter(engines.values()))["matches"],
            "seconds": {engine: round(needed["again"], 1) for engine, needed in engines.items()},
            "peak_mb": {engine: round(needed["peak"] / 1e6) for engine, needed in engines.items()},
        }
        for name, engines in run[STREAMED].items()
    }


def front_table(call: Figures) -> Iterator[str]:
    """The whole call in the README: a question in words, and the time of each engine."""
    yield "| | 224,473 events: Augury | Polars | DuckDB | 4.5 million: Augury | Polars |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, question in QUESTIONS.items():
        few, many = call[name]["small_ms"], call[name]["seconds"]
        duckdb = f"{few['duckdb']:,} ms" if "duckdb" in few else "-"
        yield (
            f"| {question} | {few['augury']} ms | {few['polars']} ms | {duckdb} "
            f"| {many['augury']:.2f} s | {many['polars']:.2f} s |"
        )


def call_table(call: Figures) -> Iterator[str]:
    """The whole call in docs/benchmarks.md: everything that is kept of it."""
    yield (
        "| | matches | 4.5M events, s: Augury / Polars | Polars to Augury | one thread to two "
        "| peak MB: Augury / Polars | 224,473 events, ms: Augury / Polars / DuckDB |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, figures in call.items():
        many, peak, few = figures["seconds"], figures["peak_mb"], figures["small_ms"]
        shown = name if name in QUESTIONS else MORE_QUESTIONS[name]
        yield (
            f"| {shown} | {figures['matches']:,} | {many['augury']:.3f} / {many['polars']:.3f} "
            f"| {figures['polars_to_augury']:.2f} | {figures['one_thread_to_two']} "
            f"| {peak['augury']} / {peak['polars']} | {few['augury']} / {few['polars']} / {few.get('duckdb', '-')} |"
        )


def streamed_table(streamed: Figures) -> Iterator[str]:
    """Streams that are matched while they are read."""
    yield "| | matches | seconds: Augury / Polars | peak MB: Augury / Polars |"
    yield "|---|---:|---:|---:|"
    engines = "augury-sink", "polars"
    for name, figures in streamed.items():
        seconds = " / ".join(str(figures["seconds"].get(engine, "over 120")) for engine in engines)
        peak = " / ".join(str(figures["peak_mb"].get(engine, "-")) for engine in engines)
        yield f"| {name} | {figures['matches']:,} | {seconds} | {peak} |"


def sql_table(sql: Figures) -> Iterator[str]:
    """Row patterns beside window expressions."""
    yield "| | rows | matches | Augury | Polars | DuckDB | best peer / Augury |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, figures in sql.items():
        own, polars, duckdb = (figures[engine] for engine in ("augury", "polars", "duckdb"))
        yield (
            f"| {name} | {figures['rows']:,} | {figures['matches']:,} | {own:.2f} s | {polars:.2f} s | {duckdb:.1f} s "
            f"| {min(polars, duckdb) / own:.1f} |"
        )


def flink_table(flink: Figures) -> Iterator[str]:
    """MATCH_RECOGNIZE of Augury beside that of Flink."""
    yield "| | rows | Augury | PyFlink | PyFlink / Augury |"
    yield "|---|---:|---:|---:|---:|"
    for name, figures in flink.items():
        own, other = figures["augury"], figures["flink"]
        yield f"| {name} | {figures['rows']:,} | {own:.3f} s | {other:.1f} s | {other / own:.0f} |"


def front_flink(flink: Figures) -> Iterator[str]:
    """The same in the README, with the questions in words."""
    yield "| MATCH_RECOGNIZE | rows | Augury | PyFlink |"
    yield "|---|---:|---:|---:|"
    for name, figures in flink.items():
        yield (
            f"| {SQL_QUESTIONS[name]} | {figures['rows']:,} | {figures['augury']:.3f} s | {figures['flink']:.1f} s |"
        )


def pages() -> dict[Path, str]:
    """The pages that show figures, as they should read."""
    call, streamed, sql, flink = read("call"), read("streamed"), read("sql"), read("flink")
    front, page = ROOT / "README.md", ROOT / "docs" / "benchmarks.md"
    on_page = {
        "call": call_table(call),
        "streamed": streamed_table(streamed),
        "sql": sql_table(sql),
        "flink": flink_table(flink),
    }
    return {
        front: _with_tables(front, {"call": front_table(call), "flink": front_flink(flink)}),
        page: _with_tables(page, on_page),
    }


def _with_tables(page: Path, tables: Mapping[str, Iterator[str]]) -> str:
    text = page.read_text(encoding="utf-8")
    for name, lines in tables.items():
        text = _with_table(text, name, lines)
    return text


def _with_table(text: str, name: str, lines: Iterator[str]) -> str:
    """The text with these lines between the two comments that name the table."""
    begin, end = f"<!-- {name}: from docs/measured/{name}.json -->", f"<!-- {name}: end -->"
    parts = re.split(f"({re.escape(begin)}\n).*?({re.escape(end)})", text, flags=re.DOTALL)
    assert len(parts) == 4, f"no place for the table {name}"
    return parts[0] + parts[1] + "\n" + "\n".join(lines) + "\n\n" + parts[2] + parts[3]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--call", type=Path, help="what `make bench-call` has written")
    parser.add_argument("--streamed", type=Path, help="what `make bench-call` with --days 400 has written")
    parser.add_argument("--sql", type=Path, help="what `make bench-sql` has written")
    parser.add_argument(
        "--flink", type=Path, help="what `python -m benchmarks.sql --flink PYTHON --json FILE` has written"
    )
    given = parser.parse_args()
    for name, run, figures in (
        ("call", given.call, call_figures),
        ("streamed", given.streamed, streamed_figures),
    ):
        if run is not None:
            kept = json.dumps(figures(json.loads(run.read_text(encoding="utf-8"))), indent=1)
            (MEASURED / f"{name}.json").write_text(kept + "\n", encoding="utf-8")
    for name, run in {"sql": given.sql, "flink": given.flink}.items():
        if run is not None:
            (MEASURED / f"{name}.json").write_text(run.read_text(encoding="utf-8").rstrip() + "\n", encoding="utf-8")
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
