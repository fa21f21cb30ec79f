"""The cases of the fuzzer: what each part does for a number."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pyarrow as pa

import augury
from augury import Exponential, LossModel, Matcher, Matches
from tests.door.columns import SIZE, columns
from tests.door.test_arguments import FUNCTIONS, VALUES
from tests.fuzz import files, queries

BUDGET = 256 * 2**20
"""Bytes that a case may take, where an option says so."""

ARGUMENTS = set(inspect.signature(augury.match).parameters)
LOSS = LossModel(0.2, delays={f"v{k}": Exponential(3.0) for k in range(8)} | {"a": Exponential(2.0)})


def limits() -> dict[str, Any]:
    """The budgets that calls take in this release."""
    known: dict[str, Any] = {"max_memory": BUDGET, "timeout": 4.0, "max_partial_matches": 3_000}
    return {name: value for name, value in known.items() if name in ARGUMENTS}


def run_query(chance: Random) -> None:
    """A random query over a random stream: matched at once, as it comes, or explained."""
    text, table = queries.program(chance), queries.stream(chance)
    given = {**queries.options(chance), **limits()}
    if "THRESHOLD" in text:
        given["loss"] = LOSS
    match chance.choice(["match", "match", "match", "stream", "explain"]):
        case "match":
            look_at(augury.match(table, text, **given))
        case "stream":
            stream = Matcher(text, queries.stream(chance, 3) if not table.num_rows else table, **given)
            for piece in (table.slice(0, table.num_rows // 2), table.slice(table.num_rows // 2)):
                look_at(stream.feed(piece))
            if chance.random() < 0.3:
                stream = Matcher.restore(stream.snapshot(), functions=given["functions"])
            look_at(stream.finish())
        case _:
            given.pop("compressed", None)
            augury.explain(text, table, stage=chance.choice(["bound", "rewritten", "plan", "kernel"]), **given)


def look_at(found: Matches) -> None:
    """Show what was found, also where it is more than can be written out."""
    repr(found.head(3))
    if len(found) <= 200:
        found.to_arrow()


def run_table(chance: Random) -> None:
    """A simple query over a table with columns of any types in any role."""
    known = columns()
    base = {
        "ts": pa.array(range(SIZE)),
        "type": pa.array(list("ABAB")),
        "k": pa.array([1] * SIZE),
        "x": pa.array([1] * SIZE),
    }
    for _ in range(chance.randint(1, 2)):
        base[chance.choice(["ts", "type", "k", "x", "seq", "other"])] = known[chance.choice(list(known))]
    table = pa.table(base)
    table = table.slice(chance.randrange(SIZE), chance.randrange(SIZE)) if chance.random() < 0.3 else table
    if chance.random() < 0.3:
        table = pa.concat_tables([table, table])
    events = chance.choice([table, table, table.to_batches(), shape(chance, table)])
    order = ["ts", "seq"] if "seq" in base and chance.random() < 0.7 else None
    text = chance.choice(
        [
            "SEQ(A a, B b) WITHIN 1 hour",
            "SEQ(A a, B b) WHERE [k]",
            "SEQ(A a, B+ b[]) WHERE skip_till_next_match { [x] }",
            "SEQ(A a, B b) WHERE a.x = b.x OR a.x < 3 RETURN a.x AS x, b.ts - a.ts AS d",
            "SEQ(A a, NOT(B n), A b) WHERE n.x = a.x AND length(a.x) > 0",
            "SEQ(A a, B b) WHERE a.x + 1 > b.x RETURN b.x + 1 AS y",
            "SEQ(a, b) WHERE strict_contiguity { a.x IS NOT NULL } OUTPUT COUNT",
        ]
    )
    plan = chance.choice([None, None, None, "reference"])
    given = {"order_by": order, "plan": plan, "jit": False, "max_matches": 500, **limits()}
    if chance.random() < 0.3:
        stream = Matcher(text, table, **given)
        look_at(stream.feed(events))
        look_at(stream.finish())
    else:
        look_at(augury.match(events, text, **given))


def shape(chance: Random, table: pa.Table) -> Any:
    """The table as rows of Python, where Python can hold it."""
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError, KeyError):
        return table
    for row in rows:
        if chance.random() < 0.1:
            del row[chance.choice(list(row))]
    return rows


def run_arguments(chance: Random) -> None:
    """A public function with one, two or three arguments that are anything."""
    function, given = FUNCTIONS[chance.choice(list(FUNCTIONS))]
    known = list(inspect.signature(function).parameters)
    odd = {chance.choice(known): VALUES[chance.choice(list(VALUES))]() for _ in range(chance.randint(1, 3))}
    plain = {"jit": False} if "jit" in known else {}
    # A cache would be made wherever the name says.
    odd.pop("cache_dir", None)
    function(**{**plain, **given, **odd})


def run_file(chance: Random) -> None:
    """A query over a file whose bytes were changed."""
    files.run_file(chance, limits())


PARTS: Mapping[str, Callable[[Random], None]] = {
    "queries": run_query,
    "tables": run_table,
    "arguments": run_arguments,
    "files": run_file,
}


def run_case(part: str, seed: int, number: int) -> None:
    """One case, the same whenever it is run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        PARTS[part](Random(f"{part}:{seed}:{number}"))
