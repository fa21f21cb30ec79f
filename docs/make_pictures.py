"""The pictures of the documentation, drawn from what its pages say: `make pictures`."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from docs.drawing import ACCENT, GROUND, INK, RIGHT, RULE, SOFT, WIDTH, Box, bar_chart, text, way_chart
from examples.make_pictures import pictures as example_pictures

import augury
from augury.testing.tables import blocks
from benchmarks import published

DOCS = Path(__file__).parent

LEFT, LANE, TOP, AXIS = 96, 56, 30, 34
"""Pixels left of the time line, of a lane, above the first lane, and of the axis below the last one."""

RISES = """
    PATTERN SEQ(Tick a, Tick+ b[], Tick c)
    WHERE   skip_till_next_match { [symbol] AND b[i].price > b[i-1].price AND c.price < b[last].price }
    WITHIN  1 hour
"""
TICKS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("symbol", pa.string()), ("price", pa.float64())])


def pictures() -> dict[str, str]:
    """The text of each picture by its name."""
    names: dict[str, Any] = {}
    snippet = next(block for block in blocks(DOCS.parent / "README.md") if block.language == "python")
    exec(compile(snippet.text.replace("print(", "("), "README.md", "exec"), names)
    matches = augury.match(names["events"], names["query"])
    return {
        "match.svg": time_line(names["events"], matches, lane_of="tag"),
        "automaton.svg": augury.explain(RISES, TICKS, plan="eager-nfa").to_svg() + "\n",
        "call.svg": call_chart(published.read("call")),
        "sql.svg": sql_chart(published.read("sql")),
        "way.svg": way_chart("The way of a query, from its text to its matches", WAY),
    }


WAY = (
    Box("Text", ("PATTERN SEQ(Shelf s, NOT(Register r), Exit e) ...",), "characters"),
    Box("lang", ("parses it; knows nothing of columns",), "a syntax tree, every node with its place in the text"),
    Box(
        "bind",
        ("finds columns and types, and what makes no sense", "tells all errors at once, with place and way out"),
        "a bound query",
    ),
    Box(
        "rewrite",
        ("one small rule after the other: flatten, push, split", "derives the key by which a stream may be cut"),
        "a simpler bound query",
    ),
    Box(
        "planner",
        ("asks every family of plans for an offer", "takes the cheapest by rates measured on a sample"),
        "a plan: states and edges, no code",
    ),
    Box("codegen", ("writes Python for this one query, meant to be read",), "source text"),
    Box("jit", ("compiles it with Numba, once it pays; keeps it on disk",), "a kernel"),
    Box(
        "engine",
        ("reads, cuts by key or time, feeds kernels, merges", "on threads here, in tasks and micro-batches on Spark"),
        "rows that belong together",
    ),
    Box("Matches", ("a table, objects, a page to look at, a stream",)),
)
"""What the rooms of the code do with a query, in their order."""

NAMES = {"augury": "Augury", "polars": "Polars", "duckdb": "DuckDB"}


def call_chart(figures: published.Figures) -> str:
    """Milliseconds of the whole call over a day of ticks, by question and engine."""
    groups = {
        question: {NAMES[engine]: float(ms) for engine, ms in figures[name]["small_ms"].items()}
        for name, question in published.QUESTIONS.items()
    }
    return bar_chart(
        "From a Parquet file of 224,473 events to the matches",
        groups,
        "ms",
        "Shorter is better. Polars and DuckDB only count.",
    )


def sql_chart(figures: published.Figures) -> str:
    """Seconds of row patterns and of window expressions that find the same, by question and engine."""
    groups = {name: {NAMES[e]: float(row[e]) for e in NAMES} for name, row in figures.items()}
    return bar_chart(
        "MATCH_RECOGNIZE, and window expressions that say the same",
        groups,
        "s",
        "Shorter is better. All find the same matches.",
    )


def time_line(events: Sequence[Mapping[str, Any]], matches: augury.Matches, lane_of: str) -> str:
    """Events over time, in a lane for each value of a column, and each match as a line through its events."""
    lanes = list(dict.fromkeys(event[lane_of] for event in events))
    first, last = min(e["ts"] for e in events), max(e["ts"] for e in events)
    height = TOP + LANE * len(lanes) + AXIS

    def x(event: Mapping[str, Any]) -> float:
        return LEFT + 40 + (event["ts"] - first) / (last - first) * (WIDTH - LEFT - RIGHT - 80)

    def y(event: Mapping[str, Any]) -> float:
        return TOP + LANE * (lanes.index(event[lane_of]) + 0.5)

    parts = [f'<rect width="{WIDTH}" height="{height}" fill="{GROUND}"/>']
    for k, name in enumerate(lanes):
        middle = TOP + LANE * (k + 0.5)
        parts.append(f'<path d="M{LEFT},{middle} H{WIDTH - RIGHT}" stroke="{RULE}" stroke-width="1.5"/>')
        parts.append(text(LEFT - 14, middle + 4, name, anchor="end", fill=INK))
    bound: dict[int, str] = {}
    for match in matches:
        rows = [row for row in match.rows.values() if isinstance(row, int)]
        bound |= {row: name for name, row in match.rows.items() if isinstance(row, int)}
        line = " L".join(f"{x(events[row]):.1f},{y(events[row]):.1f}" for row in rows)
        parts.append(f'<path d="M{line}" fill="none" stroke="{ACCENT}" stroke-width="3"/>')
    for row, event in enumerate(events):
        colour = ACCENT if row in bound else SOFT
        parts.append(f'<circle cx="{x(event):.1f}" cy="{y(event):.1f}" r="6" fill="{colour}"/>')
        label = f"{event['type']} {bound[row]}" if row in bound else event["type"]
        weight = ' font-weight="600"' if row in bound else ""
        parts.append(text(x(event), y(event) - 13, label, fill=colour, more=weight))
        parts.append(text(x(event), height - 12, str(event["ts"]), fill=SOFT))
    parts.append(text(LEFT - 14, height - 12, "ts", anchor="end", fill=SOFT))
    title = html.escape(f"{len(matches)} match in {len(events)} events")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{title}" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">{"".join(parts)}</svg>\n'
    )


if __name__ == "__main__":
    for name, picture in pictures().items():
        (DOCS / "pictures" / name).write_text(picture, encoding="utf-8")
    for path, picture in example_pictures().items():
        (DOCS.parent / "examples" / path).write_text(picture, encoding="utf-8")
