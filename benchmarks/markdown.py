"""The results section of docs/benchmarks-kernels.md: `python -m benchmarks.markdown build/bench/kernels.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def results(reports: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of both tables, from one report or from the reports of several sections; figures with a target only."""
    yield "| | figure | measured | target | |"
    yield "|---|---|---:|---:|---|"
    for figure in (f for report in reports for f in report["figures"]):
        if figure["target"] is not None:
            yield _figure(figure)
    yield ""
    yield "| query | events/s | with merging | runs | most at a time, with merging | merged | matches | length |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    rows = [r for report in reports for r in report["matrix"]]
    for off, on in zip(rows[::2], rows[1::2], strict=True):
        yield _pair(off, on)


def _figure(f: Mapping[str, Any]) -> str:
    measured = f"VOID: {f['void']}" if f["void"] else f"{f['value']:,.{0 if f['value'] >= 100 else 2}f} {f['unit']}"
    target = f"{'>=' if f['at_least'] else '<='} {f['target']:g}"
    verdict = "reached" if f["reached"] else "**not reached**"
    return f"| {f['section']} | {f['what']} | {measured} | {target} | {verdict} |"


def _pair(off: Mapping[str, Any], on: Mapping[str, Any]) -> str:
    """A query on one line: without merging, and what changes with it."""
    if off["void"]:
        return f"| {off['query']} | VOID: {off['void']} | | | | | | |"
    return (
        f"| {off['query']} | {off['events_per_second']:,.0f} | {on['events_per_second']:,.0f} | {off['runs']} "
        f"| {off['peak_runs']}, {on['peak_runs']} | {on['merged']} | {off['matches']:,} | {off['match_length']:.1f} |"
    )


if __name__ == "__main__":
    for line in results([json.loads(Path(name).read_text()) for name in sys.argv[1:]]):
        print(line)
