"""The results section of docs/benchmarks-lazy.md: `python -m benchmarks.lazy.markdown build/bench/lazy.json`."""

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
    counted = "predicates/event | bounds/event | writes/event"
    yield f"| stream | query | min | variant | events/s | MiB | instances | {counted} | matches |"
    yield "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in (r for report in reports for r in report["rows"]):
        yield _row(row)
    skipped = [s for report in reports for s in report["skipped"]]
    if skipped:
        yield ""
        reasons = dict.fromkeys("{what} ({reason})".format(**s) for s in skipped)
        yield f"Not measured: {'; '.join(reasons)}."


def _figure(f: Mapping[str, Any]) -> str:
    measured = f"VOID: {f['void']}" if f["void"] else f"{f['value']:,.{0 if f['value'] >= 100 else 2}f} {f['unit']}"
    target = f"{'>=' if f['at_least'] else '<='} {f['target']:g}"
    verdict = "reached" if f["reached"] else "**not reached**"
    return f"| {f['section']} | {f['what']} | {measured} | {target} | {verdict} |"


def _row(r: Mapping[str, Any]) -> str:
    label = f"| {r['stream']} | {r['query']} {r['condition']} | {r['minutes']:g} | {r['variant']} "
    if r["void"] or r["missing"]:
        return f"{label}| {'VOID: ' + r['void'] if r['void'] else 'not available'} | | | | | | |"
    return (
        f"{label}| {r['events_per_second']:,.0f} | {r['peak_bytes'] / 2**20:.1f} | {r['peak_instances']:,} "
        f"| {r['predicates_per_event']:,.2f} | {r['bounds_per_event']:,.2f} | {r['buffer_writes_per_event']:,.2f} "
        f"| {r['matches']:,} |"
    )


if __name__ == "__main__":
    for line in results([json.loads(Path(name).read_text()) for name in sys.argv[1:]]):
        print(line)
