"""The history of a table of rules: a folder in which every version is a file that never changes.

A stream that is run again after a crash needs the rules as they were: a table that is edited in place, of Parquet or
behind JDBC, keeps no history to replay from.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from augury.engine.rules.table import Rule
from augury.engine.state.facts import Facts
from augury.engine.state.saved_options import CODECS
from augury.errors import HostError
from augury.runtime.checks import inconsistent

VERSION, RULES = "version", "rules"
"""The columns of a file, which has one row: the number of the version, and its rules as JSON."""

FILE = pa.schema([(VERSION, pa.int64()), (RULES, pa.string())])

DIGITS = 10  # digits of a version's number in the name of its file

CLAIM = ".claimed-"
"""Prefix of an empty file: whoever creates it may publish the version it names. Spark ignores files with a dot."""


@dataclass(frozen=True, slots=True)
class RuleVersion:
    """A version of a table of rules, with its rules as text."""

    number: int
    text: str

    @property
    def rules(self) -> tuple[Rule, ...]:
        return rules_of(self.text)


def publish(folder: str | os.PathLike[str], rules: Sequence[Rule]) -> int:
    """Write rules as the next version, unless they equal the last one; the number of the version that holds them."""
    place, text = Path(folder), rules_text(rules)
    place.mkdir(parents=True, exist_ok=True)
    last = last_version(place)
    if last is not None and last.text == text:
        return last.number
    number = _claimed(place, 1 if last is None else last.number + 1)
    partial = place / f".{number:0{DIGITS}}.partial"
    with partial.open("wb") as file:
        pq.write_table(pa.table({VERSION: [number], RULES: [text]}, schema=FILE), file, compression="zstd")
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, _path(place, number))
    return number


def last_version(folder: str | os.PathLike[str]) -> RuleVersion | None:
    """The last published version; None if there is none."""
    numbers = published(folder)
    return read_version(folder, numbers[-1]) if numbers else None


def read_version(folder: str | os.PathLike[str], number: int) -> RuleVersion:
    """The version of this number."""
    path = _path(Path(folder), number)
    try:
        table = pq.read_table(path, schema=FILE)
        (row,) = table.to_pylist()
    except (OSError, pa.ArrowException, ValueError) as e:
        raise HostError(
            "A688", f"version {number} of the rules cannot be read: {e}", "give a folder of published rules"
        ) from e
    return RuleVersion(row[VERSION], row[RULES])


def published(folder: str | os.PathLike[str]) -> list[int]:
    """The numbers of the published versions, ascending."""
    return sorted(int(path.stem) for path in Path(folder).glob("[0-9]*.parquet") if path.stem.isdigit())


def remove(folder: str | os.PathLike[str], numbers: Set[int]) -> list[int]:
    """Delete versions, and return the numbers of those deleted; the last one stays, since numbering goes on from it."""
    place = Path(folder)
    gone = [number for number in published(folder)[:-1] if number in numbers]
    for number in gone:
        _path(place, number).unlink(missing_ok=True)
        (place / f"{CLAIM}{number:0{DIGITS}}").unlink(missing_ok=True)
    return gone


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:0{DIGITS}}.parquet"


def _claimed(folder: Path, number: int) -> int:
    """Claim the first free version number from this one on."""
    while True:
        try:
            os.close(os.open(folder / f"{CLAIM}{number:0{DIGITS}}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            number += 1
        else:
            return number


def rules_text(rules: Sequence[Rule]) -> str:
    """Rules as JSON, without their other columns."""
    return json.dumps([rule_facts(rule) for rule in rules], separators=(",", ":"))


def rules_of(text: str) -> tuple[Rule, ...]:
    """Read what `rules_text` wrote; anything else is a `HostError`."""
    try:
        stated = json.loads(text)
    except json.JSONDecodeError as e:
        raise inconsistent(f"its rules are not JSON: {e}") from e
    if not isinstance(stated, list):
        raise inconsistent("its rules are not a list")
    return tuple(map(rule_of, stated))


def rule_facts(rule: Rule) -> dict[str, Any]:
    """A rule as a JSON object."""
    return {
        "id": rule.id,
        "query": rule.query,
        "parameters": CODECS["parameters"].saved(rule.parameters),
        "enabled": rule.enabled,
        "labels": list(rule.labels),
        "backfill": rule.backfill,
    }


def rule_of(stated: Any) -> Rule:
    """Read what `rule_facts` wrote; anything else is a `HostError`."""
    facts = Facts(stated, "a rule")
    return Rule(
        facts.one("id", str),
        facts.one("query", str),
        CODECS["parameters"].restored(facts.stated.get("parameters")),
        facts.one("enabled", bool),
        facts.texts("labels"),
        backfill=facts.one("backfill", bool),
    )
