"""The benchmark of compiled kernels: `python -m benchmarks.kernels`, or `make bench`."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import numba
import numpy as np
from rich.console import Console

from benchmarks.matrix import Row, matrix_table, measure_matrix
from benchmarks.stock import stock_stream
from benchmarks.targets import SECTIONS, Figure, Setting, figures_table, measure_section

WINDOWS = (100, 500, 1000, 2000)
CACHE = Path(__file__).parent.parent / "build" / "bench"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write what was asked for; 1 if any answer was wrong."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if unknown := set(given.sections) - {"matrix", *SECTIONS}:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    setting = Setting(given.cache, rounds=1 if given.quick else given.rounds, scale=10 if given.quick else 1)
    console = Console(width=None if sys.stdout.isatty() else 140)
    rows: list[Row] = []
    if "matrix" in given.sections:
        windows = (100, 2000) if given.quick else WINDOWS
        table = stock_stream(40_000 // setting.scale, rise=given.rise)
        rows = list(measure_matrix(table, windows, setting.cache, setting.rounds))
        console.print(matrix_table(rows))
    figures: list[Figure] = []
    for section in SECTIONS:
        if section in given.sections:
            found = measure_section(section, setting)
            console.print(figures_table(found, verdicts=not given.quick))
            figures += found
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(report(rows, figures, quick=given.quick), indent=1) + "\n")
    void = voided(rows, figures)
    if void:
        console.print(f"VOID, because the answers were wrong: {'; '.join(void)}", style="bold red")
    return 1 if void else 0


def voided(rows: Sequence[Row], figures: Sequence[Figure]) -> list[str]:
    """What was measured in vain, because the answer was wrong."""
    return [r.query for r in rows if r.void is not None] + [f.what for f in figures if f.void is not None]


def report(rows: Sequence[Row], figures: Sequence[Figure], *, quick: bool) -> dict[str, object]:
    """Everything measured, and by which versions, as plain values."""
    return {
        "quick": quick,
        "versions": {"python": platform.python_version(), "numba": numba.__version__, "numpy": np.__version__},
        "matrix": [r.to_json() for r in rows],
        "figures": [f.to_json() for f in figures],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.kernels", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: short streams, one round; times mean little")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--rounds", type=int, default=3, help="how often each variant is measured (default 3)")
    parser.add_argument("--rise", type=float, default=0.7, help="probability of a rising price (default 0.7)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where compiled kernels are kept")
    parser.add_argument(
        "sections", nargs="*", default=["matrix", *SECTIONS], help="matrix, or the letter of a target (default all)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
