"""Documentation that runs: streams written as strings, and tables of queries, streams and matches in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from augury.engine.results.matches import Match
from augury.loss import LossModel

Attribute: TypeAlias = "int | float | str | bool | None"

_TOKEN = re.compile(r"(?P<id>(?P<type>[^\W\d_]+)\w*)(?:@(?P<time>-?\d+))?(?:\((?P<attributes>[^()]*)\))?")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_WORDS: Mapping[str, Attribute] = {"null": None, "true": True, "false": False}


# -- streams -----------------------------------------------------------------------------------------------------------


def parse_stream(text: str) -> pa.Table:
    """The events of a stream written as a string.

    `a1` is an event of type A with the id `a1`; its time is its position, counted from 1, unless `a1@7` gives it.
    Attributes follow in parentheses: integers, floats, `true`, `false`, `null`, anything else is a string. Columns are
    `ts` (seconds), `type`, `id`, then the attributes by name; one that an event does not have is null.

    >>> parse_stream("a1(x=5) shelf2@7(k=p)").to_pylist()[1]
    {'ts': 7, 'type': 'Shelf', 'id': 'shelf2', 'k': 'p', 'x': None}
    """
    times, types, ids, rows = [], [], [], []
    for position, token in enumerate(text.split(), start=1):
        parts = _TOKEN.fullmatch(token)
        if parts is None:
            raise ValueError(f"`{token}` is not an event: write a1, a1@7 or a1@7(x=5,k=p)")
        times.append(position if parts["time"] is None else int(parts["time"]))
        types.append(parts["type"][0].upper() + parts["type"][1:])
        ids.append(parts["id"])
        rows.append(dict(_attribute(item, token) for item in (parts["attributes"] or "").split(",") if item))
    if len(set(ids)) < len(ids):
        raise ValueError(f"two events of `{text}` have the same id")
    columns = {
        "ts": pa.array(times, pa.int64()),
        "type": pa.array(types, pa.string()),
        "id": pa.array(ids, pa.string()),
    }
    for name in sorted({name for row in rows for name in row}):
        columns[name] = _column([row.get(name) for row in rows])
    return pa.table(columns)


def _attribute(item: str, token: str) -> tuple[str, Attribute]:
    name, equals, value = item.partition("=")
    if not (name and equals and value):
        raise ValueError(f"`{item}` in `{token}` is not an attribute: write name=value")
    if value in _WORDS:
        return name, _WORDS[value]
    if not _NUMBER.fullmatch(value):
        return name, value
    return name, float(value) if re.search("[.eE]", value) else int(value)


def _column(values: list[Attribute]) -> pa.Array:
    mixed = any(isinstance(v, float) for v in values)
    return pa.array([float(v) if mixed and isinstance(v, int) else v for v in values])


# -- tables ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Case:
    """One row of a table: what `query` finds in `stream`.

    `matches` is `none`, or matches separated by `;`, each the ids of its events in pattern order. A probability stands
    in parentheses behind them; for OUTPUT COUNT a match is the completing event and its number, `c1: 7`, with RETURN
    also the values of its items, `c1: 7 (total=12)`. Behind a partial match of OUTPUT TIMEOUTS stands `(reached b)`. A
    derived event, which has no id, stands for itself by its type.
    """

    file: str
    line: int
    query: str
    stream: str
    matches: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def expected(self) -> list[str]:
        """The matches, sorted.

        >>> Case("a.md", 1, "", "", "x2  z3 (0.50); x1 z3 (0.25)").expected
        ['x1 z3 (0.25)', 'x2 z3 (0.50)']
        """
        if self.matches == "none":
            return []
        return sorted(" ".join(match.split()) for match in self.matches.split(";"))

    @property
    def decimals(self) -> int:
        """The number of decimals to which probabilities are given."""
        places = {len(digits) for digits in re.findall(r"\(\d\.(\d+)\)", self.matches)}
        if len(places) > 1:
            raise ValueError(f"{self}: give all probabilities of a row to the same number of decimals")
        return places.pop() if places else 2


def cases(markdown: Path) -> list[Case]:
    """Every row of the page's tables headed `| query | stream | matches |`."""
    found = []
    inside = False
    for number, line in _prose(markdown):
        cells = _cells(line)
        if cells == ["query", "stream", "matches"]:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not set("".join(cells)) <= set("-:"):
            if len(cells) != 3 or not all(cells):
                raise ValueError(f"{markdown.name}:{number}: a row has a query, a stream and matches; escape | as \\|")
            found.append(Case(markdown.name, number, *cells))
    return found


def describe(matches: Iterable[Match], stream: pa.Table, decimals: int = 2) -> list[str]:
    """Matches as `Case.expected` writes them."""
    completing = dict(zip(stream["ts"].to_pylist(), stream["id"].to_pylist(), strict=True))
    texts = []
    for match in matches:
        if match.count is not None:
            values = ", ".join(f"{name}={_shown(value)}" for name, value in (match.values or {}).items())
            texts.append(f"{completing[match.end]}: {match.count}" + (f" ({values})" if values else ""))
            continue
        text = " ".join(event["id"] or event["type"] for event in _events(list(match.events.values())))
        text += "" if match.complete else f" (reached {match.reached})"
        texts.append(text if match.probability is None else f"{text} ({match.probability:.{decimals}f})")
    return sorted(texts)


def _events(bound: object) -> Iterator[dict[str, Any]]:
    """The events of a match in pattern order, those of a group round by round."""
    match bound:
        case list():
            for part in bound:
                yield from _events(part)
        case dict() if "id" in bound:
            yield bound
        case dict():
            yield from _events(list(bound.values()))


def _shown(value: object) -> str:
    """A value as streams spell it: `null` and `true`, floats with a point."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    parts = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [part.replace("\\|", "|").strip().strip("`").strip() for part in parts]


# -- fenced blocks -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page; `line` is the number of its first line of text."""

    language: str
    line: int
    text: str


def blocks(markdown: Path) -> list[Block]:
    """The fenced blocks of a page, in order."""
    found = []
    opened: tuple[str, int, list[str]] | None = None
    for number, line in enumerate(markdown.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            if opened is None:
                opened = (line[3:].strip(), number + 1, [])
            else:
                language, first, lines = opened
                found.append(Block(language, first, "".join(f"{text}\n" for text in lines)))
                opened = None
        elif opened is not None:
            opened[2].append(line)
    if opened is not None:
        raise ValueError(f"{markdown.name}:{opened[1] - 1}: this block is never closed")
    return found


def loss_model(markdown: Path) -> LossModel | None:
    """The loss model that a page states in a block of JSON, for the queries of its tables."""
    for block in blocks(markdown):
        if block.language == "json":
            return LossModel.from_json(json.loads(block.text))
    return None


def _prose(markdown: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a page outside its fenced blocks."""
    fenced = False
    for number, line in enumerate(markdown.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line
