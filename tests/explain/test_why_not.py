"""`why_not` says what a brute-force look at every assignment says."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury
from augury.explain.why_not.answer import why_not_in
from augury.explain.why_not.result import NearMiss, WhyNot
from augury.ir.query import CountWindow
from augury.ir.terms import OutputMode, Strategy
from augury.reference.stream import StreamEvent
from augury.testing.evaluate import reference_matches
from augury.testing.queries import queries
from augury.testing.streams import streams
from augury.testing.tables import parse_stream
from tests.explain.brute_force import CHECKS, BruteForce, without_negation
from tests.properties.agreement import PLAIN
from tests.thorough import rounds


def explained(text: str, table: pa.Table) -> tuple[WhyNot, BruteForce]:
    query = augury.compile(text, table.schema)
    return query.why_not(table), BruteForce(query.program.last.bound, table)


def check_against_brute_force(text: str, table: pa.Table) -> None:
    told, brute = explained(text, table)
    assert all(step.exact for step in told.steps)
    assert told.matches == len(brute.accepted)
    expected = brute.steps()
    for step in told.steps:
        assert (step.events, dict(step.by_variable)) == expected[step.name], step.name
    # What is not told changes nothing, and nothing is told after the first step that leaves nothing.
    assert all(step.events for step in told.steps[:-1])
    told_names = [step.name for step in told.steps]
    empty = [name for name, (events, _) in expected.items() if not events]
    assert (told.failed is None) == (not empty)
    if told.failed is not None:
        assert told.failed.name == empty[0], told_names
    assert (told.nearest is None) == bool(brute.accepted)
    if told.nearest is not None:
        check_nearest(told.nearest, brute)
    assert str(told)
    assert told._repr_html_()


def check_nearest(miss: NearMiss, brute: BruteForce) -> None:
    by_row = {e.row: e for e in brute.events}
    bound = {v: tuple(by_row[r] for r in rows) for v, rows in miss.rows.items()}
    candidates = [by_row[r] for r in miss.candidates]
    match miss.step:
        case "negation":
            assert dict(miss.rows) in brute.selected
            assert dict(miss.rows) not in brute.accepted
            assert candidates
        case "strategy":
            assert not miss.missing
            assert dict(miss.rows) not in brute.selected
            (culprit,) = candidates
            assert not any(culprit in events for events in bound.values())
            mine = {e.row for events in bound.values() for e in events}
            assert selected_without(brute, mine, culprit.row - 1, miss.rows)
            assert not selected_without(brute, mine, culprit.row, miss.rows)
        case _ if not brute.constant():
            assert miss.step == "conditions on one event"
        case _:
            assert_nearest_partial(miss, brute, bound, candidates)


def selected_without(brute: BruteForce, mine: set[int], last: int, rows: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether the strategy selects the match if of all other events only those up to `last` are there."""
    kept = [r for r in range(brute.table.num_rows) if r in mine or r <= last]
    smaller = brute.table.take(kept)
    # Windows count the events of the whole stream.
    query = replace(without_negation(brute.query), output=OutputMode.ALL)
    if isinstance(query.window, CountWindow):
        query = replace(query, window=None)
    found = reference_matches(query, smaller)
    wanted = {v: tuple(kept.index(r) for r in rs) for v, rs in rows.items()}
    return any({v: tuple(r) for v, r in zip(found.variables, m.rows, strict=True) if r} == wanted for m in found)


def assert_nearest_partial(
    miss: NearMiss, brute: BruteForce, bound: Mapping[str, tuple[StreamEvent, ...]], candidates: list[StreamEvent]
) -> None:
    assert miss.variable is not None
    branch = next(b for b in brute.branches if set(b.variables) == {*bound, *miss.missing})
    check = CHECKS.index(miss.step)
    if not candidates and miss.conditions:
        check = len(CHECKS)
    held = len(bound.get(miss.variable, ()))
    assert brute.nearest() == (-len(miss.missing), held, check, -len(miss.conditions))
    assert brute.is_partial_match(branch, bound, miss.variable)
    for e in candidates:
        if check < 6:
            found, failed = brute.check(branch, bound, miss.variable, e)
            assert found == check
            assert sorted(map(str, failed)) == sorted(c.text for c in miss.conditions)


SELECTING = (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY, Strategy.SKIP_TILL_NEXT_MATCH)


def explainable(**choices: Any) -> st.SearchStrategy[str]:
    """Random queries without what `why_not` refuses (A645): steps, `+?`, SINCE, FOR, EACH, UNTIL and `b[2]`."""
    return queries(silences=False, until=False, **choices).filter(lambda text: not re.search(r"\[[2-9]\]", text))


RANDOM = st.one_of(
    explainable(outputs=[OutputMode.ALL], steps=False), explainable(outputs=[OutputMode.ALL], strategies=SELECTING)
)


@settings(PLAIN, max_examples=15)
@given(text=RANDOM, table=streams(max_size=5))
def test_random_queries(text: str, table: pa.Table) -> None:
    check_against_brute_force(text, table)


@pytest.mark.slow
@settings(PLAIN, max_examples=rounds(200, 2000))
@given(text=RANDOM, table=streams(max_size=6))
def test_200_random_queries(text: str, table: pa.Table) -> None:
    check_against_brute_force(text, table)


CHOOSING = (
    OutputMode.ALL,
    OutputMode.NONOVERLAP,
    OutputMode.NONOVERLAP_FROM,
    OutputMode.LATEST,
    OutputMode.FIRST,
    OutputMode.LONGEST,
    OutputMode.LONGEST_NONOVERLAP,
)


@settings(PLAIN, max_examples=rounds(25, 500))
@given(
    text=explainable(outputs=CHOOSING, steps=False, paces=True),
    table=streams(max_size=6),
    data=st.data(),
)
def test_output_chooses_among_the_matches(text: str, table: pa.Table, data: st.DataObject) -> None:
    """What is told of the steps is the same for every OUTPUT; of a match that is not reported it says so."""
    query = augury.compile(text, table.schema)
    bound = query.program.last.bound
    brute = BruteForce(replace(bound, output=OutputMode.ALL, skip_to=None, every=None, once=False), table)
    told = query.why_not(table)
    assert bool(told.matches) == bool(brute.accepted)
    for step in told.steps:
        assert (step.events, dict(step.by_variable)) == brute.steps()[step.name], step.name
    if not brute.accepted:
        return
    chosen = data.draw(st.sampled_from(brute.accepted))
    reported = [m.rows for m in query.match(table)]
    listed = [{v: (r,) if isinstance(r, int) else tuple(r) for v, r in m.items() if r is not None} for m in reported]
    told = query.why_not(table, rows={v: list(rows) for v, rows in chosen.items()})
    assert told.found is not None
    binds = any(chosen.items() <= rows.items() for rows in listed)
    assert ("leaves out" in told.note) == (not binds)


@settings(PLAIN, max_examples=rounds(25, 500))
@given(text=RANDOM, table=streams(max_size=6), data=st.data())
def test_random_rows(text: str, table: pa.Table, data: st.DataObject) -> None:
    """A match is found iff one binds exactly these rows, and otherwise some step leaves nothing."""
    query = augury.compile(text, table.schema)
    brute = BruteForce(query.program.last.bound, table)
    nothing: dict[str, tuple[int, ...]] = {}
    lists = {v.name: v.iterated for v in query.program.last.bound.variables if not v.negated}
    whole = data.draw(st.sampled_from([nothing, *brute.accepted]))
    rows: dict[str, list[int]] = {}
    for name, iterated in lists.items():
        if whole and name in whole and data.draw(st.booleans()):
            rows[name] = list(whole[name])
        elif not whole and table.num_rows and data.draw(st.booleans()):
            most = 3 if iterated else 1
            row = st.integers(0, table.num_rows - 1)
            rows[name] = sorted(data.draw(st.lists(row, min_size=1, max_size=most, unique=True)))
    told = query.why_not(table, rows=rows)
    binding = [m for m in brute.accepted if all(m.get(v) == tuple(r) for v, r in rows.items())]
    if not rows:
        assert told.found is None
        return
    assert (told.found is not None) == bool(binding)
    assert (told.failed is None) == bool(binding)
    if told.found is not None:
        assert dict(told.found) in binding
    assert str(told)


# -- what it says ------------------------------------------------------------------------------------------------------


def why(query: str, events: str, **rows: int | list[int]) -> str:
    return str(augury.why_not(parse_stream(events), query, rows=rows or None))


def test_a_condition_that_fails_is_told_with_its_values() -> None:
    told = why("SEQ(A a, B b) WHERE [k] AND b.x > a.x + 1 WITHIN 5 seconds", "a1(k=p,x=5) b2(k=q,x=9) b3(k=p,x=6)")
    assert (
        told
        == """No match in 3 events.

left after                      events  a  b
------------------------------  ------  -  -  ----------------
type                            3       1  2  a: `A`, b: `B`
key                             2       1  1  [k]
order                           2       1  1
window                          2       1  1  WITHIN 5 seconds
conditions over several events  0       0  0  b.x > a.x + 1

Nearest miss, without b:
  a: row 0  ts=1 type=A id=a1 k=p x=5
It fails at conditions over several events:
  b: row 2  ts=3 type=B id=b3 k=p x=6
  b.x > a.x + 1 is not true: b.x = 6, a.x = 5"""
    )


@pytest.mark.parametrize(
    "query, events, line",
    [
        ("SEQ(A a, B b)", "a1", "It fails at type: there is no event of type `B`"),
        ("SEQ(A a, B b) WHERE b.x > 3", "a1(x=1) b2(x=2)", "  b.x > 3 is not true: b.x = 2"),
        ("SEQ(A a, B b) WHERE [k]", "a1(k=p) b2(k=q)", "It fails at key: no further event of b has the same key"),
        ("SEQ(A a, B b)", "b1 a2", "It fails at order: no event of b comes after a"),
        ("AND(A a, A b)", "a1", "It fails at order: row 0 is bound to a already"),
        ("SEQ(A a, B b) WITHIN 1 minute", "a1@0 b2@90", "It fails at window: 90 seconds apart, WITHIN 1 minute"),
        ("SEQ(A a, B b) WITHIN 2 EVENTS", "a1 c2 b3", "It fails at window: 3 events in all, WITHIN 2 EVENTS"),
        (
            "SEQ(A a, B{3} b[])",
            "a1 b2 b3",
            "It fails at order: b has 2 of the 3 events it needs, and there is no further one",
        ),
        ("SEQ(A a, B+ b[]) WHERE avg(b[].x) > 5", "a1 b2(x=1)", "  avg(b[].x) > 5 is not true: avg(b[].x) = 1"),
        (
            "SEQ(A a, B{2} b[]) WHERE b[i].x > b[i-1].x",
            "a1 b2(x=2) b3(x=1)",
            "  b[i].x > b[i-1].x is not true: b[i].x = 1, b[i-1].x = 2",
        ),
        ("SEQ(A a, B b) WHERE strict_contiguity {}", "a1 c2 b3", "  between: row 1  ts=2 type=C id=c2"),
        ("SEQ(A a, NOT(C c), B b)", "a1 c2 b3", "  c: row 1  ts=2 type=C id=c2"),
        ("SEQ(A a, B b) WHERE 1 > 2", "a1 b2", "  1 > 2 is not true"),
        ("SEQ(A a, B b) WHERE b.x > a.x", "a1(x=1) b2(x=null)", "  b.x > a.x is not true: b.x = null, a.x = 1"),
    ],
)
def test_what_fails(query: str, events: str, line: str) -> None:
    assert line in why(query, events).splitlines()


def test_the_event_that_skip_till_next_match_takes_instead() -> None:
    told = augury.why_not(
        parse_stream("a1 b2 b3"), "SEQ(A a, B b) WHERE skip_till_next_match {}", rows={"a": 0, "b": 2}
    )
    assert told.nearest is not None
    assert (told.nearest.step, told.nearest.candidates) == ("strategy", (1,))


def test_rows_that_are_in_a_match() -> None:
    assert why("SEQ(A a, B b, C c)", "a1 b2 c3", a=0, c=2).startswith(
        "a = row 0, c = row 2: there is the match a = row 0, b = row 1, c = row 2."
    )


def test_rows_of_a_match_that_output_leaves_out() -> None:
    told = why("SEQ(A a, B b) OUTPUT NONOVERLAP", "a1 b2 b3", a=0, b=2)
    assert told.startswith(
        "a = row 0, b = row 2: there is the match a = row 0, b = row 2, which OUTPUT NONOVERLAP leaves out."
    )


def test_rows_that_a_variable_cannot_take() -> None:
    told = why("SEQ(A a, B{2,} b[])", "a1 b2 b3", b=[1])
    assert "b takes 2 or more, not 1" in told
    told = why("SEQ(A a, B b)", "a1 b2", a=1)
    assert "It fails at type: a takes `A`" in told


def test_there_are_matches() -> None:
    told = augury.why_not(parse_stream("a1 b2 b3"), "SEQ(A a, B b)")
    assert (told.matches, told.failed, told.nearest) == (2, None, None)
    assert str(told).startswith("2 matches in 3 events.")
    counted = augury.why_not(parse_stream("a1 b2 b3"), "SEQ(A a, B b) OUTPUT COUNT")
    assert counted.matches == 2


def test_no_events_at_all() -> None:
    assert str(augury.why_not([], "SEQ(A a, B b)")) == "No match in 0 events."
    empty = parse_stream("a1").slice(0, 0)
    assert augury.why_not(empty, "SEQ(A a, B b)").steps[0].events == 0


def test_events_that_a_query_before_it_derives() -> None:
    text = "SEQ(A a, B b) RETURN a.x AS x INTO P; SEQ(P p, C c) WHERE c.x > p.x"
    told = augury.why_not(parse_stream("a1(x=5) b2 c3(x=4)"), text)
    assert "  c.x > p.x is not true: c.x = 4, p.x = 5" in str(told).splitlines()


def test_of_a_long_stream_a_part_is_looked_at() -> None:
    many = [{"ts": k, "type": "AB"[k % 2], "k": k % 7} for k in range(700)]
    told = augury.why_not(many, "SEQ(A a, B b, C c) WHERE [k]", sample=210)
    assert (told.events, told.looked_at) == (700, 200)
    assert "Looked at 200 of them: all of 2 out of 7 keys." in str(told)
    told = augury.why_not(many, "SEQ(A a, B b, C c)", sample=210)
    assert "Looked at 210 of them: the first 210." in str(told)
    told = augury.why_not(many, "SEQ(A a, B b) WITHIN 200 seconds", sample=210, rows={"a": 500, "b": 601})
    assert told.found == {"a": (500,), "b": (601,)}
    assert "those around the rows" in told.sample


def test_a_search_that_gives_up_says_so() -> None:
    many = [{"ts": k, "type": "A", "x": 0} for k in range(60)]
    query = augury.compile("SEQ(A a, A b, A c) WHERE c.x > a.x + b.x", many)
    told = why_not_in(query.match(many), query.options, effort=5_000)
    assert told.failed is None
    assert not told.steps[-1].exact
    assert "≥ 0" in str(told)
    assert told.nearest is not None
    assert not told.nearest.exact


def test_hostile_names_and_values_stay_text() -> None:
    tag = "<script>alert(1)</script>"
    events = [{"ts": 1, "type": tag, "x<b>": "</pre>"}, {"ts": 2, "type": "B", "x<b>": "\x1b[2J<i>"}]
    told = augury.why_not(events, f"SEQ(`{tag}` `a<u>`, B b) WHERE `a<u>`.`x<b>` = b.`x<b>`")
    page = told._repr_html_()
    for mark in ("<script", "<b>", "<i>", "<u>"):
        assert mark not in page
        assert mark in str(told)
    assert page.count("</pre>") == 1
    assert "\x1b" not in str(told) + page


def test_json() -> None:
    told = augury.why_not(parse_stream("a1(x=1) b2(x=0)"), "SEQ(A a, B b) WHERE b.x > a.x").to_json()
    assert json.dumps(told)
    assert told["nearest"]["conditions"][0] == {"text": "b.x > a.x", "values": {"b.x": "0", "a.x": "1"}}
    assert [step["events"] for step in told["steps"]] == [2, 2, 0]


@pytest.mark.parametrize(
    "rows, code",
    [
        ({"c": 1}, "A646"),
        ({"n": 1}, "A646"),
        ({"a": 9}, "A647"),
        ({"a": []}, "A647"),
        ({"a": "x"}, "A610"),
        ({"a": -1}, "A610"),
    ],
)
def test_rows_that_cannot_be(rows: dict[str, object], code: str) -> None:
    with pytest.raises(augury.HostError, match=code):
        augury.why_not(parse_stream("a1 b2"), "SEQ(A a, NOT(N n), B b)", rows=rows)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "query, reason",
    [
        ("SEQ(A a, B b) WHERE skip_till_next_match, strict_contiguity(b) {}", "steps with strategies of their own"),
        ("SEQ(A a, B b) WITHIN 1 minute EACH", "WITHIN ... EACH is not looked into"),
        ("SEQ(A a, NOT(B b) FOR 5 seconds)", "NOT ... FOR is not looked into (query 1:10)"),
        ("SEQ(A a, B b) WITHIN 1 minute OUTPUT TIMEOUTS", "OUTPUT TIMEOUTS tells by itself how far events got"),
    ],
)
def test_what_is_not_explained_is_refused_with_the_reason(query: str, reason: str) -> None:
    with pytest.raises(augury.HostError, match=re.escape(f"why_not cannot explain this query: {reason}")):
        augury.why_not(parse_stream("a1 b2"), query)


@pytest.mark.parametrize("output", ["FIRST", "ALL ONCE", "ALL EVERY 1 hour"])
def test_a_match_that_is_left_out(output: str) -> None:
    told = why(f"SEQ(A a, B b) OUTPUT {output}", "a1 b2 b3", a=0, b=2)
    words = output.replace("1 hour", "...")
    assert told.startswith(
        f"a = row 0, b = row 2: there is the match a = row 0, b = row 2, which OUTPUT {words} leaves out."
    )


def test_a_lossy_query_is_refused_with_the_reason() -> None:
    loss = augury.LossModel(0.1, delays={v: augury.Exponential(1.0) for v in "abc"})
    with pytest.raises(augury.HostError, match=r"A645.*THRESHOLD"):
        augury.why_not(parse_stream("a1 b2 c3"), "SEQ(A a, B b, C c) WITHIN 9 seconds THRESHOLD 0.5", loss=loss)
