"""Random row patterns over streams that are cut and killed at random: `python -m ... --streams 100 --seed 1`.

A child process runs one stream after the other. It is killed once during each of them, at a moment of chance, and
started again: it goes on from the checkpoint of the stream that was under way. What every stream has written by its
end is compared with the reference evaluator.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

import augury.spark
from augury.errors import AuguryError, AuguryWarning
from augury.testing.row_pattern_clauses import STREAM_ORDERS, clauses, tables
from augury.testing.row_patterns import bound_clause, comparable
from tests.drawn import drawn
from tests.engine.test_row_pattern_stream import decided
from tests.spark.conftest import SETTINGS
from tests.spark.processes import Program, environment, kill, module, running
from tests.spark.streaming import read_files, run_to_end, write_files

LONGEST_DELAY = 0.5
"""Seconds from the beginning of a micro-batch until the child is killed."""

MOST_SECONDS = 600
"""How long one stream may take, its restart included."""


@dataclass(frozen=True, slots=True)
class StreamCase:
    """A clause, its rows by micro-batch, and the rows it writes, as often as each; None if it ends with an error."""

    clause: str
    parts: tuple[pa.Table, ...]
    expected: Counter[str] | None


@st.composite
def stream_cases(draw: st.DrawFn) -> StreamCase:
    """A clause and rows in micro-batches, with what the reference evaluator finds in them."""
    clause = draw(clauses(orders=STREAM_ORDERS))
    rows = draw(tables(30, timed=True))
    rows = rows.append_column("n", pa.array(range(len(rows)))).sort_by([("at", "ascending"), ("n", "ascending")])
    rows = rows.drop_columns(["n"])
    bound = bound_clause(clause, rows.schema)
    assume(not any(anchor.end for anchor in bound.anchors))
    cuts = draw(st.lists(st.integers(1, 29), max_size=4))
    bounds = sorted({0, *(c for c in cuts if c < len(rows)), len(rows)})
    parts = tuple(rows.slice(low, high - low) for low, high in pairwise(bounds))
    # Spark's watermark is that of the latest row.
    watermark = int(rows["at"].cast(pa.int64()).to_numpy().max())
    try:
        return StreamCase(clause, parts, decided(bound, rows, watermark))
    except AuguryError:
        return StreamCase(clause, parts, None)


def random_case(number: int) -> StreamCase:
    """A stream of some micro-batches that writes rows, if several draws had one; the same for the same number."""
    return drawn(stream_cases(), number, lambda case: bool(case.expected) and len(case.parts) > 1)


def counted(table: pa.Table) -> Counter[str]:
    """The rows of a table, as often as each is there."""
    return Counter(
        repr([comparable(v) for v in row]) for row in zip(*(c.to_pylist() for c in table.columns), strict=True)
    )


def run_streams(place: Path, numbers: range) -> None:
    """Run the streams that are not done yet; `done` in the folder of one says how it ended."""
    session = augury.spark.embedded_session("local[2]", SETTINGS)
    warnings.simplefilter("ignore", AuguryWarning)
    for number in numbers:
        folder = place / str(number)
        if (folder / "done").exists():
            continue
        folder.mkdir(exist_ok=True)
        case = random_case(number)
        if case.expected is None:
            (folder / "done").write_text("error")
            continue
        if not (folder / "written").exists():
            write_files(case.parts, folder / "events")
            (folder / "written").touch()
        read_files(session, folder / "events", case.parts[0].schema).createOrReplaceTempView("ticks")
        query = f"SELECT * FROM ticks MATCH_RECOGNIZE ({case.clause})"
        found = augury.spark.sql(session, query, lateness="0 seconds", buckets=2)
        run_to_end(found, folder)
        rows = counted(session.read.schema(found.schema).parquet(str(folder / "matches")).toArrow())
        same = rows == case.expected
        said = "agree" if same else f"{case.clause}\n{case.parts}\nexpected {case.expected}\nfound {rows}"
        (folder / "done").write_text(said)
    session.stop()


def main() -> int:
    """Run the streams; the exit code is 1 if one of them wrote other rows than the reference evaluator."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    numbers = range(1000 * given.seed, 1000 * given.seed + given.streams)
    if given.child is not None:
        run_streams(given.child, numbers)
        return 0
    chance, kills = random.Random(given.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        place, log = Path(folder), Path(folder) / "log"
        arguments = [f"--{name}={getattr(given, name)}" for name in ("streams", "seed")]
        command = module("tests.spark.row_patterns_under_fire", *arguments, f"--child={place}")
        killed: set[int] = set()
        while left := [n for n in numbers if not (place / str(n) / "done").exists()]:
            with running(command, log, environment()) as child:
                kills += _killed_once(place, left, killed, child, chance, log)
        said = Counter((place / str(n) / "done").read_text() for n in numbers)
    failures = [text for text in said if text not in ("agree", "error")]
    for failure in failures:
        print(failure)
    print(
        f"{given.streams} streams, killed {kills} times: {said['agree']} agree, {said['error']} end with an error "
        f"in the reference evaluator, {len(failures)} differ"
    )
    return 1 if failures else 0


def _killed_once(
    place: Path, left: list[int], killed: set[int], child: Program, chance: random.Random, log: Path
) -> int:
    """Wait until the child is in the middle of a stream that has not been killed, and kill it; how often that was."""
    for number in left:
        folder, began = place / str(number), time.monotonic()
        moment, delay = chance.random(), chance.random() * LONGEST_DELAY
        while not (folder / "done").exists():
            if child.poll() not in (None, 0):
                raise SystemExit(f"stream {number} failed:\n{log.read_text()[-4000:]}")
            if time.monotonic() - began > MOST_SECONDS:
                raise SystemExit(f"stream {number} takes too long:\n{log.read_text()[-4000:]}")
            if number not in killed and _has_begun(folder, moment):
                killed.add(number)
                time.sleep(delay)
                if not (folder / "done").exists():
                    kill(child)
                    return 1
            time.sleep(0.01)
    child.wait()
    return 0


def _has_begun(folder: Path, moment: float) -> bool:
    """Whether the micro-batch is under way that comes at this part of a stream, from 0 to 1."""
    if not (folder / "written").exists():
        return False
    batch = int(moment * len(list((folder / "events").iterdir())))
    return (folder / "checkpoint" / "offsets" / str(batch)).exists()


if __name__ == "__main__":
    sys.exit(main())
