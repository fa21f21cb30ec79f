"""Tables of rules: what they are read from, what is wrong with them, what they find, and how they change under way."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury
from augury import HostError, Rule, Rules

PAIR = "PATTERN SEQ(A a, B b) WHERE a.x > least WITHIN 10 seconds RETURN a.x AS x"
SHOWN = "PATTERN SEQ(A a, B b) WHERE a.x > least WITHIN 3 seconds"
TRIPLE = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { a.x < most AND c.x > a.x } WITHIN 10 seconds"
ROWS: list[dict[str, Any]] = [
    {"id": "over 3", "query": PAIR, "parameters": {"least": 3}, "labels": ["pair"], "enabled": True, "owner": "ann"},
    {"id": "over 5", "query": PAIR, "parameters": {"least": 5}, "labels": [], "enabled": True, "owner": "bob"},
    {"id": "off", "query": PAIR, "parameters": {"least": 0}, "labels": ["pair"], "enabled": False, "owner": "bob"},
    {"id": "triple", "query": TRIPLE, "parameters": {"most": 7}, "labels": ["b", "c"], "enabled": None, "owner": None},
]
COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.int64())])


def events(n: int, first: int = 0) -> pa.Table:
    rows = range(first, first + n)
    data = {"ts": list(rows), "type": ["AABC"[i % 4] for i in rows], "x": [i * 5 % 11 for i in rows]}
    return pa.table(data, schema=COLUMNS)


def found_by(row: dict[str, Any], stream: pa.Table) -> list[tuple[str, int, int, dict[str, Any]]]:
    """What the reference evaluator finds for one rule."""
    table = augury.match(stream, row["query"], parameters=row["parameters"], plan="reference").to_arrow()
    return [(row["id"], m.pop("start"), m.pop("end"), m) for m in table.to_pylist()]


def listed(found: augury.RuleMatches) -> list[tuple[str, int, int, dict[str, Any]]]:
    return [(m["rule"], m["start"], m["end"], json.loads(m["match"])) for m in found.table.to_pylist()]


def enabled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["enabled"] is not False]


# -- reading -----------------------------------------------------------------------------------------------------------


def test_rules_are_read_from_frames_and_files(tmp_path: Path) -> None:
    wanted = Rules.read(ROWS)
    table = pa.Table.from_pylist(ROWS)
    pq.write_table(table, tmp_path / "rules.parquet")
    (tmp_path / "rules.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    for source in (
        table,
        pl.from_arrow(table),
        pd.DataFrame([{**row, "parameters": json.dumps(row["parameters"])} for row in ROWS]),
        tmp_path / "rules.parquet",
        str(tmp_path / "rules.jsonl"),
        [{**row, "parameters": json.dumps(row["parameters"])} for row in ROWS],
    ):
        assert Rules.read(source) == wanted
    assert [rule.id for rule in wanted.enabled] == ["over 3", "over 5", "triple"]
    assert wanted.rules[0].more == {"owner": "ann"}


def test_rules_are_read_from_a_folder_of_toml(tmp_path: Path) -> None:
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "tested.toml").write_text(
        f"query = '''{PAIR}'''\nlabels = ['pair']\n[parameters]\nleast = 3\n", encoding="utf-8"
    )
    (tmp_path / "two.toml").write_text(
        "\n".join(f"[[rule]]\nid = 'r{n}'\nquery = '''{PAIR}'''\nparameters = {{ least = {n} }}" for n in (1, 2)),
        encoding="utf-8",
    )
    rules = Rules.read(tmp_path)
    assert [(rule.id, rule.parameters, rule.labels) for rule in rules] == [
        ("tested", {"least": 3}, ("pair",)),
        ("r1", {"least": 1}, ()),
        ("r2", {"least": 2}, ()),
    ]


@pytest.mark.parametrize(
    "source, code, why",
    [
        ([{"query": PAIR}], "A697", "row 1 is not a rule: its id is None"),
        ([{"id": "a", "query": PAIR}, {"id": "a", "query": PAIR}], "A697", "row 2 is not a rule: the id 'a' is there"),
        ([{"id": "a"}], "A697", "its query is None"),
        ([{"id": "a", "query": PAIR, "parameters": "{"}], "A697", "its parameters are not JSON"),
        ([{"id": "a", "query": PAIR, "parameters": 7}], "A697", "its parameters are 7"),
        ([{"id": "a", "query": PAIR, "labels": [1]}], "A697", "its labels are a list"),
        ([{"id": "a", "query": PAIR, "enabled": "no"}], "A697", "`enabled` is 'no'"),
        (["a"], "A697", "row 1 is not a rule: it is 'a'"),
        (7, "A695", "not 7"),
    ],
)
def test_what_is_no_rule_is_told(source: Any, code: str, why: str) -> None:
    with pytest.raises(HostError) as error:
        Rules.read(source)
    assert error.value.code == code
    assert why in error.value.message


def test_a_table_of_rules_is_made_by_read() -> None:
    with pytest.raises(HostError, match="rules are a tuple of `Rule` here, not a list") as error:
        Rules(ROWS)  # type: ignore[arg-type]
    assert "augury.Rules.read" in str(error.value)


@pytest.mark.parametrize(
    "fields, why",
    [
        ({"id": 5}, "its id is 5"),
        ({"id": ""}, "its id is ''"),
        ({"query": None}, "its query is None"),
        ({"parameters": [1]}, "its parameters are a list"),
        ({"labels": "xy"}, "its labels are 'xy', not a tuple of strings"),
        ({"enabled": 1}, "`enabled` is 1"),
        ({"more": 1}, "`more` is 1"),
    ],
)
def test_a_rule_made_by_hand_is_checked(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(HostError) as error:
        Rule(**{"id": "a", "query": PAIR, **fields})
    assert (error.value.code, error.value.message) == ("A697", f"`Rule(...)` is not a rule: {why}")


def test_rules_made_by_hand_are_those_that_are_read() -> None:
    wanted = Rules.read(ROWS)
    assert Rules(wanted.rules) == Rules.read(wanted) == wanted
    with pytest.raises(HostError, match="the id 'over 3' is there twice"):
        Rules((*wanted.rules, wanted.rules[0]))


def test_only_rules_are_put_into_a_stream() -> None:
    stream = Rules.read(ROWS).stream(COLUMNS)
    with pytest.raises(HostError, match="the argument of `put` is not a rule: it is a dict"):
        stream.put(ROWS[0])  # type: ignore[arg-type]
    with pytest.raises(HostError, match="rules are a table `Rules` here, not a list"):
        stream.update(ROWS)  # type: ignore[arg-type]
    assert [rule.id for rule in stream.running] == ["over 3", "over 5", "triple"]


def test_files_that_hold_no_rules_are_told(tmp_path: Path) -> None:
    for name, text, code in (
        ("rules.csv", "id,query", "A696"),
        ("rules.toml", "query = ", "A698"),
        ("rules.jsonl", "{\n", "A697"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(HostError) as error:
            Rules.read(tmp_path / name)
        assert error.value.code == code


# -- results -----------------------------------------------------------------------------------------------------------


def test_matches_of_rules_print_with_their_diagnostics() -> None:
    rows = [ROWS[0], {"id": "broken", "query": "PATTERN SEQ(A a"}]
    stream = pa.Table.from_pylist([{"ts": 1, "type": "A", "x": 5}, {"ts": 2, "type": "B", "x": 1}], schema=COLUMNS)
    assert repr(Rules.read(rows).match(stream)).splitlines() == [
        "1 match",
        "rule    labels  start  end  match",
        "------  ------  -----  ---  --------",
        'over 3  [pair]  1      2    {"x": 5}',
        "",
        "diagnostics:",
        "broken: error[A101]: expected `,` or `)`, found the end of the query",
    ]


def test_matches_of_rules_are_a_table_for_polars() -> None:
    found = Rules.read(ROWS).match(events(20))
    assert pl.DataFrame(found).equals(pl.DataFrame(found.table))


# -- checking and matching ---------------------------------------------------------------------------------------------

FORMS: dict[str, Callable[[pa.Table, Path], Any]] = {
    "pandas": lambda table, _: table.to_pandas(),
    "polars": lambda table, _: pl.from_arrow(table),
    "lazy": lambda table, _: pl.from_arrow(table).lazy(),  # type: ignore[union-attr]
    "duckdb": lambda table, _: duckdb.connect().from_arrow(table),
    "reader": lambda table, _: table.to_reader(max_chunksize=7),
    "dicts": lambda table, _: table.to_pylist(),
    "parquet": lambda table, folder: written(table, folder / "events.parquet"),
}
"""The forms that events may have."""


def written(table: pa.Table, path: Path) -> Path:
    pq.write_table(table, path, row_group_size=13)
    return path


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_events_is_matched(form: str, tmp_path: Path) -> None:
    rows = [*ROWS, *({"id": f"shown {n}", "query": SHOWN, "parameters": {"least": n}} for n in (2, 4))]
    stream = events(60).take(list(range(59, -1, -1)))
    expected = Rules.read(rows).match(stream)
    assert len(set(expected.table["rule"].to_pylist())) == 5
    found = Rules.read(rows).match(FORMS[form](stream, tmp_path))
    assert listed(found) == listed(expected)
    assert found.diagnostics.equals(expected.diagnostics)


def test_every_broken_rule_is_told() -> None:
    broken = [
        {"id": "no such column", "query": "PATTERN SEQ(A a, B b) WHERE a.y > 1 WITHIN 1 minute"},
        {"id": "no value", "query": PAIR},
        {"id": "no query", "query": "PATTERN SEQ("},
    ]
    told = Rules.read([*ROWS, *broken]).check(COLUMNS).to_pylist()
    assert [(row["rule"], row["level"], row["code"]) for row in told] == [
        ("no such column", "error", "A202"),
        ("no value", "error", "A205"),
        ("no query", "error", "A101"),
    ]
    assert "least" in told[1]["message"]


def test_rules_find_what_the_reference_finds_for_each() -> None:
    stream = events(60)
    broken = {"id": "broken", "query": PAIR, "parameters": {}, "enabled": True}
    found = Rules.read([*ROWS[:2], broken, *ROWS[2:]]).match(stream, jit=False)
    wanted = [match for row in enabled(ROWS) for match in found_by(row, stream)]
    assert sorted(listed(found), key=str) == sorted(wanted, key=str)
    assert len(found) == len(wanted) > 10
    assert [(row["rule"], row["code"]) for row in found.diagnostics.to_pylist()] == [("broken", "A205")]
    assert {row["rule"]: row["labels"] for row in found.table.to_pylist()}["triple"] == ["b", "c"]
    costs = {row["rule"]: row for row in found.costs.to_pylist()}
    assert set(costs) == {"over 3", "over 5", "triple"}
    assert costs["over 3"]["shape"] == costs["over 5"]["shape"] != costs["triple"]["shape"]
    assert sum(row["matches"] for row in costs.values()) == len(found)
    assert sum(row["share"] for row in costs.values()) == pytest.approx(1)


def test_costs_are_told_to_prometheus() -> None:
    rows = [{**ROWS[0], "id": 'a "quoted"\\ name\n'}, ROWS[1]]
    found = Rules.read(rows).match(events(60), jit=False)
    lines = [line for line in found.prometheus().splitlines() if not line.startswith("#")]
    matches = [row["matches"] for row in found.costs.to_pylist()]
    shape = found.costs["shape"][0]
    assert len(lines) == 6
    assert lines[4:] == [
        f'augury_rule_matches_total{{rule="a \\"quoted\\"\\\\ name\\n",shape="{shape}"}} {matches[0]}',
        f'augury_rule_matches_total{{rule="over 5",shape="{shape}"}} {matches[1]}',
    ]


def test_rules_explain_what_they_share() -> None:
    contiguous = {"id": "contiguous", "query": "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x > 3 }"}
    broken = {"id": "broken", "query": "PATTERN SEQ("}
    said = Rules.read([*ROWS, contiguous, broken]).explain(COLUMNS).splitlines()
    assert said[0] == "5 rules: 2 matched together in 1 shape, 2 alone, 1 broken"
    assert "    `rule value 0` is one of 2 values, from 3 to 5" in said
    assert "    rules: `over 3`, `over 5`" in said
    assert any(line.startswith("  `contiguous`: strict_contiguity is about all events") for line in said)
    assert any(line.startswith("  `triple`: no other rule has its shape") for line in said)
    assert said[-1] == "  `broken`: error[A101]: expected a component, found the end of the query"


def test_an_exploding_rule_does_not_stop_the_others() -> None:
    many = {"id": "many", "query": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a[i].x >= 0 } WITHIN 1 hour"}
    found = Rules.read([many, ROWS[0]]).match(events(60), jit=False, max_matches=200)
    assert {row["rule"] for row in found.table.to_pylist()} == {"over 3"}
    assert [(row["rule"], row["level"]) for row in found.diagnostics.to_pylist()] == [("many", "error")]


def test_nothing_is_found_in_nothing() -> None:
    assert len(Rules.read(ROWS).match([])) == 0
    assert len(Rules.read([]).match(events(8))) == 0


# -- streams -----------------------------------------------------------------------------------------------------------


def test_rules_change_under_way() -> None:
    """Of every rule and version the matches are those of the reference in the events that it has seen."""
    over_4 = {**ROWS[1], "parameters": {"least": 4}}
    new = {"id": "new", "query": TRIPLE, "parameters": {"most": 9}, "enabled": True}
    broken = {"id": "broken", "query": "PATTERN SEQ(", "enabled": True}
    relabelled = {**ROWS[0], "labels": ["other"]}
    stream = Rules.read(ROWS).stream(COLUMNS, jit=False)
    found = [stream.feed(events(10)), stream.feed(events(10, 10))]
    stream.update(Rules.read([relabelled, over_4, new, broken]))
    assert [rule.id for rule in stream.running] == ["over 3", "over 5", "new"]
    found += [stream.feed(events(10, 20)), stream.feed(events(10, 30)), stream.finish()]
    wanted = [*found_by(ROWS[0], events(40)), *found_by(ROWS[1], events(20)), *found_by(ROWS[3], events(20))]
    wanted += [*found_by(over_4, events(20, 20)), *found_by(new, events(20, 20))]
    assert sorted((m for some in found for m in listed(some)), key=str) == sorted(wanted, key=str)
    labels = [{tuple(row["labels"]) for row in some.table.to_pylist() if row["rule"] == "over 3"} for some in found[:4]]
    assert labels == [{("pair",)}, {("pair",)}, {("other",)}, {("other",)}]
    assert [row["rule"] for some in found for row in some.diagnostics.to_pylist()] == ["broken"]
    costs = {row["rule"]: row for row in found[-1].costs.to_pylist()}
    assert set(costs) == {"over 3", "over 5", "new"}
    assert costs["over 3"]["matches"] == len(found_by(ROWS[0], events(40)))


def test_events_that_are_wrong_leave_the_rules_as_they_were() -> None:
    stream = Rules.read(ROWS[:1]).stream(COLUMNS, jit=False)
    found = listed(stream.feed(events(10)))
    with pytest.raises(HostError):
        stream.feed(pa.table({"ts": [11], "kind": ["A"]}))
    found += listed(stream.feed(events(10, 10))) + listed(stream.finish())
    assert found == found_by(ROWS[0], events(20))
    with pytest.raises(HostError, match="finished"):
        stream.feed(events(1, 30))


def test_a_rule_that_exceeds_its_budget_is_switched_off() -> None:
    many = {"id": "many", "query": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a[i].x >= 0 } WITHIN 1 hour"}
    stream = Rules.read([many, ROWS[0]]).stream(COLUMNS, jit=False, max_matches=200)
    results = [stream.feed(events(10, 10 * k)) for k in range(6)]
    told = [row["rule"] for some in results for row in some.diagnostics.to_pylist()]
    assert told == ["many"]
    assert [rule.id for rule in stream.running] == ["over 3"]
    of_others = [m for some in results for m in listed(some) if m[0] == "over 3"]
    assert of_others == found_by(ROWS[0], events(60))
