"""What a page holds, without looking at it: counts, lanes, values, and what cannot be drawn."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury.view.scene import MAX_LANES, scene

EVENTS = [
    {"ts": 1, "type": "Shelf", "tag": "razor", "weight": 0.5},
    {"ts": 2, "type": "Shelf", "tag": "jam", "weight": None},
    {"ts": 5, "type": "Register", "tag": "jam", "weight": 1.5},
    {"ts": 7, "type": "Exit", "tag": "jam", "weight": 1.5},
    {"ts": 9, "type": "Exit", "tag": "razor", "weight": 0.5},
    {"ts": 3, "type": "Door", "tag": None, "weight": None},
]
THEFT = "PATTERN SEQ(Shelf s, NOT(Register r), Exit e) WHERE [tag] WITHIN 12 hours"


def test_lanes_by_type_in_the_order_of_the_pattern_and_by_key() -> None:
    shown = scene(augury.match(EVENTS, THEFT), 100, 100)
    by_type, by_key, by_both = shown.lanes
    assert by_type.labels == ["Shelf", "Register", "Exit", "Door"]
    assert [by_type.labels[k] for k in by_type.lane] == ["Shelf", "Shelf", "Door", "Register", "Exit", "Exit"]
    # Keys with matches come first.
    assert (by_key.title, by_key.labels) == ("tag", ["razor", "jam", "(none)"])
    assert by_both.labels[:2] == ["razor · Shelf", "razor · Exit"]


def test_events_in_order_of_time_and_what_matches_bind() -> None:
    shown = scene(augury.match(EVENTS, THEFT), 100, 100)
    assert shown.time.tolist() == [1, 2, 3, 5, 7, 9]
    assert (shown.bound.tolist(), shown.offsets.tolist()) == ([0, 5], [0, 2])
    assert [shown.variables[k] for k in shown.variable] == ["s", "e"]
    assert (shown.start.tolist(), shown.end.tolist(), shown.duration.tolist()) == ([1], [9], [8])


def test_values_are_numbers_or_texts_with_nulls() -> None:
    tag, weight = (c for c in scene(augury.match(EVENTS, THEFT), 100, 100).columns if c.name in ("tag", "weight"))
    assert tag.texts is not None
    assert [None if k < 0 else tag.texts[int(k)] for k in tag.numbers] == ["razor", "jam", None, "jam", "jam", "razor"]
    assert weight.texts is None
    np.testing.assert_array_equal(weight.numbers, [0.5, np.nan, np.nan, 1.5, 1.5, 0.5])


def test_integers_that_a_browser_would_round_are_texts() -> None:
    events = [{"ts": 1, "type": "A", "id": 2**60 + 1}]
    (column,) = (c for c in scene(augury.match(events, "SEQ(A a)"), 100, 100).columns if c.name == "id")
    assert column.texts == [str(2**60 + 1)]


def test_times_are_milliseconds_since_1970() -> None:
    events = [{"ts": "1970-01-01T00:00:01.5", "type": "A"}, {"ts": "1970-01-01T00:01:01.5", "type": "B"}]
    shown = scene(augury.match(events, "SEQ(A a, B b)"), 100, 100)
    assert shown.is_datetime
    assert shown.time.tolist() == [1500, 61500]
    assert shown.duration.tolist() == [60]


def test_more_than_fits_is_thinned_evenly_and_the_title_says_so() -> None:
    pytest.importorskip("bokeh")
    events = [{"ts": t, "type": "AB"[t % 2]} for t in range(2000)]
    matches = augury.match(events, "PATTERN SEQ(A a, B b) WHERE strict_contiguity {} WITHIN 10 seconds")
    page = matches.show(max_events=100, max_matches=10)
    assert page.title == "10 of 1,000 matches in 100 of 2,000 events"
    shown = scene(matches, 100, 10)
    assert shown.start.tolist() == list(range(0, 2000, 200))
    # Events of the matches that are shown are there.
    assert shown.time[shown.bound].tolist() == [t + k for t in range(0, 2000, 200) for k in (0, 1)]
    assert shown.time[-1] > 1900


def test_compressed_matches_are_not_written_out() -> None:
    events = [{"ts": i, "type": "A"} for i in range(50)] + [{"ts": 50, "type": "B"}]
    matches = augury.match(events, "SEQ(A+ a[], B b)", compressed=True)
    shown = scene(matches, 100, 20)
    assert shown.matches_found == 2**50 - 1
    assert len(shown.start) <= 20


def test_further_keys_share_a_lane() -> None:
    events = [{"ts": t, "type": "AB"[t % 2], "k": t // 2} for t in range(200)]
    _, by_key, *_ = scene(augury.match(events, "PATTERN SEQ(A a, B b) WHERE [k]"), 1000, 1000).lanes
    assert len(by_key.labels) == MAX_LANES + 1
    assert by_key.labels[-1] == "60 others"
    assert by_key.lane.max() == MAX_LANES


def test_count_is_drawn_at_the_event_that_completes() -> None:
    events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "A"}, {"ts": 3, "type": "B"}]
    shown = scene(augury.match(events, "PATTERN SEQ(A a, B b) OUTPUT COUNT"), 100, 100)
    assert shown.time[shown.bound].tolist() == [3]
    assert shown.values == [("count", ["2"])]


def test_returned_values_belong_to_the_match() -> None:
    shown = scene(augury.match(EVENTS, THEFT + " RETURN s.tag AS item, e.ts - s.ts AS took"), 100, 100)
    assert shown.values == [("item", ["razor"]), ("took", ["8"])]


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_no_events_and_no_columns() -> None:
    pytest.importorskip("bokeh")
    table = pa.table({"ts": pa.array([], pa.int64()), "type": pa.array([], pa.string())})
    assert augury.match(table, "SEQ(A a)").show().title == "0 matches in 0 events"
    with pytest.raises(augury.HostError, match="A642"):
        augury.match([], "SEQ(A a)").show()


def test_limits_are_positive() -> None:
    with pytest.raises(augury.HostError, match="A643"):
        augury.match(EVENTS, THEFT).show(max_matches=0)


def test_a_page_that_cannot_be_written(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    with pytest.raises(augury.HostError, match="A641"):
        augury.match(EVENTS, THEFT).show().save(tmp_path / "nowhere" / "page.html")


def test_notebooks_show_the_page_in_a_frame_of_its_own() -> None:
    pytest.importorskip("bokeh")
    page = augury.match(EVENTS, THEFT).show()
    frame = page._repr_html_()
    assert frame.startswith("<iframe srcdoc=")
    # The page is one attribute: its quotes are escaped, so that nothing of it ends the attribute.
    assert frame.count('"') == 6
    assert repr(page) == "<page: 1 match in 6 events; save it with .save('page.html')>"


def test_without_bokeh_the_error_names_the_extra() -> None:
    program = (
        "import sys; sys.modules['bokeh'] = None\n"
        "import augury\n"
        "augury.match([{'ts': 1, 'type': 'A'}], 'SEQ(A a)').show()"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "error[A640]: pages are drawn with bokeh" in ran.stderr
    assert "pip install 'augury[view]'" in ran.stderr


def test_bokeh_is_not_imported_with_augury() -> None:
    program = "import augury, sys; sys.exit('bokeh' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_page_holds_nothing_of_other_packages_that_extend_bokeh() -> None:
    """Panel brings scripts that load more scripts, which the page forbids."""
    pytest.importorskip("panel")
    program = (
        "import augury, re\n"
        "events = [{'ts': 1, 'type': 'A'}, {'ts': 2, 'type': 'B'}]\n"
        "page = lambda: re.sub(r'p[0-9]{4}', 'p', augury.match(events, 'SEQ(A a, B b)').show().html)\n"
        "before = page()\n"
        "import panel\n"
        "assert page() == before"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_automaton_of_the_query_stands_beside_it() -> None:
    pytest.importorskip("bokeh")
    matches = augury.match(EVENTS, THEFT, plan="eager-nfa")
    page = matches.show().html
    (picture,) = re.findall(r'<div id="automaton">(<svg .*</svg>)</div>', page)
    words = [text.text for text in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == "eager-nfa, automaton"
    assert "Shelf s" in words
    assert "rejected by Register r after s and before e" in words


def test_a_query_without_an_automaton_shows_its_pattern() -> None:
    pytest.importorskip("bokeh")
    page = augury.match(EVENTS, THEFT, plan="reference").show().html
    assert ">pattern</text>" in page


def test_hostile_names_in_the_automaton_stay_text() -> None:
    pytest.importorskip("bokeh")
    tag = "<script>alert(1)</script>"
    events = [{"ts": 1, "type": tag, "x": 1}, {"ts": 2, "type": "B", "x": 2}]
    page = augury.match(events, f"SEQ(`{tag}` `</svg>`, B b) WHERE `</svg>`.x < b.x").show().html
    assert tag not in page
    assert page.count("</svg></div>") == 1
