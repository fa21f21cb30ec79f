"""Forty minutes of heartbeats of five machines, written to standard output as CSV; the same on every run.

python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "machine", "celsius")
BEGIN = datetime(2026, 7, 6, 6)
SHIFT = 40 * 60
MACHINES = ("press", "lathe", "mill", "saw", "oven")
HANGS = {"lathe": (840, 1080), "oven": (1500, 1860)}
"""Seconds from which to which a machine sends nothing although it is on."""
PAUSES = {"saw": (900, 1500)}
"""Seconds from which to which a machine is switched off."""
Row = tuple[str, str, str, float]


def make() -> tuple[list[Row], dict[str, list[str]]]:
    """All beats and stops in order of time, and the machines that the query is to find."""
    rng = Random(3)
    rows: list[Row] = []

    def send(second: int, kind: str, machine: str) -> None:
        ts = (BEGIN + timedelta(seconds=second)).isoformat()
        rows.append((ts, kind, machine, round(40 + 30 * rng.random(), 1)))

    for place, machine in enumerate(MACHINES):
        off = PAUSES.get(machine)
        for beat in range(0, SHIFT, 30):
            if any(since < beat < until for since, until in (HANGS.get(machine, (0, 0)), off or (0, 0))):
                continue
            # Machines send at different seconds of each half minute, and now and then one beat gets lost.
            if rng.random() < 0.97:
                send(beat + 5 * place + int(3 * rng.random()), "beat", machine)
            if off is not None and beat == off[0]:
                send(beat + 5 * place + 4, "stop", machine)
        send(SHIFT + 5 * place, "stop", machine)
    return sorted(rows), {"silence": list(HANGS)}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
