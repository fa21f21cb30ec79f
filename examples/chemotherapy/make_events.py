"""Four cycles of chemotherapy of eight patients, written to standard output as CSV; the same on every run.

The patients are invented; what is given and counted follows the example of Cadonna, Gamper and Böhlen, "Sequenced Event
Set Pattern Matching" (EDBT 2011).

    python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "patient", "value", "unit")
BEGIN = datetime(2026, 1, 12, 8)
PATIENTS, CYCLES = 8, 4
LOW = 2.0
"""Thousand white blood cells per microlitre below which the next cycle is put off."""
Row = tuple[str, str, str, float, str]


def make() -> tuple[list[Row], dict[str, list[str]]]:
    """All medications and blood counts in order of time, and the patient of each cycle that the query is to find."""
    rng = Random(3)
    given: list[tuple[int, str, int, float, str]] = []
    planted = []
    for patient in range(1, PATIENTS + 1):
        for cycle in range(CYCLES):
            start = cycle * 21 * 1440 + int(rng.random() * 3 * 1440)
            # The infusions come in any order, the tablets on three days around them.
            given.append((start + int(rng.random() * 1500), "cyclophosphamide", patient, 1200.0, "mg"))
            given.append((start + int(rng.random() * 1500), "doxorubicin", patient, 80.0, "mg"))
            given += [
                (start + day * 480 + int(rng.random() * 60), "prednisone", patient, 100.0, "mg") for day in range(3)
            ]
            low = rng.random() < 0.2
            cells = LOW * (0.4 + 0.5 * rng.random() if low else 1.3 + rng.random())
            if low:
                planted.append(f"patient-{patient}")
            given.append(
                (start + 7 * 1440 + int(rng.random() * 1440), "leucocytes", patient, round(cells, 2), "1000/ul")
            )
    rows = [
        ((BEGIN + timedelta(minutes=minute)).isoformat(), kind, f"patient-{patient}", value, unit)
        for minute, kind, patient, value, unit in sorted(given)
    ]
    return rows, {"chemotherapy": planted}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
