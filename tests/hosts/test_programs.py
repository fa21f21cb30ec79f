"""Programs that are compiled once for calls that ask for the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import augury
from augury.compiler import CompiledProgram
from augury.hosts.local import programs
from augury.hosts.local.programs import cached_program
from augury.options import Options, make_options

TEXT = "SEQ(A a, B b) WHERE a.x = v WITHIN 10 seconds"
TABLE = pa.table({"ts": [1, 2, 3], "type": ["A", "B", "B"], "x": [1, 2, 3]})


def program(table: pa.Table | Path, text: str = TEXT, **options: object) -> object:
    return augury.match(table, text, **({"parameters": {"v": 1}} | options)).compiled  # type: ignore[arg-type]


def test_the_same_call_compiles_nothing() -> None:
    first = program(TABLE)
    assert program(TABLE) is first
    assert program(pa.table(TABLE.to_pydict())) is first, "events that look alike have the same plan"
    assert program(TABLE, max_matches=7, timeout=5, threads=2) is first, "budgets are no part of a program"


def test_whatever_may_change_the_program_is_compiled() -> None:
    first = program(TABLE)
    assert program(TABLE, TEXT + " ") is not first
    assert program(TABLE.slice(0, 2)) is not first
    assert program(TABLE, plan="reference") is not first
    assert program(TABLE.append_column("y", [[1, 2, 3]])) is not first
    assert len(augury.match(TABLE, TEXT, parameters={"v": 2})) == 0
    assert len(augury.match(TABLE, TEXT, parameters={"v": 1})) == 2
    assert len(augury.match(TABLE, TEXT, parameters={"v": 1.0})) == 2
    assert program(TABLE, parameters={"v": 1.0}) is not first


def test_values_that_cannot_be_compared_are_not_kept() -> None:
    def once(options: Options) -> CompiledProgram:
        return cached_program((TEXT,), options, lambda: CompiledProgram(()))

    plain = make_options(parameters={"v": 1})
    assert once(plain) is once(plain)
    for options in (make_options(parameters={"v": [1]}), make_options(functions={"f": abs})):
        assert once(options) is not once(options)
    assert once(make_options(statistics={"rates": {"A": 1.0}})) is not once(plain)


def test_a_file_that_was_written_anew_is_planned_anew(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(TABLE, path)
    first = program(path)
    assert program(path) is first
    pq.write_table(TABLE.slice(0, 2), path)
    assert program(path) is not first


def test_the_programs_used_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "MAX_PROGRAMS", 2)
    monkeypatch.setattr(programs, "_programs", type(programs._programs)())
    first, second = program(TABLE), program(TABLE, TEXT + " ")
    assert program(TABLE) is first
    program(TABLE, TEXT + "  ")
    assert program(TABLE) is first
    assert program(TABLE, TEXT + " ") is not second
