"""The hand-written programs: build them, give them a stream, and read what they found and what it cost."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import numpy as np
import pyarrow as pa

from benchmarks.lazy.queries import Correlated, Query, Rising
from benchmarks.lazy.streams import HISTORY, MINUTE
from benchmarks.measure import WrongAnswer
from benchmarks.workload import Tally

FLAGS = ("-std=c++17", "-O3", "-march=native", "-fopenmp-simd", "-Wall", "-Wextra", "-Werror")
TYPES = ("T1", "T2", "T3")


@dataclass(frozen=True, slots=True)
class Written:
    """The cost of one variant of a program in CPU seconds: standardising, splitting by type, and matching."""

    variant: str
    prepare: float
    split: float
    match: float

    @property
    def kernel(self) -> float:
        return self.split + self.match

    @property
    def in_all(self) -> float:
        return self.prepare + self.split + self.match

    def least(self, other: Written) -> Written:
        return Written(
            self.variant,
            min(self.prepare, other.prepare),
            min(self.split, other.split),
            min(self.match, other.match),
        )


def compiler() -> str | None:
    """The C++ compiler of this machine, if it has one."""
    return shutil.which("g++")


def build(name: str, folder: Path) -> Path:
    """The program of this name, built for this very processor unless that has been done since it was last changed."""
    sources = Path(__file__).parent
    program = folder / name
    changed = max((sources / file).stat().st_mtime for file in (f"{name}.cpp", "columns.hpp"))
    if not program.exists() or program.stat().st_mtime < changed:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([compiler() or "g++", *FLAGS, str(sources / f"{name}.cpp"), "-o", str(program)], check=True)
    return program


def written_by_hand(query: Query, table: pa.Table, answer: Tally, runs: int, folder: Path) -> list[Written]:
    """The least times of `runs` runs of each variant of the program for a SEQ of T1, T2 and T3, answers checked."""
    match query.condition:
        case Rising(limit):
            name, histories = "seq3_prices", False
        case Correlated(limit):
            name, histories = "seq3_correlation", True
        case _:
            assert_never(query.condition)
    program = build(name, folder)
    with tempfile.NamedTemporaryFile(suffix=".columns") as file:
        write_columns(Path(file.name), table, histories=histories)
        done = subprocess.run(
            [str(program), file.name, str(int(query.minutes * MINUTE)), repr(limit), str(runs)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for f in found:
        if (f["matches"], f["rows"]) != (answer.matches, answer.rows):
            raise WrongAnswer(f"{name} {f['variant']}: {f['matches']} matches, rows {f['rows']} instead of {answer}")
    return [Written(f["variant"], f["prepare"], f["split"], f["match"]) for f in found]


def write_columns(path: Path, table: pa.Table, *, histories: bool) -> None:
    """Two integers, the number of events and the length of a history, then each column as it lies in memory."""
    names = table["type"].combine_chunks().dictionary.to_pylist()
    code = np.array([TYPES.index(name) for name in names], dtype=np.int32)
    with path.open("wb") as file:
        np.array([table.num_rows, HISTORY if histories else 0], dtype=np.int64).tofile(file)
        table["ts"].cast(pa.int64()).to_numpy().tofile(file)
        code[table["type"].combine_chunks().indices.to_numpy()].tofile(file)
        table["price"].to_numpy().tofile(file)
        if histories:
            table["history"].combine_chunks().flatten().to_numpy().tofile(file)
