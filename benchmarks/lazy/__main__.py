"""The benchmark of lazy evaluation: `python -m benchmarks.lazy`, or `make bench PARTS=lazy`."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numba
import numpy as np
from rich.console import Console

from benchmarks.lazy.figures import Finding, Skipped, rows_table
from benchmarks.lazy.measure import Row, Setting
from benchmarks.lazy.sections import SECTIONS, measure_section, split
from benchmarks.targets import Figure, figures_table

CACHE = Path(__file__).parents[2] / "build" / "bench"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write what was asked for; 1 if any answer was wrong."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if unknown := set(given.sections) - set(SECTIONS):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    setting = Setting(given.cache, rounds=1 if given.quick else given.rounds, scale=10 if given.quick else 1)
    console = Console(width=None if sys.stdout.isatty() else 180)
    rows: list[Row] = []
    figures: list[Figure] = []
    skipped: list[Skipped] = []
    for section in SECTIONS:
        if section in given.sections:
            found = []
            with console.status(section) as status:
                for finding in measure_section(section, setting):
                    found.append(finding)
                    status.update(f"{section}: {len(found)}, {described(finding)}")
            new_rows, new_figures, new_skipped = split(found)
            if new_rows:
                console.print(rows_table(section, new_rows))
            if new_figures:
                console.print(figures_table(new_figures, verdicts=not given.quick))
            for skip in new_skipped:
                console.print(f"not measured: {skip.what}: {skip.reason}", style="yellow")
            rows += new_rows
            figures += new_figures
            skipped += new_skipped
            if given.json:
                # After each section, so that a long run that is stopped has not been in vain.
                given.json.parent.mkdir(parents=True, exist_ok=True)
                text = json.dumps(report(rows, figures, skipped, quick=given.quick), indent=1)
                given.json.write_text(text + "\n")
    void = voided(rows, figures)
    if void:
        console.print(f"VOID, because the answers were wrong: {'; '.join(void)}", style="bold red")
    return 1 if void else 0


def described(finding: Finding) -> str:
    """A finding in a few words, to show how far a run has come."""
    return f"{finding.query} {finding.minutes:g} min {finding.variant}" if isinstance(finding, Row) else finding.what


def voided(rows: Sequence[Row], figures: Sequence[Figure]) -> list[str]:
    """What was measured in vain, because the answer was wrong."""
    of_rows = [f"{r.query} {r.condition}, {r.stream}, {r.variant}" for r in rows if r.void is not None]
    return of_rows + [f.what for f in figures if f.void is not None]


def report(
    rows: Sequence[Row], figures: Sequence[Figure], skipped: Sequence[Skipped], *, quick: bool
) -> dict[str, object]:
    """Everything measured, and by which versions, as plain values."""
    return {
        "quick": quick,
        "versions": {"python": platform.python_version(), "numba": numba.__version__, "numpy": np.__version__},
        "rows": [r.to_json() for r in rows],
        "figures": [f.to_json() for f in figures],
        "skipped": [asdict(s) for s in skipped],
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.lazy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: short streams, one round; times mean little")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--rounds", type=int, default=3, help="how often each variant is measured (default 3)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where compiled kernels and programs are kept")
    parser.add_argument("sections", nargs="*", default=list(SECTIONS), help=f"{', '.join(SECTIONS)} (default all)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
