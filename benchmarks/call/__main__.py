"""The whole call, from a Parquet file to all matches, beside Polars and DuckDB: `python -m benchmarks.call`.

Each engine runs in a process of its own for each workload; they take turns, and the least time of several rounds
counts.
Peak memory is that of this process. A wrong count voids the workload.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Timer

from rich.console import Console
from rich.table import Table

from benchmarks.call.workloads import TICKS, WORKLOADS, Workload, write_days
from benchmarks.measure import WrongAnswer

ENGINES = ("augury", "augury-jit", "augury-1", "augury-sink", "polars", "duckdb")
"""`augury-jit` compiles at once, `augury-1` has one thread, `augury-sink` writes matches to a file as it finds them."""

USUAL_ENGINES = ("augury", "augury-jit", "augury-1", "polars", "duckdb")


@dataclass(frozen=True, slots=True)
class Measured:
    """What an engine needed for one workload: seconds of the first and the fastest later call, bytes at most."""

    first: float
    again: float
    peak: int
    matches: int


class Engine:
    """An engine in its own process; answers one workload at a time, or is ended when that takes too long."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        command = [sys.executable, "-m", "benchmarks.call.engine", name, str(path)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, workload: str, timeout: float) -> tuple[float, int, int] | None:
        """Seconds, matches and peak bytes; None when it did not answer in time."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = Timer(timeout, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(f"{workload}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        if not line:
            # Killed by the timer, or for its memory; an engine that ended by itself has failed, and voids the run.
            if (status := self._process.wait()) != -signal.SIGKILL:
                raise WrongAnswer(f"{workload}: {self._name} ended with status {status} before it answered")
            return None
        answer = json.loads(line)
        if len(answer["counts"]) > 1:
            raise WrongAnswer(f"{workload}: formulations disagree: {answer['counts']}")
        return answer["seconds"], answer["counts"][0], answer["peak"]

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def measure(
    name: str, path: Path, days: int, engines: Sequence[str], rounds: int, timeout: float
) -> dict[str, Measured]:
    """Every engine on one workload, in turns; engines that ran out of time are missing."""
    running = {engine: Engine(engine, path) for engine in engines}
    found: dict[str, list[tuple[float, int, int]]] = {engine: [] for engine in engines}
    try:
        for k in range(rounds + 1):
            for engine in list(running) if k % 2 == 0 else list(reversed(running)):
                answer = running[engine].run(name, timeout)
                if answer is None:
                    running.pop(engine).close()
                    del found[engine]
                else:
                    found[engine].append(answer)
    finally:
        for process in running.values():
            process.close()
    check(name, WORKLOADS[name], days, {engine: answers[0][1] for engine, answers in found.items()})
    return {
        engine: Measured(
            first=answers[0][0],
            again=min(seconds for seconds, _, _ in answers[1:]),
            peak=max(peak for _, _, peak in answers),
            matches=answers[0][1],
        )
        for engine, answers in found.items()
    }


def check(name: str, workload: Workload, days: int, counts: Mapping[str, int]) -> None:
    """Refuse times of engines that disagree with one another or with the known number of matches."""
    expected = workload.matches.get(days)
    if len(set(counts.values()) | ({expected} if expected is not None else set())) > 1:
        raise WrongAnswer(f"{name} over {days} days: {dict(counts)}, expected {expected}")


def show(console: Console, days: int, results: Mapping[str, Mapping[str, Measured]], engines: Sequence[str]) -> None:
    table = Table(title=f"{days} days: seconds of the first call / the fastest later one, peak MB")
    for column in ("", "matches", *engines, "best peer / augury"):
        table.add_column(column, justify="right")
    for name, by_engine in results.items():
        cells = []
        for engine in engines:
            m = by_engine.get(engine)
            cells.append("out of time" if m is None else f"{m.first:.3f} / {m.again:.3f}, {m.peak / 1e6:.0f}")
        peers = [m.again for engine, m in by_engine.items() if not engine.startswith("augury")]
        own = by_engine.get("augury")
        ratio = f"{min(peers) / own.again:.2f}" if peers and own is not None else "-"
        table.add_row(name, f"{next(iter(by_engine.values())).matches:,}", *cells, ratio)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.call", description=__doc__)
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), help="names of workloads, all by default")
    parser.add_argument("--days", type=int, nargs="+", default=[1, 20], help="how often the day of ticks is repeated")
    parser.add_argument("--engines", nargs="+", default=list(USUAL_ENGINES), choices=ENGINES)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds that an engine may take for one call")
    parser.add_argument("--folder", type=Path, default=Path("build/bench/call"), help="where the streams are written")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    given = parser.parse_args(arguments)
    console = Console()
    if not TICKS.exists():
        console.print(f"the ticks are not there: {TICKS.name} is expected in shared/data beside the repository")
        return 1
    kept: dict[str, dict[str, dict[str, Measured]]] = {}
    for days in given.days:
        path = write_days(given.folder, days)
        kept[str(days)] = {
            name: measure(name, path, days, given.engines, given.rounds, given.timeout) for name in given.workloads
        }
        show(console, days, kept[str(days)], given.engines)
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        plain = {d: {w: {e: asdict(m) for e, m in r.items()} for w, r in ws.items()} for d, ws in kept.items()}
        given.json.write_text(json.dumps(plain, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
