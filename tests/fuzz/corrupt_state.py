"""Corrupted snapshots: each is refused with an `AuguryError`, or is a stream that runs and ends.

    python -m tests.fuzz.corrupt_state --plan eager-nfa --runs 100000 --seed 1

A corruption changes raw bytes, numbers in the arrays of the kernel's state, or facts; the digest is made anew, so that
it gets past the front. Every run is known by its number, from which all of it follows. The work is done in child
processes: one that dies, or hangs, is noticed and the run it died in is reported.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from augury import Matcher
from augury.errors import AuguryError
from augury.hosts.local.matcher import Setting, setting
from augury.hosts.local.snapshot import BODY_START, load_snapshot
from augury.jit.background import compile_in_background
from augury.runtime.kernel_source import Signature, kernel_source
from augury.runtime.state import RunState
from tests.fuzz.children import PATIENCE, many
from tests.fuzz.states import CASES, events, saved

NUMBERS = (0, 1, -1, -2, -3, 2, 7, 2**31 - 1, 2**31, 2**62, 2**63 - 1, -(2**63), 255, 4096)
FACTS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    -(2**63) - 1,
    1e308,
    float("nan"),
    "",
    "x",
    "\r\n",
    [],
    {},
    [[]],
    10**30,
)


def digested(data: bytes) -> bytes:
    """A snapshot with the digest of what it holds."""
    mark = data[: BODY_START - 32]
    return mark + hashlib.sha256(data[BODY_START:]).digest() + data[BODY_START:]


# -- corruption ------------------------------------------------------------------------------------------------------


def corrupted(data: bytes, one: random.Random, *, arrays: bool = False) -> bytes:
    """The snapshot with something changed; `arrays` are those of the kernel's state, and nothing but them."""
    how = one.uniform(0.5, 1) if arrays else one.random()
    if how < 0.2:
        return digested(corrupted_raw(data, one, BODY_START))
    state = parsed(data, BODY_START)
    if how < 0.35:
        state = replace(state, facts=corrupted_facts(state.facts, one))
    elif how < 0.45:
        state = replace(state, tables=corrupted_tables(state.tables, one))
    else:
        name = one.choice([n for n in state.tables if n.startswith("state")])
        inner = parsed(state.tables[name]["state"][0].as_py())
        if how < 0.5 or not inner.tables:
            inner = _header(inner, one)
        else:
            inner = replace(inner, tables=corrupted_tables(inner.tables, one))
        table = pa.table({"state": pa.array([inner.to_bytes()], pa.large_binary())})
        state = replace(state, tables={**state.tables, name: table})
    return digested(data[:BODY_START] + state.to_bytes())


@cache
def parsed(data: bytes, start: int = 0) -> RunState:
    """The state in an unharmed snapshot, of which there are few."""
    return RunState.from_bytes(data[start:])


def corrupted_raw(data: bytes, one: random.Random, start: int = 0) -> bytes:
    """The bytes with some of them changed, from `start` on."""
    changed = bytearray(data)
    for _ in range(one.randrange(1, 5)):
        at = one.randrange(start, len(changed))
        match one.randrange(4):
            case 0:
                changed[at] ^= 1 << one.randrange(8)
            case 1:
                changed[at] = one.randrange(256)
            case 2:
                del changed[at : at + one.randrange(1, 9)]
                changed += b"\0"
            case _:
                value = one.choice(NUMBERS).to_bytes(8, "little", signed=True)
                changed[at : at + 8] = value
    return bytes(changed)


def _header(state: RunState, one: random.Random) -> RunState:
    match one.randrange(4):
        case 0:
            return replace(state, version=state.version + one.choice([-1, 1]))
        case 1:
            return replace(state, family=one.choice(["reference", "eager-nfa", "lossy", "linked", ""]))
        case 2:
            return replace(state, oldest_row=one.choice(NUMBERS))
        case _:
            return replace(state, facts=corrupted_facts(state.facts or {"x": 1}, one))


def corrupted_facts(facts: Any, one: random.Random) -> Any:
    """The facts with one of them changed, lost or doubled."""
    facts = json.loads(json.dumps(facts))
    holder, key = facts, None
    while True:
        inner = list(holder) if isinstance(holder, dict) else range(len(holder))
        if not inner:
            break
        key = one.choice(list(inner))
        if not isinstance(holder[key], dict | list) or not holder[key] or one.random() < 0.1:
            break
        holder = holder[key]
    if key is None or (isinstance(key, int) and key >= len(holder)):
        return facts
    value = holder[key]
    match value:
        case str() if value and one.random() < 0.8:
            at = one.randrange(len(value))
            holder[key] = value[:at] + one.choice(["", "x", "\0", "\r", "'", "9", ")", "é", value]) + value[at + 1 :]
        case int() if one.random() < 0.7:
            holder[key] = one.choice([value + 1, value - 1, -value, value * 10, *NUMBERS])
        case _ if one.random() < 0.2 and isinstance(holder, dict):
            del holder[key]
        case _:
            holder[key] = one.choice(FACTS)
    return facts


def corrupted_tables(given: Mapping[str, pa.Table], one: random.Random) -> dict[str, pa.Table]:
    """The tables with some numbers changed in one of them, or one cut, doubled, lost or exchanged."""
    tables = dict(given)
    name = one.choice(sorted(tables))
    if one.random() < 0.7:
        # Small tables are as likely as large ones, and those with rows more likely than those without.
        filled = sorted(n for n, t in tables.items() if t.num_rows and t.num_columns)
        name = one.choice(filled or [name])
    table = tables[name]
    match one.randrange(12):
        case 0 if table.num_rows:
            cut = one.randrange(table.num_rows)
            tables[name] = pa.concat_tables([table.slice(0, cut), table.slice(cut + 1)])
        case 1 if table.num_rows:
            tables[name] = pa.concat_tables([table, table.slice(one.randrange(table.num_rows), 1)])
        case 2:
            del tables[name]
        case 3:
            tables[name] = tables[one.choice(sorted(tables))]
        case 4 if table.num_columns:
            tables[name] = table.drop_columns([one.choice(table.column_names)])
        case 5 if table.num_columns and table.num_rows:
            column = one.randrange(table.num_columns)
            values = table.column(column).to_pylist()
            values[one.randrange(len(values))] = None
            tables[name] = table.set_column(
                column, table.schema.field(column), pa.array(values, table.column(column).type)
            )
        case 6 if table.num_rows > 1:
            order = list(range(table.num_rows))
            i, j = one.sample(order, 2)
            order[i], order[j] = order[j], order[i]
            tables[name] = table.take(pa.array(order))
        case _:
            tables[name] = _numbers(table, one)
    return tables


def _numbers(table: pa.Table, one: random.Random) -> pa.Table:
    """The table with some of its numbers changed."""
    for _ in range(one.randrange(1, 4)):
        numeric = [k for k, f in enumerate(table.schema) if pa.types.is_primitive(f.type) and f.type != pa.bool_()]
        if not numeric or not table.num_rows:
            return table
        column = one.choice(numeric)
        array = table.column(column)
        if array.null_count:
            continue
        values = np.array(array.to_numpy(zero_copy_only=False))
        if values.dtype.kind not in "iuf":
            continue
        at = one.randrange(len(values))
        if values.dtype.kind == "f":
            values[at] = one.choice([0.0, -1.0, 1.0, 1e308, float("inf"), float("nan"), values[at] * 2])
        else:
            near = int(values[at])
            value = one.choice([*NUMBERS, near + 1, near - 1, int(one.choice(values)), len(values), len(values) - 1])
            info = np.iinfo(values.dtype)
            values[at] = min(max(value, info.min), info.max)
        table = table.set_column(column, table.schema.field(column), pa.array(values, array.type))
    return table


# -- runs ------------------------------------------------------------------------------------------------------------


def run(plan: str, seed: int, number: int, compiled: Callable[..., Setting], *, jit: bool = False) -> str:
    """Corrupt, restore and go on; what came of it."""
    one = random.Random(f"{plan} {seed} {number}")
    case = one.randrange(len(CASES[plan]))
    # Another query would be compiled anew, which takes a thousand times as long.
    data = corrupted(saved(plan, case, jit), one, arrays=jit)
    try:
        stream = Matcher.__new__(Matcher)
        stream._setting, stream._position = load_snapshot(data, {}, compiled=compiled)
    except AuguryError:
        return "refused"
    try:
        before, after = CASES[plan][case].before, CASES[plan][case].after
        for found in (stream.feed(events(before, after)), stream.finish()):
            found.to_arrow()
    except AuguryError:
        return "stopped"
    return "ended"


def compiled_once() -> Callable[..., Setting]:
    """What compiles a query that it has not compiled before."""
    known: dict[str, Setting] = {}

    def compiled(*given: Any) -> Setting:
        name = repr(given)
        if name not in known:
            if len(known) > 64:
                known.clear()
            known[name] = setting(*given)
        return known[name]

    return compiled


def fuzz(plan: str, runs: int, seed: int, *, jit: bool = False, first: int = 0) -> tuple[Counter[str], list[str]]:
    """That many corruptions of the snapshots of a plan: the outcomes, and what went wrong."""
    for number in range(len(CASES[plan])):
        saved(plan, number, jit)
    # A forked process would wait for locks of a compiler that runs beside it: it takes requests one after the other.
    small = kernel_source("@kernel\ndef same(x):\n    return x\n", (Signature("same", ("x",)),))
    assert compile_in_background(small).result()
    compiled = compiled_once()
    # A kernel that is compiled takes its time.
    patience = PATIENCE * (10 if jit else 1)
    return many(lambda number: run(plan, seed, number, compiled, jit=jit), first, first + runs, patience)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", choices=[*CASES, "all"], default="all")
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jit", action="store_true")
    given = parser.parse_args()
    failed = False
    for plan in CASES if given.plan == "all" else [given.plan]:
        outcomes, wrong = fuzz(plan, given.runs, given.seed, jit=given.jit, first=given.first)
        print(plan, dict(outcomes), f"{len(wrong)} wrong", flush=True)
        for problem in wrong:
            print(f"{plan} seed {given.seed} {problem}", flush=True)
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
