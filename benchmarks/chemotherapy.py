"""A stream like that of paper 002, section 5.1, and the brute force it is compared with in its section 5.2."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
import pyarrow as pa

MEDICATIONS = ("C", "D", "P", "V", "R", "L")
WINDOW = 264
"""Eleven days, in hours, which are the ticks of the stream."""

CYCLE = 21 * 24


def chemotherapy_stream(
    patients: int = 20, cycles: int = 4, *, times: int = 1, irrelevant: float = 0.0, seed: int = 1
) -> pa.Table:
    """Cycles of three weeks: every medication in the first days of each, three blood counts after them.

    Each event occurs `times` times in a row, as in the paper's data sets D1 to D5. `irrelevant` is the share of events
    that no query asks for.
    """
    rng = np.random.default_rng(seed)
    hours: list[int] = []
    types: list[str] = []
    who: list[int] = []
    for patient in range(patients):
        first = int(rng.integers(0, CYCLE))
        for cycle in range(cycles):
            begin = first + cycle * CYCLE
            hours += [begin + int(h) for h in rng.integers(0, 120, len(MEDICATIONS))]
            hours += [begin + int(h) for h in rng.integers(140, CYCLE, 3)]
            types += [*MEDICATIONS, "B", "B", "B"]
            who += [patient] * (len(MEDICATIONS) + 3)
    extra = round(len(hours) * irrelevant / (1 - irrelevant))
    hours += rng.integers(0, max(hours), extra).tolist()
    types += ["X"] * extra
    who += rng.integers(0, patients, extra).tolist()
    order = np.argsort(np.array(hours), kind="stable")
    columns = {
        "ts": np.repeat(np.array(hours)[order], times),
        "type": np.repeat(np.array(types)[order], times),
        "patient": np.repeat(np.array(who)[order], times),
    }
    return pa.table({**columns, "seq": np.arange(len(columns["ts"]))})


def set_query(types: Sequence[str], *, group: bool = False) -> str:
    """`<{v0, v1, ...}, {b}>` over one patient; with `group` the last variable of the first set is a list."""
    names = [f"v{k}" for k in range(len(types))]
    parts = [f"{t} {v}" for t, v in zip(types, names, strict=True)]
    if group:
        parts[-1] = f"{types[-1]}+ {names[-1]}[]"
    same = " AND ".join(f"v0.patient = {v}.patient" for v in [*names[1:], "b"])
    return (
        f"PATTERN SEQ(AND({', '.join(parts)}), B b)\nWHERE skip_till_next_match {{ {same} }}\nWITHIN {WINDOW} seconds"
    )


def brute_force_instances(table: pa.Table, types: Sequence[str]) -> int:
    """The most simultaneous instances of one automaton for each permutation of the first set, followed by B.

    An event starts an instance of every automaton whose first variable it fits; an instance takes the next event that
    fits, and is kept until its window has passed, complete or not.
    """
    codes = {t: k for k, t in enumerate(sorted({*types, "B"}))}
    automata = np.array(
        [[codes[types[k]] for k in order] + [codes["B"], -1] for order in permutations(range(len(types)))]
    )
    hour, patient = (table[name].to_numpy() for name in ("ts", "patient"))
    types_of = [codes.get(t, -2) for t in table["type"].to_pylist()]
    live = np.empty((0, 4), dtype=np.int64)
    """Automaton, how many variables are bound, start, patient."""
    most = 0
    for t, who, code in zip(hour.tolist(), patient.tolist(), types_of, strict=True):
        live = live[t - live[:, 2] <= WINDOW]
        takes = (live[:, 3] == who) & (automata[live[:, 0], live[:, 1]] == code)
        live[takes, 1] += 1
        begins = np.flatnonzero(automata[:, 0] == code)
        begun = np.stack([begins, np.ones_like(begins), np.full_like(begins, t), np.full_like(begins, who)], axis=1)
        live = np.concatenate([live, begun])
        most = max(most, len(live))
    return most
