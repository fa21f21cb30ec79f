"""Closing prices of four invented shares, written to standard output as CSV; the same on every run.

python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "symbol", "close")
BEGIN = datetime(2026, 2, 2, 17)
DAYS = 60
SHAPES: dict[str, dict[int, tuple[float, ...]]] = {
    "ACME": {10: (2.0, 1.5, 1.2, 2.6, 1.1, 1.9, -0.6)},
    "BOLT": {30: (-2.0, -1.5, -2.5, 2.2, 2.6, -1.8, -2.9, 1.7, 2.4, 2.1, -0.5)},
    "CORD": {18: (1.1, 2.2, 1.4, 1.8, 1.6, -0.9), 40: (-1.6, -2.2, 2.5, 1.9, -2.1, -2.4, 2.2, 1.8, -0.7)},
    "DUNE": {},
}
"""By share and day, changes in percent that are laid into its random walk."""
Row = tuple[str, str, str, float]


def make() -> tuple[list[Row], dict[str, list[str]]]:
    """All prices in order of time, and the shares that each query is to find."""
    rng = Random(23)
    rows: list[Row] = []
    for place, (symbol, shapes) in enumerate(SHAPES.items()):
        close = 40 + 60 * rng.random()
        laid = {first + k: change for first, changes in shapes.items() for k, change in enumerate(changes)}
        for day in range(DAYS):
            close *= 1 + laid.get(day, 1.6 * rng.random() - 0.8) / 100
            # One after the other: the closing auctions of an exchange end seconds apart.
            at = BEGIN + timedelta(days=day, seconds=place)
            rows.append((at.isoformat(), "bar", symbol, round(close, 2)))
    return sorted(rows), {"rallies": ["ACME", "CORD"], "double_bottoms": ["BOLT", "CORD"]}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
