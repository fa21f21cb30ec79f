"""An afternoon of clicks in a web shop, written to standard output as CSV; the same on every run.

python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "user", "item", "price")
OPENS = datetime(2026, 5, 4, 12)
PRICES = {"lamp": 39.0, "desk": 240.0, "chair": 85.0, "shelf": 120.0, "rug": 64.5}
STORIES = {"looks": 20, "buys": 6, "pays too late": 2, "leaves it in the cart": 4}
Row = tuple[str, str, str, str, float]


def make() -> tuple[list[Row], dict[str, list[str]]]:
    """All clicks in order of time, and the visitors that each query is to find."""
    rng = Random(7)
    clicks: dict[int, tuple[str, str, str]] = {}
    planted: dict[str, list[str]] = {"bought": [], "abandoned": []}

    def click(second: float, kind: str, user: str, item: str) -> None:
        second = int(second)
        while second in clicks:
            second += 1
        clicks[second] = (kind, user, item)

    for number, story in enumerate(s for s, times in STORIES.items() for _ in range(times)):
        user = f"visitor-{number + 1:02}"
        item = list(PRICES)[int(rng.random() * len(PRICES))]
        at = rng.random() * 4 * 3600
        for _ in range(1 + int(rng.random() * 3)):
            click(at, "view", user, item)
            at += 20 + rng.random() * 200
        if story == "looks":
            continue
        click(at, "cart", user, item)
        if story == "buys":
            planted["bought"].append(user)
            click(at + 60 + rng.random() * 600, "pay", user, item)
        else:
            planted["abandoned"].append(user)
            if story == "pays too late":
                click(at + 2000 + rng.random() * 2000, "pay", user, item)
    rows = [
        ((OPENS + timedelta(seconds=second)).isoformat(), kind, user, item, PRICES[item])
        for second, (kind, user, item) in sorted(clicks.items())
    ]
    return rows, planted


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
