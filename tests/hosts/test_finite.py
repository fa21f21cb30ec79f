"""When the kernel of a finite stream is compiled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

import augury
from augury.engine import compiling
from augury.engine.compiling import MIN_EVENTS_TO_COMPILE, MIN_EVENTS_TO_LOAD, worth_compiling
from augury.jit import compile as jit
from augury.jit import tier
from augury.jit.store import clear
from augury.kernels.common.arranging import MAX_PLAIN_MATCHES
from augury.options import make_options

QUERY = "PATTERN SEQ(A a, B b) WHERE a.x < b.x AND a.x > 5 WITHIN 7 seconds"
EVENTS = pa.table({"ts": [1, 2], "type": ["A", "B"], "x": [6, 7]})


def test_a_kernel_that_was_compiled_before_is_used_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = make_options(cache_dir=tmp_path)
    query = augury.match(EVENTS, QUERY, jit=False).compiled
    assert query is not None
    assert not worth_compiling(query, MIN_EVENTS_TO_COMPILE - 1, options)
    assert worth_compiling(query, MIN_EVENTS_TO_COMPILE, options)
    augury.match(EVENTS, QUERY, cache_dir=tmp_path, jit=True)
    assert worth_compiling(query, MIN_EVENTS_TO_LOAD, options), "it is in memory"
    assert not worth_compiling(query, MIN_EVENTS_TO_LOAD - 1, options)
    monkeypatch.setattr(jit, "_loaded", {})
    assert worth_compiling(query, MIN_EVENTS_TO_LOAD, options), "it is on disk"
    clear(tmp_path)
    assert not worth_compiling(query, MIN_EVENTS_TO_LOAD, options)


PROGRAM = f"{QUERY} RETURN a.x AS x INTO Pair; PATTERN SEQ(Pair p) WHERE p.x > 5"


@pytest.mark.parametrize("query", [QUERY, pytest.param(PROGRAM, marks=pytest.mark.slow)])
def test_many_events_are_not_matched_as_plain_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(compiling, "MIN_EVENTS_TO_COMPILE", 2)
    monkeypatch.setattr(compiling, "MIN_EVENTS_TO_LOAD", 1)
    assert len(augury.match(EVENTS, query, cache_dir=tmp_path)) == 1
    assert list(tmp_path.glob("*/kernel_*.bin"))
    assert len(augury.match(EVENTS, query, plan="reference")) == 1


def test_few_matches_are_put_in_order_without_compiling_the_library_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "MIN_EVENTS_TO_COMPILE", 2)
    monkeypatch.setattr(compiling, "MIN_EVENTS_TO_LOAD", 1)
    events = pa.table({"ts": range(300), "type": ["A", "B", "C"] * 100})
    query = "PATTERN AND(A a, B b, C c) WITHIN 9 seconds"

    def found(*, jit: bool | None = None) -> list[Mapping[str, object]]:
        return [match.rows for match in augury.match(events, query, cache_dir=tmp_path, jit=jit)]

    def compiled() -> set[str]:
        return {file.name.split(".")[1] for file in tmp_path.glob("*/kernel_*.bin")}

    stood_in = found()
    assert len(stood_in) > MAX_PLAIN_MATCHES
    assert compiled()
    assert not {"write_ordered_rows", "write_packed", "write_rows"} & compiled()
    monkeypatch.setattr(tier, "MAX_STOOD_IN_MATCHES", -1)
    assert found() == stood_in
    assert {"write_ordered_rows", "write_packed"} <= compiled()
    assert found(jit=True) == stood_in
