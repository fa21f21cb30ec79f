"""The page in a real browser: no errors, no network, clicks, the filter, and hostile values that stay text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury
from tests.browser import HOSTILE, NEEDS_BROWSER, browser, complaints, fetched, forget_logs, wait

pytestmark = NEEDS_BROWSER
pytest.importorskip("bokeh")
pytest.importorskip("selenium")


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def look(driver: Any, page: Path) -> None:
    """Open a page and wait until it has been drawn; what was logged before is forgotten."""
    forget_logs(driver)
    driver.get(page.as_uri())
    wait(driver, "document.documentElement.dataset.ready === 'yes' && Bokeh.documents.every(d => d.is_idle)")


def quiet(driver: Any, page: Path) -> None:
    """Nothing was complained about on the console, and nothing fetched but the page itself."""
    assert complaints(driver) == []
    assert fetched(driver) == [page.as_uri()]


def text(driver: Any, id: str) -> str:
    return str(driver.execute_script(f"return document.getElementById('{id}').innerText"))


def data(driver: Any, source: str) -> Any:
    """What a source of the drawing holds at the moment."""
    code = (
        f"const d = Bokeh.documents[0].get_model_by_name('{source}').data;"
        "const plain = x => ArrayBuffer.isView(x) ? [...x] : x;"
        "return Object.fromEntries(Object.entries(d).map(([k, v]) => [k, Array.from(v, plain)]))"
    )
    return driver.execute_script(code)


def click_at(driver: Any, x: float, y: float) -> None:
    """Click where the lanes show this place."""
    from selenium.webdriver.common.action_chains import ActionChains

    code = f"""
        const plot = Bokeh.documents[0].get_model_by_name('lanes'), view = Bokeh.index.find_one(plot);
        const box = view.el.getBoundingClientRect(), frame = view.frame;
        return [box.left + frame.x_scale.compute({x}), box.top + frame.y_scale.compute({y})]
    """
    left, top = driver.execute_script(code)
    # Two clicks in quick succession would be a double click.
    actions: Any = ActionChains(driver).pause(0.6)
    actions.w3c_actions.pointer_action.move_to_location(int(left), int(top))
    actions.click().perform()


def filter_by(driver: Any, value: str, shown: str) -> None:
    """Type into the filter, and wait until the page says that it shows this."""
    code = (
        "const i = document.getElementById('filter-value'); i.value = arguments[0]; i.dispatchEvent(new Event('input'))"
    )
    driver.execute_script(code, value)
    wait(driver, f"document.getElementById('state').innerText.startsWith({json.dumps(shown)})")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that the command line wrote."""
    root = Path(__file__).parents[2]
    page = tmp_path_factory.mktemp("pages") / "shop.html"
    example = root / "examples" / "shoplifting"
    command = ["view", str(example / "shoplifting.augury"), str(example / "readings.jsonl"), "-o", str(page)]
    ran = subprocess.run([sys.executable, "-m", "augury.cli", *command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, f"{page}: 7 matches in 2,167 events\n")
    return page


def test_a_page_is_drawn_without_errors_and_without_network(chromium: Any, shop: Path) -> None:
    look(chromium, shop)
    assert chromium.title == "7 matches in 2,167 events"
    assert "In view: 2,167 events, 7 matches" in text(chromium, "state")
    assert len(data(chromium, "events")["x"]) == 2167
    assert len(data(chromium, "links")["xs"]) == 7
    assert sum(data(chromium, "over_time_bars")["top"]) == 7
    assert text(chromium, "query") == _shop_inputs()[1].read_text(encoding="utf-8").strip()
    assert "rejected by Register r after s and before e" in text(chromium, "automaton")
    quiet(chromium, shop)


def test_a_click_on_a_match_highlights_its_events_and_shows_their_values(chromium: Any, shop: Path) -> None:
    look(chromium, shop)
    assert data(chromium, "chosen")["x"] == []
    links = data(chromium, "links")
    (x1, x2), (y1, y2) = links["xs"][3], links["ys"][3]
    click_at(chromium, (x1 + x2) / 2, (y1 + y2) / 2)
    wait(chromium, "document.getElementById('match-number').innerText === '4 of 7'")
    assert data(chromium, "chosen") == {"x": [x1, x2], "y": [y1, y2], "label": ["s", "e"]}
    details = text(chromium, "details")
    expected = augury.match(*_shop_inputs())[3]
    assert expected.events["s"]["tag"] in details
    assert expected.events["e"]["reader"] in details
    assert [line for line in details.splitlines() if line in ("s: Shelf", "e: Exit")] == ["s: Shelf", "e: Exit"]
    quiet(chromium, shop)


def _shop_inputs() -> tuple[Path, Path]:
    example = Path(__file__).parents[2] / "examples" / "shoplifting"
    return example / "readings.jsonl", example / "shoplifting.augury"


def test_a_click_on_an_event_shows_its_match_or_that_it_has_none(chromium: Any, tmp_path: Path) -> None:
    events = [{"ts": 1, "type": "A", "note": "first"}, {"ts": 2, "type": "B"}, {"ts": 5, "type": "C", "note": "alone"}]
    page = tmp_path / "page.html"
    augury.match(events, "SEQ(A a, B b)").show().save(page)
    look(chromium, page)
    drawn = data(chromium, "events")
    click_at(chromium, drawn["x"][2], drawn["y"][2])
    wait(chromium, "document.getElementById('details').innerText.includes('in no match')")
    assert "alone" in text(chromium, "details")
    click_at(chromium, drawn["x"][0], drawn["y"][0])
    wait(chromium, "document.getElementById('match-number').innerText === '1 of 1'")
    assert "first" in text(chromium, "details")


def test_the_filter_keeps_matches_with_such_a_value(chromium: Any, shop: Path) -> None:
    look(chromium, shop)
    wanted = augury.match(*_shop_inputs())
    tag = wanted[0].events["s"]["tag"]
    readings = [e for e in _readings() if e["tag"] == tag]
    filter_by(chromium, tag, f"In view: {len(readings)} events, 1 match (filtered)")
    assert sum(data(chromium, "over_time_bars")["top"]) == 1
    filter_by(chromium, "no such value", "In view: 0 events, 0 matches (filtered)")
    column = list(_readings()[0]).index("rssi")
    chromium.execute_script(f"document.getElementById('filter-column').value = '{column}'")
    # A match with such an event is shown whole, so that its other event is there too.
    strong = {k for k, e in enumerate(_readings()) if e["rssi"] > -46}
    kept = [set(m.rows.values()) for m in wanted if strong & set(m.rows.values())]
    assert 0 < len(kept) < 7
    events = len(strong.union(*kept))
    filter_by(chromium, "> -46", f"In view: {events:,} events, {len(kept)} match")
    filter_by(chromium, "", "In view: 2,167 events, 7 matches.")
    quiet(chromium, shop)


def _readings() -> list[dict[str, Any]]:
    return [json.loads(line) for line in _shop_inputs()[0].read_text(encoding="utf-8").splitlines()]


def test_lanes_theme_and_steps(chromium: Any, shop: Path) -> None:
    look(chromium, shop)
    for mode in ("1", "2", "0"):
        code = (
            f"const s = document.getElementById('lane-mode'); s.value = '{mode}'; s.dispatchEvent(new Event('change'))"
        )
        chromium.execute_script(code)
        wait(chromium, "Bokeh.documents.every(d => d.is_idle)")
    assert max(data(chromium, "events")["y"]) < 3
    before = chromium.execute_script("return getComputedStyle(document.body).backgroundColor")
    chromium.execute_script("document.getElementById('theme').click()")
    assert chromium.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    chromium.execute_script("document.getElementById('previous').click()")
    assert text(chromium, "match-number") == "7 of 7"
    chromium.execute_script("document.getElementById('zoom').click()")
    wait(chromium, "!document.getElementById('state').innerText.includes('2,167')")
    chromium.execute_script("document.getElementById('reset').click()")
    wait(chromium, "document.getElementById('state').innerText.includes('2,167')")
    quiet(chromium, shop)


def test_hostile_values_stay_text(chromium: Any, tmp_path: Path) -> None:
    events = [
        {"ts": t, "type": kind, "key": value, f"col {value}": value}
        for t, value in enumerate(HOSTILE)
        for kind in ("A", value)
    ]
    query = (
        f"PATTERN SEQ(A a, `{HOSTILE[0]}` `{HOSTILE[1]}`) WHERE [key] -- {HOSTILE[1]}\nRETURN a.key AS `{HOSTILE[0]}`"
    )
    matches = augury.match([{**e, "ts": 2 * k} for k, e in enumerate(events)], query)
    assert len(matches) == 1
    page = tmp_path / "page.html"
    matches.show().save(page)
    look(chromium, page)
    chromium.execute_script("document.getElementById('next').click()")
    details = text(chromium, "details")
    assert details.count(HOSTILE[0]) >= 4
    assert f"{HOSTILE[1]}: {HOSTILE[0]}" in details
    assert HOSTILE[1] in text(chromium, "query")
    drawn = data(chromium, "events")
    for k, value in enumerate(HOSTILE):
        position = drawn["event"].index(2 * k + 1)
        click_at(chromium, drawn["x"][position], drawn["y"][position])
        shown = value.replace("\u202e", "\\u202e").replace("\u2028", "\\u2028").replace("\x00", "\\x00")
        wait(chromium, f"document.getElementById('details').textContent.includes({json.dumps(shown)})")
    for mode in ("1", "2", "0"):
        code = (
            f"const s = document.getElementById('lane-mode'); s.value = '{mode}'; s.dispatchEvent(new Event('change'))"
        )
        chromium.execute_script(code)
        wait(chromium, "Bokeh.documents.every(d => d.is_idle)")
    assert chromium.title == "1 match in 12 events"
    assert chromium.execute_script("return document.querySelectorAll('img, a[href]').length") == 0
    # The only picture is the automaton, and nothing in it but shapes and texts.
    pictures = "return [...document.querySelectorAll('svg')].map((svg) => svg.parentNode.id)"
    assert chromium.execute_script(pictures) == ["automaton"]
    inside = "return [...new Set([...document.querySelectorAll('#automaton svg *')].map((e) => e.tagName))].sort()"
    assert set(chromium.execute_script(inside)) <= {"path", "polygon", "rect", "text"}
    assert f"{HOSTILE[0]} {HOSTILE[1]}"[:20] in text(chromium, "automaton")
    assert "\u202e" not in page.read_text(encoding="utf-8")
    quiet(chromium, page)


def test_the_frame_of_a_notebook(chromium: Any, tmp_path: Path) -> None:
    events = [{"ts": 1, "type": "A", "note": HOSTILE[1]}, {"ts": 2, "type": "B", "note": HOSTILE[2]}]
    notebook = tmp_path / "notebook.html"
    frame = augury.match(events, "SEQ(A a, B b)").show()._repr_html_()
    notebook.write_text(f"<!DOCTYPE html><meta charset=utf-8><link rel=icon href=data:,><title>n</title>{frame}")
    chromium.get(notebook.as_uri())
    wait(chromium, "document.querySelector('iframe').contentDocument.documentElement.dataset.ready === 'yes'")
    chromium.switch_to.frame(0)
    assert "In view: 2 events, 1 match." in text(chromium, "state")
    chromium.switch_to.default_content()
    assert chromium.title == "n"


def test_as_many_events_as_a_page_holds_are_drawn_in_part(chromium: Any, tmp_path: Path) -> None:
    size = 100_000
    kinds = np.tile(["A", "B", "C", "C", "C", "C", "C", "C", "C", "C"], size // 10)
    table = pa.table({"ts": np.arange(size), "type": kinds, "price": np.arange(size) % 97})
    matches = augury.match(table, "PATTERN SEQ(A a, B b) WHERE strict_contiguity {} WITHIN 10 seconds")
    assert len(matches) == 10_000
    page = tmp_path / "page.html"
    matches.show().save(page)
    assert page.stat().st_size < 8_000_000
    look(chromium, page)
    # However far one zooms out, no more is drawn than a browser draws in a frame; all of it is there when one zooms in.
    assert text(chromium, "state").startswith("In view: 3,125 of 100,000 events drawn, 1,250 of 10,000 matches drawn")
    chromium.execute_script("Bokeh.documents[0].get_model_by_name('lanes').x_range.setv({start: 50000, end: 50999})")
    wait(chromium, "document.getElementById('state').innerText.startsWith('In view: 1,000 events, 100 matches')")
    assert sum(data(chromium, "over_time_bars")["top"]) == pytest.approx(100, abs=3)
    quiet(chromium, page)


def test_a_match_of_one_event_is_a_ring_around_it(chromium: Any, tmp_path: Path) -> None:
    events = [{"ts": 1, "type": "A"}, {"ts": 9, "type": "A"}, {"ts": 10, "type": "B"}]
    page = tmp_path / "silence.html"
    augury.match(events, "PATTERN SEQ(A a, NOT(B b)) WITHIN 5 seconds").show().save(page)
    look(chromium, page)
    rings = data(chromium, "rings")
    assert rings["x"] == [1]
    click_at(chromium, rings["x"][0], rings["y"][0])
    wait(chromium, "document.getElementById('match-number').innerText === '1 of 1'")
    quiet(chromium, page)
