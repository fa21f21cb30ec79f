"""When a match is reported (SEMANTICS section 6), and what stops an explosion; by the reference and the automata."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import HostError, TooManyMatches
from augury.options import Options
from augury.plan import FamilyName
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.state import FOREVER, Kernel, RunState
from augury.schema import EventSchema
from augury.testing.evaluate import kernel_of

PLANS: tuple[FamilyName, ...] = ("reference", "eager-nfa")


@pytest.fixture(params=PLANS)
def both(request: pytest.FixtureRequest) -> Options:
    """Each plan that the test holds for."""
    return Options(plan=request.param, jit=False)


REFERENCE, AUTOMATON = (Options(plan=name, jit=False) for name in PLANS)


class Feed:
    """A kernel fed event by event: `feed("a1")` is an event of type A at time 1."""

    def __init__(self, text: str, options: Options) -> None:
        empty = pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string())})
        self.kernel: Kernel
        self.schema: EventSchema
        self.kernel, self.schema = kernel_of(text, empty, options)
        self.state: RunState = self.kernel.start()
        self.names: list[str] = []

    def feed(self, *names: str, watermark: int | None = None) -> list[str]:
        table = pa.table(
            {
                "ts": pa.array([int(n[1:]) for n in names], pa.int64()),
                "type": pa.array([n[0].upper() for n in names], pa.string()),
            }
        )
        rows = np.arange(len(self.names), len(self.names) + len(names))
        self.names += names
        time = time_ticks(table, self.schema)
        if watermark is None:
            watermark = int(time.max())
        self.state, found = self.kernel.step(self.state, EventBatch(table, rows, time), watermark)
        return [" ".join(self.names[r] for part in m.rows for r in part) or f"{m.count}" for m in found]

    def advance(self, watermark: int) -> list[str]:
        return self.feed(watermark=watermark)


def test_a_match_is_reported_with_its_last_event(both: Options) -> None:
    f = Feed("PATTERN SEQ(A a, B b) WITHIN 10 seconds", both)
    assert [f.feed("a1"), f.feed("b2"), f.feed("b3"), f.advance(FOREVER)] == [[], ["a1 b2"], ["a1 b3"], []]


def test_a_trailing_not_waits_for_its_window(both: Options) -> None:
    f = Feed("PATTERN SEQ(A a, NOT(B b)) WITHIN 10 seconds", both)
    assert f.feed("a1") == []
    assert f.advance(11) == [], "an event at 11 would still be inside"
    assert f.advance(12) == ["a1"]
    assert f.feed("a20", "b25") == []
    assert f.advance(FOREVER) == []


def test_without_a_window_a_trailing_not_waits_for_the_end(both: Options) -> None:
    f = Feed("PATTERN SEQ(A a, NOT(B b))", both)
    assert [f.feed("a1"), f.advance(10**9), f.advance(FOREVER)] == [[], [], ["a1"]]


def test_a_trailing_not_in_a_count_window_waits_for_so_many_events(both: Options) -> None:
    f = Feed("PATTERN SEQ(A a, NOT(B b)) WITHIN 3 EVENTS", both)
    assert [f.feed("a1"), f.feed("c2"), f.feed("c3")] == [[], [], ["a1"]]


def test_a_not_inside_a_trailing_not_may_still_undo_it(both: Options) -> None:
    f = Feed("PATTERN SEQ(A a, NOT(SEQ(B b, NOT(C c)))) WITHIN 10 seconds", both)
    assert [f.feed("a1", "b2"), f.feed("c3"), f.advance(12)] == [[], [], ["a1"]]


def test_event_sets_are_reported_when_they_can_grow_no_more() -> None:
    f = Feed("PATTERN AND(A+ a[], B b) WHERE skip_till_next_match {} WITHIN 5 seconds", REFERENCE)
    assert [f.feed("b1", "a2"), f.feed("a4"), f.advance(6), f.advance(7)] == [[], [], [], ["a2 a4 b1"]]


def test_non_overlap_waits_for_every_earlier_match(both: Options) -> None:
    f = Feed("PATTERN OR(SEQ(A a, NOT(X x)), SEQ(B b, C c)) WITHIN 10 seconds OUTPUT NONOVERLAP", both)
    assert f.feed("a1", "b2", "c3", "d5") == [], "a1 ends first but is not certain before 12"
    assert f.advance(12) == ["a1", "b2 c3"]


def test_non_overlap_remembers_where_the_last_match_ended(both: Options) -> None:
    f = Feed("PATTERN SEQ(A a, B b) WITHIN 10 seconds OUTPUT NONOVERLAP", both)
    assert [f.feed("a1", "a2", "b3"), f.feed("b4"), f.feed("a5"), f.feed("b60")] == [[], ["a1 b3"], [], []]
    assert f.feed("a61", "b62") == []
    assert f.advance(FOREVER) == ["a61 b62"]


def test_covers_wait_for_their_chains_to_end() -> None:
    f = Feed("PATTERN SEQ(A a, B b) OUTPUT COVER", REFERENCE)
    assert f.feed("a1", "a2", "b3") == []
    assert f.feed("b4") == []
    assert f.feed("a5") == ["a2 b4"]
    assert f.advance(FOREVER) == []


def test_count_and_latest_speak_when_the_event_arrives() -> None:
    f = Feed("PATTERN SEQ(A a, B b) OUTPUT COUNT", REFERENCE)
    assert [f.feed("a1", "a2"), f.feed("b3"), f.feed("b4")] == [[], ["2"], ["2"]]
    f = Feed("PATTERN SEQ(A a, B b) OUTPUT LATEST", REFERENCE)
    assert [f.feed("a1", "a2"), f.feed("b3"), f.feed("b4")] == [[], ["a2 b3"], ["a2 b4"]]


def test_old_events_are_forgotten(both: Options) -> None:
    f = Feed("PATTERN SEQ(NOT(C c), A a, B b) WITHIN 10 seconds", both)
    for t in range(0, 1000, 10):
        f.feed(f"a{t}", f"b{t + 1}")
    assert f.state.oldest_row >= 190
    assert f.state.tables["events"].num_rows <= 8
    if both.plan == "reference":
        assert len(f.state.facts["seen"]) <= 8
    else:
        assert f.state.tables["runs"].num_rows <= 4
        assert f.state.tables["nodes"].num_rows <= 8


def test_forgetting_what_rejected_a_match_does_not_bring_it_back(both: Options) -> None:
    f = Feed("PATTERN SEQ(NOT(C c), A a) WITHIN 10 seconds", both)
    assert f.feed("c1", "a5") == []
    assert [f.feed(f"d{t}") for t in range(6, 60)] == [[]] * 54


def test_too_many_matches_is_an_error(both: Options) -> None:
    f = Feed("PATTERN SEQ(A+ a[], B b)", replace(both, max_matches=100))
    with pytest.raises(TooManyMatches, match="more than 100 matches"):
        f.feed(*[f"a{i}" for i in range(12)], "b20")


def test_too_much_work_is_an_error_too() -> None:
    text, events = "PATTERN SEQ(A+ a[], B b) WHERE a.len > 40", [f"a{i}" for i in range(30)]
    f = Feed(text, replace(REFERENCE, max_partial_matches=1000))
    with pytest.raises(TooManyMatches, match="more than 1000 partial matches"):
        f.feed(*events, "b40")
    f = Feed(text, replace(AUTOMATON, max_partial_matches=1000, merge=False))
    with pytest.raises(TooManyMatches, match="more than 1000 partial matches at a time"):
        f.feed(*events, "b40")


def test_an_interrupted_state_cannot_be_continued() -> None:
    f = Feed("PATTERN SEQ(A+ a[], B b)", replace(AUTOMATON, max_matches=100))
    f.feed("a0")
    saved = f.state.to_bytes()
    with pytest.raises(TooManyMatches):
        f.feed(*[f"a{i}" for i in range(1, 12)], "b20")
    with pytest.raises(HostError, match="interrupted"):
        f.feed("b21")
    f.state, f.names = RunState.from_bytes(saved), f.names[:1]
    assert f.feed("b21") == ["a0 b21"]


def test_a_state_of_another_family_is_refused(both: Options) -> None:
    f = Feed("PATTERN A a", both)
    f.state = RunState("lazy-chain", 1, {}, {})
    with pytest.raises(HostError, match="cannot be continued"):
        f.feed("a1")


def test_bytes_that_are_no_state_are_refused() -> None:
    with pytest.raises(HostError, match="not a saved state"):
        RunState.from_bytes(b"nonsense")


def test_one_of_two_branches_suffices_and_the_match_is_reported_once() -> None:
    # The automaton would have to remember what it has reported, and refuses such alternatives.
    either = "PATTERN OR(SEQ(A a, NOT(B b)), SEQ(A a, NOT(C c))) WITHIN 10 seconds"
    for others, expected in (((), ["a1"]), (("b2",), ["a1"]), (("c2",), ["a1"]), (("b2", "c3"), [])):
        f = Feed(either, REFERENCE)
        assert f.feed("a1", *others) == []
        assert f.advance(12) == expected
        assert f.advance(FOREVER) == []
    at_once = Feed("PATTERN OR(SEQ(A a, NOT(B b)), A a) WITHIN 10 seconds", REFERENCE)
    assert at_once.feed("a1") == ["a1"]
    assert at_once.advance(FOREVER) == []


REPORTED_AT = [
    # query, events, at which watermark which matches are reported
    ("SEQ(A a, B b) WITHIN 10 seconds", "a1 b3 b4", {3: ["a1 b3"], 4: ["a1 b4"]}),
    ("SEQ(A a, NOT(C n)) WITHIN 10 seconds", "a1", {12: ["a1"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts - b.ts <= 1 second WITHIN 1 hour", "a1 b2", {4: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts - b.ts <= 1 second WITHIN 1 hour", "a1 b2 b3 c4", {4: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts - b.ts < 1 second WITHIN 1 hour", "a1 b2", {3: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE b.ts + 5 seconds >= n.ts WITHIN 1 hour", "a1 b2", {8: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts < a.ts + 5 seconds WITHIN 1 hour", "a1 b2", {6: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts - 3 seconds <= b.ts WITHIN 4 seconds", "a1 b4", {6: ["a1 b4"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts - b.ts <= 1 second OR n.ts = 1 WITHIN 9 seconds", "a1 b2", {11: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n)) WHERE n.ts - b.ts >= 1 second WITHIN 9 seconds", "a1 b2", {11: ["a1 b2"]}),
    ("SEQ(A a, NOT(C n), NOT(D m)) WHERE n.ts - a.ts <= 1 second WITHIN 9 seconds", "a1", {11: ["a1"]}),
    ("SEQ(A a, NOT(SEQ(C n, D m))) WHERE n.ts - a.ts <= 1 second WITHIN 9 seconds", "a1", {11: ["a1"]}),
    (
        "SEQ(A+ a[], NOT(C n)) WHERE n.ts - a[last].ts <= 2 seconds WITHIN 9 seconds",
        "a1 a2",
        {4: ["a1"], 5: ["a1 a2", "a2"]},
    ),
    (
        "SEQ(A a, B b, NOT(C n)) WHERE n.ts - b.ts <= 1 second WITHIN 9 seconds OUTPUT NONOVERLAP",
        "a1 b2",
        {4: ["a1 b2"]},
    ),
    ("SEQ(A a, B b) WITHIN 10 seconds OUTPUT NONOVERLAP", "a1 b3", {4: ["a1 b3"]}),
    ("SEQ(A a, B b) WITHIN 10 seconds OUTPUT FIRST", "a1 b3 b4", {4: ["a1 b3"]}),
    ("SEQ(A a, B+ b[]) WITHIN 10 seconds OUTPUT LONGEST", "a1 b3 b4", {12: ["a1 b3 b4"]}),
    ("SEQ(A a, B b) WITHIN 10 seconds OUTPUT NONOVERLAP FROM b", "a1 b3", {12: ["a1 b3"]}),
    ("SEQ(A a, B b) WITHIN 10 seconds OUTPUT ALL EVERY 2 seconds", "a1 b3 b4 b6", {4: ["a1 b3"], 7: ["a1 b6"]}),
    ("SEQ(A a, B b) WITHIN 10 seconds OUTPUT ALL ONCE", "a1 b3 b4", {4: ["a1 b3"]}),
    ("SEQ(A a, B b) WITHIN 10 seconds OUTPUT LATEST", "a1 a2 b3", {3: ["a2 b3"]}),
]
"""When the matches of a query are certain: as early as what follows from its window and its conditions."""


@pytest.mark.parametrize("plan", ["reference", "eager-nfa", "lazy-chain"])
@pytest.mark.parametrize("query, events, expected", REPORTED_AT)
def test_when_matches_are_reported(plan: FamilyName, query: str, events: str, expected: dict[int, list[str]]) -> None:
    assert reported_at(query, events, Options(plan=plan, jit=False)) == expected


TIMED_AT = [
    ("SEQ(A a, NOT(C n) FOR 3 seconds)", "a1", {5: ["a1"]}),
    ("SEQ(A a, B b) WITHIN 5 seconds OUTPUT TIMEOUTS", "a1 c3", {7: ["a1"]}),
    ("SEQ(A a, B b) WITHIN 5 seconds OUTPUT ALL WITH TIMEOUTS", "a1 a2 b7", {7: ["a1", "a2 b7"]}),
    ("SEQ(A a, B b, C c) WITHIN 3 seconds EACH OUTPUT TIMEOUTS", "a1 b2", {6: ["a1 b2"]}),
    ("SEQ(A a, B b, NOT(C n) FOR 9 seconds) WITHIN 5 seconds OUTPUT TIMEOUTS", "a1 b2 c4", {12: ["a1 b2"]}),
]
"""The same for what lazy chains do not run."""


@pytest.mark.parametrize("query, events, expected", TIMED_AT)
def test_when_silence_and_timeouts_are_reported(
    both: Options, query: str, events: str, expected: dict[int, list[str]]
) -> None:
    assert reported_at(query, events, both) == expected


def reported_at(query: str, events: str, options: Options) -> dict[int, list[str]]:
    """What is reported at which watermark, which goes up to 20 tick by tick and takes the events with it."""
    f = Feed(f"PATTERN {query}", options)
    times = {int(name[1:]): name for name in events.split()}
    found = {now: f.feed(times[now]) if now in times else f.advance(now) for now in range(1, 21)}
    assert f.advance(FOREVER) == []
    return {now: matches for now, matches in found.items() if matches}
