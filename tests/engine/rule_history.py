"""What the history of a table of rules asks for: the reference evaluator, rule by rule and version by version."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import augury
from augury.runtime.state import LONG_AGO

WAIT = 10**9  # ticks that the matcher of the oracle holds events back, so that its watermark is the one it is told

MatchRow = tuple[str, tuple[str, ...], Any, Any, str]
"""The rule, its labels, start, end and JSON of a match."""


@dataclass(frozen=True)
class Batch:
    """One micro-batch: the version of the rules that it begins with if there is a new one, and then events.

    None of the events is late; the watermark is the one after them.
    """

    rules: Sequence[Mapping[str, Any]] | None
    events: pa.Table
    watermark: int


@dataclass(frozen=True)
class Version:
    """A rule as it was in a table for some time, and the events that it has seen, all of them."""

    row: Mapping[str, Any]
    labels: tuple[str, ...]
    matcher: augury.Matcher
    seen: pa.Table


def asked_for(
    history: Iterable[Batch], columns: pa.Schema, keep: int = 0, *, lateness: int | None = WAIT, **order: Any
) -> list[MatchRow]:
    """All matches that rules have to find, without those of the end of the stream; events are kept for `keep` ticks.

    With the `lateness` None events are consumed as they come.
    """
    new = partial(_matcher, columns=columns, lateness=lateness, **order)
    found: list[MatchRow] = []
    live: dict[str, Version] = {}
    arrived, watermark = columns.empty_table(), LONG_AGO
    for batch in history:
        if batch.rules is not None:
            kept_from = LONG_AGO if watermark == LONG_AGO else watermark - keep
            past = arrived.filter(pc.greater_equal(arrived["ts"], kept_from))
            before, live = live, {}
            for row in batch.rules:
                if row.get("enabled") is not False and not _is_broken(row["query"], columns):
                    live[row["id"]] = _begun(row, before.get(row["id"]), new, past, watermark, found)
        arrived = pa.concat_tables([arrived, batch.events])
        for id, version in live.items():
            seen = pa.concat_tables([version.seen, batch.events])
            live[id] = replace(version, seen=seen)
            _note(version, version.matcher.feed(batch.events), found)
            if batch.watermark != LONG_AGO:
                _note(version, version.matcher.advance(batch.watermark), found)
        watermark = batch.watermark
    return found


def _begun(
    row: Mapping[str, Any],
    before: Version | None,
    new: Callable[[str], augury.Matcher],
    past: pa.Table,
    watermark: int,
    found: list[MatchRow],
) -> Version:
    labels = tuple(row.get("labels") or ())
    if before is not None and before.row["query"] == row["query"]:
        return replace(before, row=row, labels=labels)
    matcher = new(row["query"])
    same = before is not None and _without_return(before.row["query"]) == _without_return(row["query"])
    seen = before.seen if before is not None and same else past if row.get("backfill") else past.slice(0, 0)
    version = Version(row, labels, matcher, seen)
    told = matcher.feed(seen), *([matcher.advance(watermark)] if watermark != LONG_AGO else [])
    if not same:
        for some in told:
            _note(version, some, found)
    return version


def _matcher(query: str, columns: pa.Schema, **options: Any) -> augury.Matcher:
    return augury.Matcher(query, columns, plan="reference", **options)


def _note(version: Version, matches: augury.Matches, found: list[MatchRow]) -> None:
    for match in matches.to_arrow().to_pylist():
        start, end = match.pop("start", None), match.pop("end")
        found.append((version.row["id"], version.labels, start, end, json.dumps(match)))


def _is_broken(query: str, columns: pa.Schema) -> bool:
    try:
        augury.compile(query, columns)
    except augury.AuguryError:
        return True
    return False


def _without_return(query: str) -> str:
    return re.sub(r"\s*RETURN.*", "", query)
