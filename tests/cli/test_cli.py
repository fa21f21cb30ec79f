"""The command line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import augury
from augury.cli import app

READINGS = [
    {"ts": "2026-03-14T09:00:00", "type": "Shelf", "tag": "x", "rssi": -3.5},
    {"ts": "2026-03-14T09:01:00", "type": "Shelf", "tag": "y", "rssi": None},
    {"ts": "2026-03-14T09:02:00", "type": "Register", "tag": "x", "rssi": -1.0},
    {"ts": "2026-03-14T09:03:00", "type": "Exit", "tag": "y", "rssi": -2.0},
    {"ts": "2026-03-14T09:04:00", "type": "Exit", "tag": "x", "rssi": -2.0},
]
THEFT = "PATTERN SEQ(Shelf s, NOT(Register r), Exit e) WHERE [tag] WITHIN 1 hour"

CLOSEST = "PATTERN SEQ(Shelf s, Exit e) WHERE skip_till_next_match { [tag] } WITHIN 1 hour"

LOSSY = "PATTERN SEQ(Shelf s, Exit e) WHERE s.tag[e.tag] = e.tag WITHIN 1 hour THRESHOLD 0.5"


@pytest.fixture
def readings(tmp_path: Path) -> str:
    path = tmp_path / "readings.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in READINGS))
    return str(path)


def augury_cli(*arguments: str, input: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=input)


def program(*arguments: str, input: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "augury.cli", *arguments], input=input, capture_output=True, timeout=60, check=False
    )


# -- why ---------------------------------------------------------------------------------------------------------------


def test_why_there_is_no_match(readings: str) -> None:
    query = "SEQ(Shelf s, Exit e) WHERE [tag] AND e.rssi > s.rssi + 5 WITHIN 1 hour"
    result = augury_cli("why", query, readings)
    assert result.exit_code == 0
    assert result.stdout.startswith("No match in 5 events.")
    assert "  e.rssi > s.rssi + 5 is not true: e.rssi = -2, s.rssi = -3.5" in result.stdout.splitlines()
    told = json.loads(augury_cli("why", query, readings, "--json").stdout)
    assert told["nearest"]["rows"] == {"s": [0]}


def test_why_certain_rows_are_no_match(readings: str) -> None:
    told = augury_cli("why", THEFT, readings, "--row", "s=0", "--row", "e=4").stdout
    assert told.startswith("No match binds s = row 0, e = row 4.")
    assert "  r: row 2  ts=2026-03-14 09:02:00 type=Register tag=x rssi=-1.0" in told.splitlines()
    wrong = augury_cli("why", THEFT, readings, "--row", "s")
    assert wrong.exit_code == 2
    assert augury_cli("why", THEFT, readings, "--row", "q=1").exit_code == 1


# -- match -------------------------------------------------------------------------------------------------------------


def test_json_lines_hold_the_events(readings: str) -> None:
    result = augury_cli("match", THEFT, readings)
    assert result.exit_code == 0
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {
            "start": "2026-03-14T09:01:00.000000",
            "end": "2026-03-14T09:03:00.000000",
            "s": {"ts": "2026-03-14T09:01:00.000000", "type": "Shelf", "tag": "y", "rssi": None},
            "e": {"ts": "2026-03-14T09:03:00.000000", "type": "Exit", "tag": "y", "rssi": -2.0},
        }
    ]
    assert result.stderr == ""


def test_json_lines_hold_lists_or_returned_items(readings: str) -> None:
    listed = augury_cli("match", "PATTERN SEQ(Shelf+ s[], Exit e) WHERE e.tag = 'y' WITHIN 1 hour", readings)
    assert [[e["tag"] for e in json.loads(line)["s"]] for line in listed.stdout.splitlines()] == [
        ["x"],
        ["x", "y"],
        ["y"],
    ]
    items = augury_cli("match", THEFT + " RETURN s.tag AS tag, e.ts - s.ts AS took", readings)
    (row,) = map(json.loads, items.stdout.splitlines())
    assert (row["tag"], row["took"]) == ("y", 120.0)


def test_csv_flattens_events(readings: str) -> None:
    result = augury_cli(
        "match", "PATTERN SEQ(Shelf+ s[], Exit e) WHERE e.tag = 'y' WITHIN 1 hour", readings, "--output", "csv"
    )
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(rows[0]) == ["start", "end", "s", "e.ts", "e.type", "e.tag", "e.rssi"]
    assert [len(json.loads(r["s"])) for r in rows] == [1, 2, 1]
    assert rows[0]["e.tag"] == "y"


def test_parquet_needs_a_path(readings: str, tmp_path: Path) -> None:
    refused = augury_cli("match", THEFT, readings, "--output", "parquet")
    assert refused.exit_code == 2
    assert "parquet needs --out" in refused.stderr
    out = tmp_path / "m.parquet"
    assert augury_cli("match", THEFT, readings, "--out", str(out)).exit_code == 0
    assert pq.read_table(out).to_pylist()[0]["s"]["tag"] == "y"
    assert augury_cli("match", "PATTERN Exit e WHERE e.tag = 'z'", readings, "--out", str(out)).exit_code == 0
    assert pq.read_table(out).num_rows == 0


def test_table_is_aligned(readings: str) -> None:
    result = augury_cli("match", THEFT + " RETURN s.tag AS tag", readings, "--output", "table")
    assert result.stdout == (
        "start                end                  tag\n"
        "-------------------  -------------------  ---\n"
        "2026-03-14 09:01:00  2026-03-14 09:03:00  y\n"
        "\n"
        "1 match\n"
    )
    nothing = augury_cli("match", "PATTERN Exit e WHERE e.tag = 'z'", readings, "--output", "table")
    assert nothing.stdout == "0 matches\n"


def test_out_writes_text_too(readings: str, tmp_path: Path) -> None:
    out = tmp_path / "m.csv"
    assert augury_cli("match", THEFT + " RETURN s.tag AS tag", readings, "--out", str(out)).stdout == ""
    assert out.read_text().splitlines()[0] == "start,end,tag"
    failed = augury_cli("match", THEFT, readings, "--out", str(tmp_path / "no" / "m.csv"))
    assert failed.exit_code == 1
    assert "error[A562]" in failed.stderr


def test_limit_says_what_it_leaves_out(readings: str) -> None:
    result = augury_cli("match", "PATTERN a", readings, "--limit", "2")
    assert len(result.stdout.splitlines()) == 2
    assert result.stderr == "3 more matches not shown (--limit 2)\n"
    assert augury_cli("match", "PATTERN a", readings, "--limit", "5").stderr == ""
    assert augury_cli("match", "PATTERN a", readings, "--limit", "-1").exit_code == 2


def test_options_reach_the_query(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("t,n,kind,x\n1,2,B,5\n1,1,A,7\n")
    common = [str(path), "--time", "t", "--type", "kind", "--time-unit", "ms", "--plan", "reference"]
    query = "PATTERN SEQ(A a, B b) WHERE a.x > T AND b.kind = name WITHIN 1 second RETURN a.x AS x"
    parameters = ["--param", "T=6", "--param", "name=B"]
    assert augury_cli("match", query, *common, *parameters).stdout == ""
    for order in (["--order-by", "t,n"], ["--order-by", "t", "--order-by", "n"]):
        assert json.loads(augury_cli("match", query, *common, *parameters, *order).stdout) == {
            "start": 1,
            "end": 1,
            "x": 7,
        }


def test_events_may_have_no_types_although_a_column_is_called_type(readings: str) -> None:
    query = "PATTERN SEQ(Reading a, Reading b) WHERE a.type = 'Shelf' AND b.type = 'Exit' AND [tag] WITHIN 1 hour"
    untyped = augury_cli("match", query + " RETURN a.tag AS tag", readings, "--no-type")
    assert [json.loads(line)["tag"] for line in untyped.stdout.splitlines()] == ["y", "x"]
    assert augury_cli("match", query, readings).stdout == ""
    assert augury_cli("check", query, "--schema", readings, "--no-type").exit_code == 0
    assert augury_cli("explain", query, "--schema", readings, "--no-type").exit_code == 0


def test_a_loss_model_from_a_file(readings: str, tmp_path: Path) -> None:
    model = tmp_path / "loss.json"
    model.write_text('{"rate": 0.6, "rates": {"e": 0}, "delays": {"s": {"exponential": {"mean": 1}}}}')
    result = augury_cli("match", LOSSY, readings, "--loss", str(model))
    assert result.exit_code == 0
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(m["s"] and m["s"]["tag"], m["e"]["tag"], round(m["probability"], 6)) for m in found] == [
        ("y", "y", 1.0),
        (None, "y", 0.6),
        ("x", "x", 1.0),
        (None, "x", 0.6),
    ]


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "error[A554]"),
        ("[]", "error[A552]: this is not a loss model: a loss model has to be an object, not []"),
        ('{"rate": 2}', "a loss rate lies between 0 and 1, not 2"),
    ],
)
def test_a_bad_loss_model(readings: str, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "loss.json").write_text(text)
    result = augury_cli("match", LOSSY, readings, "--loss", str(tmp_path / "loss.json"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "error[A528]: statistics that cannot be used: `"),
        ("[]", "they are a list, not a mapping"),
        ('{"rates": {"Shelv": 2}}', "no query has a type or variable `Shelv`\n = help: did you mean `Shelf`?"),
    ],
)
def test_bad_statistics(readings: str, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "statistics.json").write_text(text)
    for arguments in (["match", THEFT, readings], ["explain", THEFT, "--schema", readings]):
        result = augury_cli(*arguments, "--statistics", str(tmp_path / "statistics.json"))
        assert (result.exit_code, result.stdout) == (1, "")
        assert message in result.stderr


def test_statistics_change_no_match(readings: str, tmp_path: Path) -> None:
    (tmp_path / "statistics.json").write_text('{"rates": {"Shelf": 2, "e": 0.1}}')
    given = augury_cli("match", THEFT, readings, "--statistics", str(tmp_path / "statistics.json"))
    assert given.exit_code == 0
    assert given.stdout == augury_cli("match", THEFT, readings).stdout


def test_a_program_prints_its_last_query(readings: str) -> None:
    first = "PATTERN Shelf s RETURN s.tag AS seen INTO Seen"
    query = first + "; PATTERN SEQ(Seen n, Register r) WITHIN 1 hour RETURN n.seen AS seen"
    result = augury_cli("match", query, readings)
    assert [json.loads(line)["seen"] for line in result.stdout.splitlines()] == ["x", "y"]


def test_warnings_go_to_stderr(readings: str) -> None:
    result = augury_cli("match", "PATTERN Shelv s", readings)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "warning: no event is of type `Shelv`; did you mean `Shelf`?\n"


def test_no_events(tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text("")
    result = augury_cli("match", THEFT, str(tmp_path / "e.jsonl"))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")


def test_numbers_json_cannot_hold_are_null(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("ts,x\n1,inf\n2,nan\n3,1.5\n")
    result = augury_cli("match", "PATTERN a RETURN a.x AS x", str(tmp_path / "e.csv"))
    assert [json.loads(line)["x"] for line in result.stdout.splitlines()] == [None, None, 1.5]


# -- what is wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["match", "PATTERN SEQ(Shelf s, Exit e", "EVENTS"], "error[A101]"),
        (["match", "PATTERN Shelf s WHERE s.rsi > 1", "EVENTS"], "did you mean `rssi`?"),
        (["match", "thefts.augury", "EVENTS"], "error[A560]: there is no query file `thefts.augury`"),
        (["match", THEFT, "none.jsonl"], "error[A530]: there is no file `none.jsonl`"),
        (["match", THEFT, "EVENTS", "--time", "when"], "error[A502]"),
        (["match", CLOSEST, "EVENTS", "--plan", "lazy-chain"], "plan `lazy-chain` cannot run this query"),
        (["match", "PATTERN a", "EVENTS", "--max-matches", "3"], "more than 3 matches"),
        (["match", "PATTERN SEQ(Shelf s, Exit e) WITHIN 1 hour THRESHOLD 0.5", "EVENTS"], "error[A550]"),
        (
            ["match", LOSSY, "EVENTS", "--loss", "none.json"],
            "error[A554]: the loss model of `none.json` cannot be",
        ),
        (["match", THEFT, "EVENTS", "--statistics", "none.json"], "error[A528]: statistics that cannot be used: `none"),
        (["match", THEFT, "EVENTS", "--order", "e"], "error[A529]: hint that cannot be followed: order leaves out `s`"),
        (["explain", THEFT, "--schema", "EVENTS", "--negation", "late"], "error[A529]: hint that cannot be followed"),
        (["explain", THEFT, "--schema", "EVENTS", "--order", "e,s,e"], "order names `e` twice"),
        (["check", "PATTERN SEQ("], "error[A1"),
        (["check", "PATTERN Shelf s WHERE s.no = 1", "--schema", "EVENTS"], "error[A2"),
        (["explain", "PATTERN"], "error[A1"),
    ],
)
def test_what_the_user_got_wrong_is_exit_code_1(readings: str, arguments: list[str], message: str) -> None:
    result = augury_cli(*(readings if a == "EVENTS" else a for a in arguments))
    assert result.exit_code == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["match", THEFT],
        ["match", THEFT, "e.csv", "--output", "xml"],
        ["match", "-", "-"],
        ["match", THEFT, "e.csv", "--param", "T"],
        ["match", THEFT, "e.csv", "--max-matches", "0"],
        ["explain", THEFT, "--stage", "assembly"],
        ["explain", THEFT, "--stage", "bound"],
        ["nonsense"],
    ],
)
def test_usage_is_exit_code_2(arguments: list[str]) -> None:
    assert augury_cli(*arguments).exit_code == 2


def test_the_caret_is_under_the_mistake(readings: str) -> None:
    result = augury_cli("match", "PATTERN Shelf s\nWHERE t.tag = 'x'", readings)
    lines = result.stderr.splitlines()
    place = lines.index("2 | WHERE t.tag = 'x'")
    assert lines[place + 1].index("^") == lines[place].index("t.tag")


@pytest.mark.parametrize(
    "how",
    [["--jit"], ["--no-jit"], *(["--plan", plan] for plan in ("reference", "eager-nfa", "lazy-chain", "lazy-tree"))],
    ids=str,
)
def test_matches_do_not_depend_on_how_they_are_found(readings: str, how: list[str]) -> None:
    result = augury_cli("match", THEFT + " RETURN s.tag AS tag", readings, *how)
    assert result.exit_code == 0
    assert json.loads(result.stdout)["tag"] == "y"


def test_files_with_a_mistake_in_their_names(readings: str, tmp_path: Path) -> None:
    (tmp_path / "theft.augury").write_text(THEFT)
    near = "help: did you mean"
    missing = augury_cli("match", str(tmp_path / "tehft.augury"), readings)
    assert f"{near} `{tmp_path / 'theft.augury'}`?" in missing.stderr
    missing = augury_cli("match", THEFT, str(tmp_path / "reading.jsonl"))
    assert f"{near} `{readings}`?" in missing.stderr
    for other in (tmp_path / "other.csv", tmp_path / "folder" / "readings.jsonl"):
        missing = augury_cli("match", THEFT, str(other))
        assert "A530" in missing.stderr
        assert "help" not in missing.stderr


def test_match_tells_how_it_went(readings: str, tmp_path: Path) -> None:
    result = augury_cli("match", THEFT, readings, "--explain")
    assert len(result.stdout.splitlines()) == 1
    plan, times = result.stderr.split("where the time went\n")
    assert plan.startswith("plan  ")
    assert times.splitlines()[0].split()[:1] == ["reading"]
    assert re.search(r"writing results .* 1 match\n", times)
    out = tmp_path / "found.parquet"
    assert "in all" in augury_cli("match", THEFT, readings, "--out", str(out), "--explain").stderr
    assert pq.read_table(out).num_rows == 1


# -- check and explain -------------------------------------------------------------------------------------------------


def test_check(readings: str, tmp_path: Path) -> None:
    assert augury_cli("check", THEFT).stdout == "ok\nvariables s, r (negated), e\n"
    assert augury_cli("check", THEFT, "--schema", readings).stdout == "ok\nvariables s, r (negated), e; key tag\n"
    (tmp_path / "q.augury").write_text("PATTERN OR(A a, SEQ(B b, C c)); PATTERN D d")
    assert augury_cli("check", str(tmp_path / "q.augury")).stdout == (
        "ok\nquery 1: variables a, b, c\nquery 2: variables d\n"
    )
    warned = augury_cli("check", "PATTERN Shelv s", "--schema", readings)
    assert (warned.exit_code, warned.stderr[:8]) == (0, "warning:")


def test_explain(readings: str) -> None:
    assert augury_cli("explain", "seq(A a, B b)").stdout == "PATTERN   SEQ(A a, B b)\n"
    assert augury_cli("explain", THEFT, "--schema", readings).stdout.startswith("plan  lazy-chain\n")
    eager = augury_cli("explain", THEFT, "--schema", readings, "--plan", "eager-nfa")
    assert eager.stdout.startswith("plan  eager-nfa\n")
    slow = augury_cli("explain", THEFT, "--schema", readings, "--plan", "reference")
    assert slow.stdout.startswith("plan  reference\n")
    kernel = augury_cli("explain", THEFT, "--schema", readings, "--stage", "kernel").stdout
    assert "@kernel\ndef store(" in kernel
    automaton = ("--plan", "eager-nfa", "--stage", "kernel")
    assert "@kernel\ndef advance(" in augury_cli("explain", THEFT, "--schema", readings, *automaton).stdout
    assert "partition by  tag" in augury_cli("explain", THEFT, "--schema", readings, "--stage", "bound").stdout
    assert augury_cli("explain", THEFT, "--schema", readings, "--stage", "syntax").stdout.startswith("PATTERN ")


def test_explain_as_a_picture_and_for_other_programs(readings: str) -> None:
    def told(form: str) -> str:
        return augury_cli("explain", THEFT, "--schema", readings, "--output", form).stdout

    assert told("svg").startswith("<svg ")
    assert told("mermaid").startswith("flowchart LR\n")
    assert json.loads(told("json"))["text"] + "\n" == told("text")
    assert augury_cli("explain", THEFT, "--output", "svg").stdout.startswith("<svg ")


def test_version() -> None:
    assert augury_cli("--version").stdout == f"augury {augury.__version__}\n"


# -- the real program --------------------------------------------------------------------------------------------------


def test_events_on_standard_input(readings: str) -> None:
    data = Path(readings).read_bytes()
    result = program("match", THEFT + " RETURN s.tag AS tag", "-", input=data)
    assert (result.returncode, result.stderr) == (0, b"")
    assert json.loads(result.stdout)["tag"] == "y"
    result = program("match", "PATTERN a RETURN a.x AS x", "-", input=b"ts,x\n1,5\n")
    assert json.loads(result.stdout) == {"start": 1, "end": 1, "x": 5}


def test_the_query_on_standard_input(readings: str) -> None:
    result = program("match", "-", readings, input=THEFT.encode())
    assert len(result.stdout.splitlines()) == 1
    result = program("check", "-", input=b"PATTERN SEQ(A a,\n")
    assert result.returncode == 1
    assert b"--> stdin:" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("ts,x\n" + "".join(f"{i},{'y' * 50}\n" for i in range(3_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "augury.cli", "match", "PATTERN a", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_control_c_ends_without_a_traceback(tmp_path: Path) -> None:
    fifo = tmp_path / "e.csv"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-m", "augury.cli", "match", "PATTERN a", str(fifo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    # Opening the pipe for writing returns once the program has opened it for reading.
    with fifo.open("w") as writer:
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        writer.write("")
    assert process.returncode == 130
    assert b"Traceback" not in errors


# -- sql ---------------------------------------------------------------------------------------------------------------

FALLS = """SELECT * FROM ticks MATCH_RECOGNIZE (
  ORDER BY day MEASURES FIRST(day) AS since, LAST(price) AS low
  PATTERN (A DOWN+) DEFINE DOWN AS price < PREV(price))"""


@pytest.fixture
def ticks(tmp_path: Path) -> str:
    path = tmp_path / "ticks.csv"
    path.write_text("day,price\n1,9\n2,7\n3,8\n4,6\n")
    return str(path)


def test_sql_prints_rows(ticks: str, tmp_path: Path) -> None:
    query = tmp_path / "falls.sql"
    query.write_text(FALLS)
    result = augury_cli("sql", str(query), "--table", f"ticks={ticks}")
    assert result.exit_code == 0
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"since": 1, "low": 7},
        {"since": 3, "low": 6},
    ]
    table = augury_cli("sql", FALLS, "--table", f"ticks={ticks}", "--output", "table")
    assert table.stdout.endswith("3      6\n\n2 rows\n")
    out = tmp_path / "falls.parquet"
    assert augury_cli("sql", "-", "--table", f"ticks={ticks}", "--out", str(out), input=FALLS).exit_code == 0
    assert pq.read_table(out).num_rows == 2


def test_sql_explains(ticks: str) -> None:
    result = augury_cli("sql", FALLS, "--table", f"ticks={ticks}", "--explain")
    assert result.exit_code == 0
    assert result.stdout.startswith("pattern\n")
    assert "a bit of each row: price < PREV(price)" in result.stdout


# From each row on as far as there are rows: some 4.5 million rows are written.
EVERYWHERE = """SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY day ALL ROWS PER MATCH
  AFTER MATCH SKIP TO NEXT ROW PATTERN (A+) DEFINE A AS price >= 0)"""

# B is looked for after every way to cut the rows into three parts.
MANY_WAYS = """SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY day MEASURES count(*) AS n
  PATTERN (A* C* D* B) DEFINE B AS B.price < avg(A.price) + sum(C.price) - sum(D.price) - 1000000000)"""


@pytest.mark.parametrize(
    "query, budget, code",
    [
        (EVERYWHERE, ["--timeout", "1 millisecond"], "A566"),
        (EVERYWHERE, ["--max-memory", "1 MB"], "A565"),
        (MANY_WAYS, ["--max-steps", "10", "--no-jit"], "A741"),
        (FALLS, ["--timeout", "soon"], "A600"),
        (FALLS, ["--max-memory", "a lot"], "A600"),
    ],
)
def test_sql_keeps_to_its_budgets(tmp_path: Path, query: str, budget: list[str], code: str) -> None:
    path = tmp_path / "ticks.csv"
    path.write_text("day,price\n" + "".join(f"{day},{day % 97}\n" for day in range(3_000)))
    result = augury_cli("sql", query, "--table", f"ticks={path}", *budget)
    assert result.exit_code == 1
    assert f"error[{code}]" in result.stderr


def test_sql_within_its_budgets(ticks: str) -> None:
    budgets = ["--timeout", "1 hour", "--max-memory", "1 GB", "--max-steps", "100", "--threads", "1", "--no-jit"]
    result = augury_cli("sql", FALLS, "--table", f"ticks={ticks}", *budgets)
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2)
    assert augury_cli("sql", FALLS, "--table", f"ticks={ticks}", "--max-steps", "0").exit_code == 2


def test_sql_reports_errors_with_their_place(ticks: str) -> None:
    result = augury_cli("sql", FALLS.replace("price)", "prize)"), "--table", f"ticks={ticks}")
    assert result.exit_code == 1
    assert "error[A711]: the input has no column `prize`" in result.stderr
    assert "query:2:51" in result.stderr
    assert augury_cli("sql", FALLS, "--table", "ticks").exit_code == 2
    assert augury_cli("sql", FALLS, "--table", "a=b", "--table", "a=c").exit_code == 2
    assert "A530" in augury_cli("sql", FALLS, "--table", "ticks=nowhere.csv").stderr
