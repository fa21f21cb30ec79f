"""Rules of some shapes and events, drawn at random, and what the reference finds for each rule."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pyarrow as pa

import augury

SHAPES = [
    "PATTERN SEQ({A} a, {B} b) WHERE a.x > {n} WITHIN {w} seconds RETURN a.x AS x, b.y AS y",
    "PATTERN SEQ({A} a, {B} b) WHERE [k] AND a.x >= {n} AND b.y < {f} WITHIN 8 seconds",
    "PATTERN SEQ({A} a, {B} b, {C} c) WHERE skip_till_next_match {{ a.x < {n} AND b.x > a.x + {m} AND c.k = '{k}' }} "
    "WITHIN 9 seconds",
    "PATTERN SEQ({A} a, NOT({B} b), {C} c) WHERE [k] AND b.x > {n} AND a.y > {f} WITHIN 9 seconds",
    "PATTERN SEQ(NOT({B} b), {A} a, {C} c) WHERE b.x > {n} AND a.x = {m} WITHIN 6 seconds",
    "PATTERN SEQ({A} a, NOT({B} b)) WHERE [k] AND a.x BETWEEN {n} AND {m} WITHIN 5 seconds",
    "PATTERN SEQ({A}+ a[], {B} b) WHERE skip_till_next_match {{ [k] AND a[i].x > {n} AND b.x < {m} }} WITHIN 6 seconds",
    "PATTERN SEQ({A} a, {B}+ b[]) WHERE skip_till_next_match {{ b[i].x > b[i-1].x AND a.x > {n} "
    "AND avg(b[].y) > {f} }} WITHIN 6 seconds",
    "PATTERN AND({A} a, {B} b) WHERE a.x > {n} AND b.y <= {f} WITHIN 4 seconds",
    "PATTERN SEQ(OR({A} a, {B} b), {C} c) WHERE a.x > {n} AND b.x < {m} WITHIN 6 seconds",
    "PATTERN SEQ({A}? a, {B}|{C} b) WHERE a.x > {n} AND b.x = {m} WITHIN 6 seconds",
    "PATTERN SEQ(a, {B} b) WHERE a.x = {n} AND a.k = b.k WITHIN 6 seconds",
    "PATTERN SEQ(a, b) WHERE a.type = '{A}' AND b.x IN ({n}, {m}) AND (a.x > {n} OR b.y < {f}) WITHIN 6 seconds",
    "PATTERN SEQ({A} a, {B} b) WHERE NOT (a.x <= {n}) AND b.x - a.x > {m} AND b.k != '{k}' WITHIN 6 seconds",
    "PATTERN {A} a WHERE a.x * 2 > {n} AND a.k >= '{k}' WITHIN 1 second",
    "PATTERN SEQ({A} a, NOT({B} b) FOR 3 seconds) WHERE a.x > {n} AND b.x > {m} WITHIN 4 seconds",
    "PATTERN SEQ(NOT({B} b), {A} a, NOT({C} c)) WHERE b.x > {n} AND c.y > {f} WITHIN 5 seconds",
    "PATTERN AND({A} a, NOT({B} b)) WHERE a.x > {n} AND b.x < {m} WITHIN 4 seconds",
]

ALONE = [
    "PATTERN SEQ({A} a, {B} b) WHERE a.x > {n} WITHIN {w} seconds OUTPUT NONOVERLAP",
    "PATTERN SEQ({A} a, {B} b) WHERE strict_contiguity {{ a.x > {n} }} WITHIN {w} seconds RETURN a.x AS x",
    "PATTERN SEQ({A} a, {B} b) WHERE a.x > {n} WITHIN {w} seconds OUTPUT COUNT",
    "PATTERN SEQ({A} a, {B} b) WHERE a.x > {n} WITHIN 8 EVENTS",
]


def drawn_rules(rng: Random, shape: str, count: int) -> list[dict[str, Any]]:
    """Rules that differ in values and types: some alike, some of other kinds."""
    rows = []
    for k in range(count):
        given: dict[str, Any] = {name: rng.choice("ABCD") for name in "ABC"}
        given |= {"n": rng.randint(0, 9), "m": rng.choice([rng.randint(0, 9), 4.5]), "f": rng.choice([3, 4.5, 7.25])}
        text = shape.format(**given, w=rng.choice([3, 7]), k=rng.choice(["p", "q", "unseen"]))
        rows.append({"id": f"r{k}", "query": text})
    return rows


def edited(rng: Random, table: dict[str, dict[str, Any]], shapes: list[str], moment: int) -> None:
    """Change a table of rules: new ones, other values, other labels, another RETURN, gone, off and on."""
    for row in drawn_rules(rng, rng.choice(shapes), rng.choice([1, 2])):
        id = f"{rng.randrange(7)}"
        known = table.get(id)
        kind = rng.choice(["new", "new", "backfill", "labels", "return", "gone", "off"])
        if kind in ("new", "backfill") or known is None:
            table[id] = {**row, "id": id, "labels": [str(moment)], "backfill": kind == "backfill"}
        elif kind == "labels":
            table[id] = {**known, "labels": [str(moment)], "enabled": True}
        elif kind == "return" and "OUTPUT" not in known["query"] and "EVENTS" not in known["query"]:
            query = known["query"].split(" RETURN")[0] + f" RETURN {moment} AS m"
            table[id] = {**known, "query": query, "backfill": rng.random() < 0.2}
        elif kind == "gone":
            del table[id]
        else:
            table[id] = {**known, "enabled": False}


def drawn_events(rng: Random, count: int) -> pa.Table:
    """Events with nulls, ties, NaN and types that no rule names."""
    moments = sorted(rng.randint(0, count // 2) for _ in range(count))
    if rng.random() < 0.3:
        rng.shuffle(moments)
    return pa.table(
        {
            "ts": pa.array(moments, pa.int64()),
            "type": [rng.choice("ABCDE") for _ in range(count)],
            "x": pa.array([rng.choice([None, *range(10)]) for _ in range(count)], pa.int64()),
            "y": pa.array([rng.choice([None, float("nan"), 3.0, 4.5, rng.uniform(0, 9)]) for _ in range(count)]),
            "k": pa.array([rng.choice([None, "p", "q", "r"]) for _ in range(count)], pa.string()),
        }
    )


def found_alone(rows: list[dict[str, Any]], events: pa.Table) -> list[tuple[str, Any, Any, str]]:
    found = []
    for row in rows:
        table = augury.match(events, row["query"], parameters=row.get("parameters", {}), plan="reference").to_arrow()
        found += [(row["id"], m.pop("start"), m.pop("end"), json.dumps(m)) for m in table.to_pylist()]
    return found


def listed(found: augury.RuleMatches) -> list[tuple[str, Any, Any, str]]:
    return [(m["rule"], m["start"], m["end"], m["match"]) for m in found.table.to_pylist()]
