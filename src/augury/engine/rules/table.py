"""Reads tables of rules from frames, files and folders, and checks their rows."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from zlib import crc32

import pyarrow as pa
import pyarrow.parquet as pq

from augury import arguments
from augury.errors import HostError

RuleSource: TypeAlias = "str | os.PathLike[str] | pa.Table | Iterable[Mapping[str, Any]] | Any"
"""A frame, an iterable of dicts, or a path to Parquet, JSON lines, TOML or a folder of TOML files."""

FLAGS = {"enabled": True, "backfill": False}
"""Columns that are true or false, and what a rule without a value has."""

OWN_COLUMNS = ("id", "query", "parameters", "enabled", "labels", "backfill")
JSON_LINES = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of a table of rules: a query with the values of its parameters."""

    id: str
    query: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    enabled: bool = True
    labels: tuple[str, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)
    """The other columns, which are not used."""
    backfill: bool = False
    """Whether it also sees past events of a stream, as far as they are kept for such rules."""

    def __post_init__(self) -> None:
        why = _fault(self.id, self.query, {"enabled": self.enabled, "backfill": self.backfill})
        parameters, labels, more = (getattr(self, name) for name in ("parameters", "labels", "more"))
        if why is None and not isinstance(parameters, Mapping):
            why = f"its parameters are {arguments.shown(parameters)}"
        if why is None and not (isinstance(labels, tuple) and all(isinstance(label, str) for label in labels)):
            why = f"its labels are {arguments.shown(labels)}, not a tuple of strings"
        if why is None and not isinstance(more, Mapping):
            why = f"`more` is {arguments.shown(more)}"
        if why is not None:
            raise not_a_rule("`Rule(...)`", why)

    def finds_as(self, other: Rule) -> bool:
        """Whether this rule finds the same matches as another one, whatever the labels of both are."""
        return self.query == other.query and self.parameters == other.parameters

    def share(self, of: int) -> int:
        """The share of a table that the rule belongs to, a number below `of`: a hash of its id."""
        return crc32(self.id.encode()) % of


def read_rules(source: RuleSource) -> tuple[Rule, ...]:
    """Read the rules of a table; a row that is not a rule, or an id that occurs twice, is an error."""
    rules: dict[str, Rule] = {}
    for number, row in enumerate(_rows(source), 1):
        rule = row if isinstance(row, Rule) else _rule(row, f"row {number}")
        if rule.id in rules:
            raise not_a_rule(f"row {number}", f"the id {arguments.shown(rule.id)} is there twice")
        rules[rule.id] = rule
    return tuple(rules.values())


def _rows(source: Any) -> Iterable[Any]:
    if isinstance(source, str | os.PathLike):
        try:
            return _file_rows(Path(source))
        except (OSError, pa.ArrowException, UnicodeDecodeError) as e:
            raise HostError(
                "A687", f"the rules `{Path(source).name}` cannot be read: {e}", "name a file or a folder of rules"
            ) from e
    table = source
    if hasattr(source, "columns") and hasattr(source, "to_dict") and not hasattr(source, "__arrow_c_stream__"):
        table = pa.Table.from_pandas(source, preserve_index=False)
    elif hasattr(source, "__arrow_c_stream__"):
        table = pa.table(source)
    if isinstance(table, pa.Table | pa.RecordBatch):
        rows: list[Any] = table.to_pylist()
        return rows
    if isinstance(source, Iterable) and not isinstance(source, Mapping):
        return source
    raise HostError(
        "A695",
        f"rules are a frame, dicts or a path, not {arguments.shown(source)}",
        "give a table with the columns `id` and `query`, and perhaps `parameters`, `enabled` and `labels`",
    )


def _file_rows(path: Path) -> list[Any]:
    if path.is_dir():
        return [row for file in sorted(path.rglob("*.toml")) for row in _toml_rows(file)]
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".toml":
        return _toml_rows(path)
    if path.suffix not in JSON_LINES:
        raise HostError(
            "A696",
            f"rules in a file of this kind are not read: {path.name}",
            "use Parquet, JSON lines (`.jsonl`) or TOML",
        )
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as e:
                raise not_a_rule(f"row {number}", f"it is not JSON: {e}") from e
    return rows


def _toml_rows(path: Path) -> list[Mapping[str, Any]]:
    """The rules `[[rule]]` of a file; a file without any is a single rule, whose id is by default the file's name."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as e:
        raise HostError("A698", f"rules in {path.name} cannot be read: {e}", "correct the TOML") from e
    many = content.get("rule")
    return many if isinstance(many, list) else [{"id": path.stem, **content}]


def _rule(row: Any, name: str) -> Rule:
    """The rule of a row, which messages call by `name`."""
    if not isinstance(row, Mapping):
        raise not_a_rule(name, f"it is {arguments.shown(row)}")
    id: Any = row.get("id")
    query: Any = row.get("query")
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    flags = {flag: default if row.get(flag) is None else row[flag] for flag, default in FLAGS.items()}
    why = _fault(id, query, flags)
    if why is not None:
        raise not_a_rule(name, why)
    more = {column: value for column, value in row.items() if column not in OWN_COLUMNS}
    parameters, labels = _parameters(row.get("parameters"), name), _labels(row.get("labels"), name)
    return Rule(id, query, parameters, labels=labels, more=more, **flags)


def _fault(id: object, query: object, flags: Mapping[str, object]) -> str | None:
    """The first thing that is wrong with these fields of a rule; None if nothing is."""
    if not isinstance(id, str) or not id:
        return f"its id is {arguments.shown(id)}"
    if not isinstance(query, str):
        return f"its query is {arguments.shown(query)}"
    wrong = [f"`{flag}` is {arguments.shown(value)}" for flag, value in flags.items() if not isinstance(value, bool)]
    return wrong[0] if wrong else None


def _parameters(given: Any, name: str) -> dict[str, Any]:
    """The values of parameters, given as a struct, a map or JSON; a null in a struct means that it is not given."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except json.JSONDecodeError as e:
            raise not_a_rule(name, f"its parameters are not JSON: {e}") from e
    if given is None:
        return {}
    if isinstance(given, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in given):
        given = dict(given)
    if not isinstance(given, Mapping):
        raise not_a_rule(name, f"its parameters are {arguments.shown(given)}")
    return {str(parameter): value for parameter, value in given.items() if value is not None}


def _labels(given: Any, name: str) -> tuple[str, ...]:
    if given is None:
        return ()
    labels = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(label, str) for label in labels):
        raise not_a_rule(name, f"its labels are {arguments.shown(given)}")
    return labels


def not_a_rule(name: str, why: str) -> HostError:
    """The error of something, called by `name`, that is no rule."""
    return HostError(
        "A697",
        f"{name} is not a rule: {why}",
        "a rule has an `id` of its own and a `query`, and perhaps `parameters`, `enabled` and `labels`",
    )
