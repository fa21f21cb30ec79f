"""A night of logins, written to standard output as CSV; the same on every run.

python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "account", "address")
BEGIN = datetime(2026, 8, 3, 22)
HONEST, FORGETFUL, HELD_OFF, TAKEN = 25, 6, 3, 3
Row = tuple[str, str, str, str]


def make() -> tuple[list[Row], dict[str, list[str]]]:
    """All logins in order of time, and the accounts that the query is to find."""
    rng = Random(2)
    tries: list[tuple[int, str, str, str]] = []
    planted = []
    stories = ["honest"] * HONEST + ["forgetful"] * FORGETFUL + ["held off"] * HELD_OFF + ["taken"] * TAKEN
    for number, story in enumerate(stories):
        account = f"user{number + 1:02}"
        home = f"10.0.{int(rng.random() * 8)}.{10 + number}"
        at = rng.random() * 6 * 3600
        if story in ("held off", "taken"):
            # The attacker guesses from address to address, some seconds apart.
            for _ in range(6 + int(rng.random() * 6)):
                at += 4 + rng.random() * 20
                tries.append((int(at), "failure", account, f"203.0.113.{int(rng.random() * 255)}"))
            if story == "taken":
                planted.append(account)
                tries.append((int(at) + 9, "success", account, f"203.0.113.{int(rng.random() * 255)}"))
            # Later the owner comes from home.
            at += 3600 + rng.random() * 1800
        for _ in range({"honest": 0, "forgetful": 2}.get(story, 0)):
            tries.append((int(at), "failure", account, home))
            at += 10 + rng.random() * 20
        tries.append((int(at), "success", account, home))
    rows = [
        ((BEGIN + timedelta(seconds=second)).isoformat(), kind, account, address)
        for second, kind, account, address in sorted(tries)
    ]
    return rows, {"logins": planted}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
