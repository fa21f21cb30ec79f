"""A morning on a motorway with six sensors, written to standard output as CSV; the same on every run.

python make_events.py > events.csv
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime, timedelta
from random import Random

COLUMNS = ("ts", "type", "sensor", "speed", "vehicles")
BEGIN = datetime(2026, 9, 7, 6)
SENSORS = 6
REPORTS = 48
EVERY = 5
"""Minutes between two reports of a sensor."""
JAM = (4, 20, 3)
"""At which sensor a jam begins, with which report, and how many sensors upstream it reaches one after the other."""
ACCIDENT = (2, 4)
"""At which sensor, and with which report, traffic stands without a jam that moves."""
Row = tuple[str, str, int, float, int]


def make() -> tuple[list[Row], dict[str, list[int]]]:
    """All reports in order of time, and the sensors at which the jams begin that the query is to find."""
    rng = Random(29)
    rows: list[Row] = []
    where, since, reach = JAM
    for sensor in range(1, SENSORS + 1):
        # Two reports, ten minutes, from one sensor to the next.
        begins = since + 2 * (where - sensor) if where - reach < sensor <= where else None
        for report in range(REPORTS):
            slow = begins is not None and begins <= report < begins + 6
            slow = slow or (sensor == ACCIDENT[0] and ACCIDENT[1] <= report < ACCIDENT[1] + 5)
            speed = 8 + 14 * rng.random() if slow else 85 + 30 * rng.random()
            at = BEGIN + timedelta(minutes=EVERY * report, seconds=sensor)
            rows.append((at.isoformat(), "report", sensor, round(speed, 1), int(20 + 60 * rng.random())))
    return sorted(rows), {"jams": [where]}


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(make()[0])
