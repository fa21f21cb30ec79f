"""Snapshots that were not written here, or by somebody else."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury.errors import HostError
from augury.hosts.local.snapshot import BODY_START, MARK_BYTES, PLAIN
from augury.plan import StreamStatistics
from augury.runtime.frames import NotAFrame, read_frame, write_frame
from augury.runtime.state import RunState
from tests.fuzz.states import CASES, SCHEMA, events, saved

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string())])
QUERY = "PATTERN SEQ(A a, B b) WITHIN 1 minute"
KEY = b"known to few"


def half_way() -> augury.Matcher:
    stream = augury.Matcher(QUERY, COLUMNS)
    stream.feed([{"ts": 1, "type": "A"}])
    return stream


def with_digest(data: bytes) -> bytes:
    return data[: BODY_START - 32] + hashlib.sha256(data[BODY_START:]).digest() + data[BODY_START:]


def test_with_the_key_it_goes_on() -> None:
    restored = augury.Matcher.restore(half_way().snapshot(key=KEY), key=KEY)
    assert len(restored.feed([{"ts": 2, "type": "B"}])) == 1


@pytest.mark.parametrize(
    "written, read, reason",
    [
        (KEY, None, "is needed to restore it"),
        (KEY, b"another", "is another one"),
        (None, KEY, "written without any"),
        (KEY, b"", "is bytes, at least one"),
        (KEY, "text", "is bytes, at least one"),
    ],
)
def test_a_missing_or_wrong_key_is_told(written: bytes | None, read: Any, reason: str) -> None:
    with pytest.raises(HostError, match=f"A594.*{reason}"):
        augury.Matcher.restore(half_way().snapshot(key=written), key=read)


def test_nobody_without_the_key_changes_a_snapshot() -> None:
    sealed = half_way().snapshot(key=KEY)
    for at in (20, BODY_START + 5, len(sealed) - 1):
        changed = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        with pytest.raises(HostError, match="A594"):
            augury.Matcher.restore(changed, key=KEY)
    # Taking the mark of a key away, with a digest that anybody can make, does not help either.
    plain = with_digest(sealed[:8] + PLAIN + sealed[MARK_BYTES:])
    with pytest.raises(HostError, match="A594"):
        augury.Matcher.restore(plain, key=KEY)


@pytest.mark.parametrize(
    "data, code",
    [(b"AUGURY01" + bytes(100), "A544"), (b"AUGURY09" + bytes(100), "A542"), (b"", "A542"), (None, "A542")],
)
def test_what_is_no_snapshot_of_this_release_is_refused(data: Any, code: str) -> None:
    with pytest.raises(HostError, match=code):
        augury.Matcher.restore(data)


def test_states_of_earlier_releases_are_refused() -> None:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, COLUMNS) as writer:
        writer.write_table(COLUMNS.empty_table())
    with pytest.raises(HostError, match="A548"):
        RunState.from_bytes(bytes(sink.getvalue()))


def changed_facts(**changed: Any) -> bytes:
    data = half_way().snapshot()
    state = RunState.from_bytes(data[BODY_START:])
    return with_digest(data[:BODY_START] + replace(state, facts={**state.facts, **changed}).to_bytes())


@pytest.mark.parametrize(
    "facts",
    [
        {"source": ["PATTERN A a"]},
        {"source": None},
        {"lateness": -1},
        {"lateness": True},
        {"types": [1]},
        {"counters": {}},
        {"counters": {"next_row": 2**63}},
        {"options": {}},
        {"schema": []},
    ],
)
def test_facts_of_another_kind_are_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(HostError, match="A595"):
        augury.Matcher.restore(changed_facts(**facts))


def test_a_query_in_a_snapshot_is_compiled_like_any_other() -> None:
    with pytest.raises(augury.QueryError, match="A101"):
        augury.Matcher.restore(changed_facts(source=["PATTERN SEQ(", "query"]))


def test_statistics_come_back_as_they_were() -> None:
    known = StreamStatistics({"a": 0.5}, {"a.x < b.x": 0.25}, 2.0, 10.0, "measured", {"c": 0.125})
    assert StreamStatistics.from_json(known.to_json()) == known


@pytest.mark.parametrize(
    "name, value",
    [("rates", {"a": -1.0}), ("rates", {"a": 10**400}), ("selectivities", {"a": 2.0}), ("total", "x"), ("source", 1)],
)
def test_statistics_that_cannot_be_are_refused(name: str, value: Any) -> None:
    with pytest.raises(HostError, match="A528"):
        StreamStatistics.from_json({**StreamStatistics().to_json(), name: value})


@pytest.mark.parametrize("plan", CASES)
def test_a_state_of_a_later_release_is_refused(plan: str) -> None:
    data = saved(plan, 0)
    whole = RunState.from_bytes(data[BODY_START:])
    inner = RunState.from_bytes(whole.tables["state0"]["state"][0].as_py())
    later = replace(inner, version=inner.version + 1).to_bytes()
    tables = {**whole.tables, "state0": pa.table({"state": pa.array([later], pa.large_binary())})}
    with pytest.raises(HostError, match="A548"):
        augury.Matcher.restore(with_digest(data[:BODY_START] + replace(whole, tables=tables).to_bytes()))


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("plan, number", [(plan, k) for plan, cases in CASES.items() for k in range(len(cases))])
def test_a_stream_goes_on_as_if_it_had_never_been_saved(plan: str, number: int) -> None:
    case = CASES[plan][number]
    options = {"plan": plan, "jit": False, **case.options}
    whole = augury.Matcher(case.query, SCHEMA, **options)
    whole.feed(events(0, case.before))
    restored = augury.Matcher.restore(saved(plan, number))
    for more in (events(case.before, case.after), None):
        found, expected = (stream.finish() if more is None else stream.feed(more) for stream in (restored, whole))
        assert found.to_arrow() == expected.to_arrow()


# -- frames ------------------------------------------------------------------------------------------------------------


def test_a_frame_that_is_cut_off_or_longer_is_none() -> None:
    data = write_frame(pa.table({"x": [1, 2, 3], "s": ["a", None, "c"], "l": [[1.0], None, []]}))
    for end in range(len(data)):
        with pytest.raises((NotAFrame, pa.ArrowInvalid)):
            read_frame(data[:end])
    with pytest.raises(NotAFrame):
        read_frame(data + bytes(8))


def test_what_cannot_be_saved_is_told() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])
    with pytest.raises(HostError, match=r"A596.*`events` holds values of type sparse_union"):
        RunState("x", 1, {"events": pa.table({"u": union})}, {}).to_bytes()
