"""A morning of card payments, written to standard output as CSV; the same on every run.

python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "card", "shop", "amount")
BEGIN = datetime(2026, 6, 1, 8)
SHOPS = ("bakery", "bookshop", "fuel", "games", "jeweller", "music", "phones", "train")
HONEST, TESTED = 40, 4
Row = tuple[str, str, str, str, float]


def make() -> tuple[list[Row], dict[str, list[str]]]:
    """All payments in order of time, and the cards that the query is to find."""
    rng = Random(1)
    payments: list[tuple[int, str, str, float]] = []
    planted = []

    def pay(second: float, card: str, low: float, high: float) -> None:
        shop = SHOPS[int(rng.random() * len(SHOPS))]
        payments.append((int(second), card, shop, round(low + (high - low) * rng.random(), 2)))

    for number in range(HONEST + TESTED):
        card = f"4929-{int(rng.random() * 10_000):04}-{number:02}"
        at = rng.random() * 3 * 3600
        if number < HONEST:
            for _ in range(1 + int(rng.random() * 4)):
                # Now and then a coffee, now and then something large: neither is suspicious.
                pay(at, card, *((1.5, 60.0) if rng.random() < 0.8 else (300.0, 900.0)))
                at += 300 + rng.random() * 3000
        else:
            planted.append(card)
            pay(at - 400, card, 20.0, 60.0)
            for _ in range(3 + int(rng.random() * 3)):
                pay(at, card, 0.5, 1.99)
                at += 15 + rng.random() * 60
            pay(at + 200 * rng.random(), card, 500.0, 1800.0)
    rows = [
        ((BEGIN + timedelta(seconds=second)).isoformat(), "payment", card, shop, amount)
        for second, card, shop, amount in sorted(payments)
    ]
    return rows, {"fraud": planted}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
