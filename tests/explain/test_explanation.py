"""An explanation is a string, and has its other forms: HTML, JSON, Mermaid and a picture."""

from __future__ import annotations

import json
import pickle
import re
from itertools import combinations, pairwise
from pathlib import Path
from time import perf_counter
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import augury
from augury import families as registry
from augury.engine.scan import file_scan
from augury.explain.mermaid import quoted
from augury.explain.svg import to_svg
from augury.plan import FamilyName
from augury.planner.draw.diagram import Diagram
from augury.testing.queries import queries
from augury.testing.streams import SCHEMA
from tests.properties.agreement import PLAIN

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("x", pa.int64())])
LOSS = augury.LossModel(0.2, delays={v: augury.Exponential(30.0) for v in "abc"})

FAMILIES: dict[FamilyName, str] = {
    "eager-nfa": "SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [k] AND b[i].x > b[i-1].x } WITHIN 1 hour",
    "lazy-chain": "SEQ(A a, B b, NOT(D d), C c) WHERE a.x < c.x AND b.k = c.k WITHIN 1 hour",
    "lazy-tree": "SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 1 hour",
    "event-sets": "SEQ(AND(A a, B+ b[]), C c) WHERE skip_till_next_match { [k] AND a.x > 3 } WITHIN 1 hour",
    "linked": "SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 1 hour OUTPUT COVER",
    "lossy": "SEQ(A a, B b, C c) WHERE a.k[c.k] = c.k WITHIN 1 minute THRESHOLD 0.1",
    "reference": "SEQ(A a, B b)",
}


def explained(family: FamilyName) -> augury.Explanation:
    return augury.explain(FAMILIES[family], COLUMNS, plan=family, loss=LOSS if family == "lossy" else None)


def test_every_family_is_tried() -> None:
    assert set(FAMILIES) == set(registry.FAMILIES)


def edges(diagram: Diagram) -> list[tuple[str, str, str, tuple[str, ...]]]:
    names = {node.name: node.lines[0] for node in diagram.nodes}
    return [(names[e.source], e.kind, names[e.target], e.lines) for e in diagram.edges]


def test_the_pattern_is_a_tree() -> None:
    (pattern,) = augury.explain("SEQ(A a, NOT(B b), OR(C c, D+ d[]))", stage="syntax").diagrams()
    assert {(s, t) for s, _, t, _ in edges(pattern)} == {
        ("NOT", "B b"),
        ("OR", "C c"),
        ("OR", "D+ d[]"),
        ("SEQ", "A a"),
        ("SEQ", "NOT"),
        ("SEQ", "OR"),
    }


def test_the_eager_automaton() -> None:
    _, automaton = explained("eager-nfa").diagrams()
    assert automaton.title == "eager-nfa, automaton"
    assert edges(automaton) == [
        ("a", "begin", "b[1]", ("A a",)),
        ("b[1]", "ignore", "b[1]", ("what cannot be taken",)),
        ("b[1]", "take", "b[i]", ("B b",)),
        ("b[i]", "take", "b[i]", ("B b", "b[i].x > b[i-1].x")),
        ("b[i]", "ignore", "b[i]", ("what cannot be taken",)),
        ("b[i]", "proceed", "c", ("when an event begins c",)),
        ("c", "take", "match", ("C c",)),
    ]


def test_strict_contiguity_ignores_nothing() -> None:
    _, automaton = augury.explain("SEQ(A a, B b) WHERE strict_contiguity {}", COLUMNS, plan="eager-nfa").diagrams()
    assert [kind for _, kind, _, _ in edges(automaton)] == ["begin", "take"]


def test_the_lazy_chain_with_what_was_expected_and_found() -> None:
    events = [{"ts": k, "type": "ABC"[k % 3], "k": "p", "x": k % 5} for k in range(60)]
    query = "SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 10 seconds"
    found = augury.match(events, query, plan="lazy-chain", order=["c", "a", "b"], counters=True)
    _, chain = augury.explain(found).diagrams()
    assert edges(chain) == [
        ("start", "take", "c", ("C c",)),
        ("start", "store", "start", ("A a", "B b")),
        ("c", "take", "c, a", ("A a", "before c", "a.x < c.x")),
        ("c", "store", "c", ("B b",)),
        ("c, a", "take", "match", ("B b", "after a and before c")),
    ]
    assert all(re.fullmatch(r"[\d.]+ expected, [\d.]+ found", node.note) for node in chain.nodes[1:])


def test_the_negated_part_of_a_chain_is_noted() -> None:
    _, chain = explained("lazy-chain").diagrams()
    assert chain.notes == ("rejected by D d after a, b and before c",)


def test_the_automaton_of_sets_has_a_state_for_each_set() -> None:
    _, automaton = explained("event-sets").diagrams()
    assert [node.lines[0] for node in automaton.nodes] == ["∅", "a", "b+", "a, b+", "a, b+, c"]
    assert ("a, b+", "take", "a, b+, c", ("C c",)) in edges(automaton)
    assert ("b+", "take", "b+", ("B b",)) in edges(automaton)
    assert "a: a.x > 3" in automaton.notes


def test_of_large_sets_the_order_is_drawn() -> None:
    parts = ", ".join(f"A v{k}" for k in range(6))
    text = f"SEQ(AND({parts}), B w) WHERE skip_till_next_match {{}} WITHIN 1 hour"
    _, automaton = augury.explain(text, COLUMNS, plan="event-sets").diagrams()
    assert len(automaton.nodes) == 7
    assert {target for _, _, target, _ in edges(automaton)} == {"B w"}


def test_linked_and_lossy_edges() -> None:
    _, chains = explained("linked").diagrams()
    assert edges(chains) == [("A a", "link", "B b", ("a.x < b.x",)), ("B b", "link", "C c", ())]
    _, observed = explained("lossy").diagrams()
    over_b = [lines for source, _, target, lines in edges(observed) if (source, target) == ("A a", "C c")]
    assert over_b
    assert over_b[0][0] == "b missing"
    assert over_b[0][1].startswith("score ≤ 0.")


def test_a_program_has_the_diagrams_of_every_query() -> None:
    program = augury.compile("SEQ(A a, B b) RETURN a.x AS x INTO P; SEQ(P p, C c)", COLUMNS)
    titles = [diagram.title for diagram in program.explain().diagrams()]
    assert titles[0] == "query 1 of 2: pattern"
    assert titles[2] == "query 2 of 2: pattern"


@pytest.mark.parametrize("family", FAMILIES)
def test_every_form_of_every_family(family: FamilyName) -> None:
    told = explained(family)
    assert isinstance(told, str)
    assert str(told).startswith(f"plan  {family}")
    assert (len(told.diagrams()) == 1) == (family == "reference")
    stated = json.loads(json.dumps(told.to_json()))
    assert stated["text"] == str(told)
    assert stated["plans"][0]["family"] == family
    assert len(stated["diagrams"]) == len(told.diagrams())
    assert told.to_mermaid().startswith("flowchart LR\n")
    assert told.to_mermaid().count("subgraph") == len(told.diagrams())
    assert all(MERMAID_LINE.fullmatch(line) for line in told.to_mermaid().splitlines())
    ElementTree.fromstring(told.to_svg())
    assert told.to_svg() in told._repr_html_()
    again = pickle.loads(pickle.dumps(told))
    assert (again, again.to_svg()) == (told, told.to_svg())


# -- where the time went -----------------------------------------------------------------------------------------------

EVENTS = [{"ts": k, "type": "ABC"[k % 3], "k": str(k % 9), "x": k % 5} for k in range(3_000)]
TIMED = "SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 1 minute"

IN_ORDER = [
    "reading",
    "planning",
    "compiling or loading",
    "encoding",
    "matching",
    "writing results",
    "everything else",
]


def table_of(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows)


def parquet_of(rows: list[dict[str, object]], folder: Path) -> Path:
    pq.write_table(table_of(rows), folder / "events.parquet", row_group_size=1_000)
    return folder / "events.parquet"


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("jit", [True, False])
def test_the_times_of_a_call_add_up_to_no_more_than_the_whole(jit: bool, threads: int, tmp_path: Path) -> None:
    for events in (EVENTS, table_of(EVENTS), parquet_of(EVENTS, tmp_path)):
        began = perf_counter()
        found = augury.match(events, TIMED, jit=jit, threads=threads)
        whole = perf_counter() - began
        told = augury.explain(found)
        names = [str(time.stage) for time in told.times]
        assert names == [name for name in IN_ORDER if name in names]
        assert {"reading", "planning", "compiling or loading", "encoding", "matching"} <= {*names}
        assert 0 < sum(time.seconds for time in told.times) <= whole
        rows = {str(time.stage): time.rows for time in told.times}
        assert rows["reading"] == 3_000
        assert rows["matching"] == rows["encoding"] > 0
        assert rows["planning"] == rows["compiling or loading"] == 0


def test_the_times_of_events_that_are_matched_while_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_scan, "MAX_WHOLE_ROWS", 1_000)
    began = perf_counter()
    found = augury.match(parquet_of(EVENTS, tmp_path), TIMED, threads=2)
    whole = perf_counter() - began
    times = {str(time.stage): time for time in augury.explain(found).times}
    assert times["reading"].rows == 3_000
    assert times["matching"].rows >= 3_000
    assert sum(time.seconds for time in times.values()) <= whole


def test_compiling_is_told_from_matching(tmp_path: Path) -> None:
    events = [{**event, "x": event["ts"]} for event in EVENTS]
    found = augury.match(events, "SEQ(A a, B b) WHERE b.x - a.x = 1 WITHIN 9 seconds", jit=True, cache_dir=tmp_path)
    times = {str(time.stage): time.seconds for time in augury.explain(found).times}
    assert times["compiling or loading"] > times["matching"]


def test_matches_that_are_written_later_add_to_the_time() -> None:
    found = augury.match(EVENTS, TIMED)
    before = augury.explain(found)
    assert found.to_arrow().num_rows == len(found)
    after = augury.explain(found)
    assert [time.rows for time in after.times if time.stage == "writing results"] == [len(found)]
    assert sum(time.seconds for time in before.times) < sum(time.seconds for time in after.times)


def test_every_query_has_the_times_of_its_own_run() -> None:
    found = augury.match_all(EVENTS, {"one": TIMED, "other": "SEQ(A a, B b) WITHIN 2 seconds"})
    one, other = (augury.explain(found[name]).times for name in ("one", "other"))
    assert one != other
    program = augury.compile(
        "SEQ(A a, B b) WITHIN 1 second RETURN a.x AS x INTO P; SEQ(P p, C c) WITHIN 1 second", EVENTS
    )
    first, second = (augury.explain(matches).times for matches in program.match_each(EVENTS))
    assert first == second != ()


def test_the_times_are_in_every_form() -> None:
    told = augury.explain(augury.match(EVENTS, TIMED))
    _, times = str(told).split("where the time went\n")
    lines = [re.split(r"  +", line.strip()) for line in times.splitlines()]
    assert [line[0] for line in lines] == [*(str(time.stage) for time in told.times), "in all"]
    assert all(re.fullmatch(r"[\d.e-]+ m?s", line[1]) for line in lines)
    assert lines[0][3] == "3,000 events"
    stated = json.loads(json.dumps(told.to_json()))["times"]
    assert stated == [{"stage": t.stage, "seconds": t.seconds, "rows": t.rows} for t in told.times]
    assert "where the time went</th>" in told._repr_html_()
    assert pickle.loads(pickle.dumps(told)).times == told.times


def test_without_a_call_there_are_no_times() -> None:
    told = augury.explain(TIMED, COLUMNS)
    assert (told.times, told.to_json()["times"]) == ((), [])
    assert "where the time went" not in str(told) + told._repr_html_()
    syntax = augury.explain(augury.match(EVENTS, TIMED), stage="syntax")
    assert syntax.times
    assert "where the time went" not in str(syntax) + syntax._repr_html_().split("<details>")[0]


# -- the picture -------------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """The rectangles of nodes: those with round corners and a ground of their own."""
    found = [r.attrib for r in ElementTree.fromstring(svg).iter(f"{SVG}rect")]
    return [
        (float(r["x"]), float(r["y"]), float(r["x"]) + float(r["width"]), float(r["y"]) + float(r["height"]))
        for r in found
        if "rx" in r and r["fill"] != "none"
    ]


def texts(svg: str) -> list[tuple[float, float, float, str]]:
    """The left and right end and the height of each text, about as wide as it is drawn."""
    found = []
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        width = len(text.text or "") * float(text.attrib["font-size"]) * 0.6
        x = float(text.attrib["x"])
        left = x if text.attrib["text-anchor"] == "start" else x - width / 2
        found.append((left, left + width, float(text.attrib["y"]), text.text or ""))
    return found


def assert_well_laid_out(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for (a, b, c, d), (p, q, r, s) in combinations(boxes(svg), 2):
        assert c <= p or r <= a or d <= q or s <= b, "two nodes lie upon one another"
    for a, b, c, d in boxes(svg):
        assert a >= 0
        assert b >= 0
        assert c <= width
        assert d <= height
    for left, right, y, text in texts(svg):
        assert left >= 0, text
        assert right <= width + 1, text
        assert 0 < y < height, text


@pytest.mark.parametrize("family", FAMILIES)
def test_nodes_lie_apart_and_texts_inside_the_picture(family: FamilyName) -> None:
    assert_well_laid_out(explained(family).to_svg())


@settings(PLAIN, max_examples=15)
@given(text=queries())
def test_pictures_of_random_queries(text: str) -> None:
    assert_well_laid_out(augury.explain(text, SCHEMA).to_svg())


def test_labels_of_a_chain_do_not_overlap() -> None:
    svg = explained("lazy-chain").to_svg()
    rows: dict[float, list[tuple[float, float]]] = {}
    for left, right, y, _ in texts(svg):
        rows.setdefault(y, []).append((left, right))
    for row in rows.values():
        assert all(right <= left for (_, right), (left, _) in pairwise(sorted(row)))


# -- hostile text ------------------------------------------------------------------------------------------------------

TAG = '<script>alert("x")</script>'
HOSTILE = pa.schema([("ts", pa.int64()), ("type", pa.string()), (TAG, pa.int64()), ("]]>&amp;", pa.string())])
HOSTILE_QUERY = (
    f"SEQ(`{TAG}` `a</svg>`, `end\"];click` b) WHERE `a</svg>`.`{TAG}` < b.`{TAG}` AND b.`]]>&amp;` != '\x1b[2J'"
)

PLAIN_TEXT = r"(?:[A-Za-z0-9 .,:_\-=+*/'!?]|#\d+;|<br/>)*"
NODE = r"d\d+n\d+"
MERMAID_LINE = re.compile(
    rf'flowchart LR|  end|  subgraph d\d+\["{PLAIN_TEXT}"\]'
    rf'|    {NODE}(?:\(\["{PLAIN_TEXT}"\]\)|\["{PLAIN_TEXT}"\]|\(\(\("{PLAIN_TEXT}"\)\)\))'
    rf'|    {NODE} (?:-->|-\.->|-\.-)(?:\|"{PLAIN_TEXT}"\|)? {NODE}'
)


@pytest.mark.parametrize("family", ["eager-nfa", "lazy-chain"])
def test_hostile_names_stay_text(family: FamilyName) -> None:
    told = augury.explain(HOSTILE_QUERY, HOSTILE, plan=family)
    root = ElementTree.fromstring(told.to_svg())
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {"svg", "rect", "text", "path", "polygon"}
    assert any("<script>" in (element.text or "") for element in root.iter())
    page = told._repr_html_()
    assert "<script" not in page
    assert page.count("</svg>") == 1
    mermaid = told.to_mermaid()
    assert "<script" not in mermaid
    assert all(MERMAID_LINE.fullmatch(line) for line in mermaid.splitlines())
    assert json.loads(json.dumps(told.to_json()))["text"] == str(told)
    assert "\x1b" not in told.to_svg() + page + mermaid


@pytest.mark.parametrize("text", [TAG, "`code`", "a\nb", "#35;", '"]', "end", "A --> B", "%% c", "x;y", "ä|ö"])
def test_mermaid_sees_only_plain_characters(text: str) -> None:
    written = quoted(text)
    assert re.fullmatch(r"(?:[A-Za-z0-9 .,:_\-=+*/'!?]|#\d+;)*", written)
    shown = re.sub(r"#(\d+);", lambda m: chr(int(m[1])), written)
    assert shown == text.replace("\n", "\\n")


def test_a_picture_of_nothing() -> None:
    ElementTree.fromstring(to_svg([], "nothing"))
