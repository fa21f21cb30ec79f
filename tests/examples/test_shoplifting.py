"""The bundled example: its readings can be made again, and the query finds the stolen items and no others."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import augury

EXAMPLE = Path(__file__).parents[2] / "examples" / "shoplifting"
READINGS = EXAMPLE / "readings.jsonl"
QUERY = EXAMPLE / "shoplifting.augury"


def thefts() -> set[tuple[str, str]]:
    """Tag and door of every item that reaches an exit unpaid, by one pass over the day."""
    unpaid: set[str] = set()
    found = set()
    for line in READINGS.read_text().splitlines():
        reading = json.loads(line)
        tag = reading["tag"]
        match reading["type"]:
            case "Shelf":
                unpaid.add(tag)
            case "Register":
                unpaid.discard(tag)
            case "Exit" if tag in unpaid:
                unpaid.discard(tag)
                found.add((tag, reading["reader"]))
    return found


def test_the_readings_are_what_the_script_writes() -> None:
    script = subprocess.run([sys.executable, EXAMPLE / "make_readings.py"], capture_output=True, check=True)
    assert script.stdout == READINGS.read_bytes()


def test_seven_items_are_stolen() -> None:
    assert len(thefts()) == 7


def test_the_query_reports_each_theft_once() -> None:
    matches = augury.match(READINGS, QUERY.read_text(), time="ts", type="type")
    rows = matches.to_pylist()
    assert len(matches) == len(rows) == 7
    assert {(row["tag"], row["door"]) for row in rows} == thefts()


def test_a_theft_is_told_from_the_first_shelf_reading_after_the_last_register() -> None:
    readings = [json.loads(line) for line in READINGS.read_text().splitlines()]
    rows = augury.match(READINGS, QUERY.read_text(), time="ts", type="type").to_pylist()
    assert rows
    for row in rows:
        own = [r for r in readings if r["tag"] == row["tag"]]
        kinds = [r["type"] for r in own]
        left = max(i for i, kind in enumerate(kinds) if kind == "Shelf") + 1
        paid = [i for i, kind in enumerate(kinds[:left]) if kind == "Register"]
        picked = kinds.index("Shelf", paid[-1] if paid else 0)
        assert row["picked_at"].isoformat(timespec="milliseconds") == own[picked]["ts"]
        assert row["left_at"].isoformat(timespec="milliseconds") == own[left]["ts"]
