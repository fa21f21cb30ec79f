"""The playground in a real browser: typing, errors, completion, running, stopping, and hostile values as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.browser import HOSTILE, NEEDS_BROWSER, browser, complaints, fetched, forget_logs, wait
from tests.serve.serving import playground

pytestmark = NEEDS_BROWSER
pytest.importorskip("panel")
pytest.importorskip("selenium")

READY = "window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle && document.querySelector('.editor')"
EDITOR = "document.querySelector('.editor').shadowRoot.querySelector('.ace_editor').env.editor"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with browser(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture(scope="module")
def hostile_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events whose columns, types and values are all hostile, and enough of them to make a pattern explode."""
    path = tmp_path_factory.mktemp("events") / "events.jsonl"
    column = f"col {HOSTILE[1]}"
    events = [{"ts": k, "type": ("A", value)[k % 2], column: value} for k, value in enumerate(HOSTILE * 2)]
    events += [{"ts": 1000 + k, "type": "A"} for k in range(300)]
    path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def address(hostile_events: Path) -> Iterator[str]:
    with playground(hostile_events, "--timeout", "3 seconds") as address:
        yield address


@pytest.fixture
def page(chromium: Any, address: str) -> Any:
    """The page as it is when it is opened; nothing is complained about by the time a test has ended."""
    forget_logs(chromium)
    chromium.get(address)
    wait(chromium, READY)
    yield chromium
    found = complaints(chromium)
    assert found == [], found[0]["message"][-600:]
    assert [url for url in fetched(chromium) if not url.startswith((address, "about:"))] == []


def part(name: str) -> str:
    """The inside of a component, in JavaScript."""
    return f"document.querySelector('.{name}').shadowRoot"


def text(driver: Any, name: str) -> str:
    """What a component says."""
    return "\n".join(driver.execute_script(f"return [...{part(name)}.querySelectorAll('pre')].map((p) => p.innerText)"))


def write(driver: Any, query: str) -> None:
    driver.execute_script(f"{EDITOR}.focus(); {EDITOR}.setValue(arguments[0], 1)", query)


def keys(driver: Any, *pressed: str) -> None:
    """Type as people do: one key after the other."""
    from selenium.webdriver.common.action_chains import ActionChains

    actions = ActionChains(driver)
    for key in (key for text in pressed for key in text):
        actions.send_keys(key).pause(0.1)
    actions.perform()


def run(driver: Any, query: str) -> None:
    """Write a query, and run it as one does with the keyboard."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    write(driver, query)
    ActionChains(driver).key_down(Keys.CONTROL).send_keys(Keys.ENTER).key_up(Keys.CONTROL).perform()


def shows(name: str, words: str) -> str:
    return f"{part(name)}.textContent.includes({json.dumps(words)})"


def turn_to(driver: Any, tab: str) -> None:
    code = f"[...{part('tabs')}.querySelectorAll('.bk-tab')].find((t) => t.textContent === arguments[0]).click()"
    driver.execute_script(code, tab)


def choose(driver: Any, name: str) -> None:
    choice = f"{part('subject')}.querySelector('select')"
    driver.execute_script(f"{choice}.value = arguments[0]; {choice}.dispatchEvent(new Event('change'))", name)


def test_an_error_appears_under_the_text_while_typing(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    write(page, "PATTERN SEQ(A a)\nWHERE ")
    keys(page, "a.tx > 3", Keys.ESCAPE)
    wait(page, shows("mistakes", "error[A202]: the events have no attribute `tx`"))
    assert "^^^^ unknown attribute" in text(page, "mistakes")
    marks = f"return {EDITOR}.session.getAnnotations().map((a) => [a.row, a.type])"
    wait(page, f"{EDITOR}.session.getAnnotations().length === 1")
    assert page.execute_script(marks) == [[1, "error"]]
    keys(page, *[Keys.BACKSPACE] * 5, "s > 3", Keys.ESCAPE)
    wait(page, f"{part('mistakes')}.textContent.includes('error[') === false")
    assert page.execute_script(f"return {EDITOR}.getValue()") == "PATTERN SEQ(A a)\nWHERE a.ts > 3"


def test_columns_and_types_are_completed(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    write(page, "PATTERN SEQ(A a)\nWHERE ")
    keys(page, "a.t")
    # Behind a dot only columns are offered, with their types: no functions, although most have a `t`.
    offered = "document.querySelector('.ace_autocomplete')?.textContent"
    wait(page, f"{offered}?.includes('integer') && !{offered}.includes('function')")
    keys(page, Keys.ESCAPE)
    write(page, "PATTERN SEQ(A a)\n")
    keys(page, "skip")
    wait(page, "document.querySelector('.ace_autocomplete')?.textContent.includes('skip_till_any_match')")
    keys(page, Keys.ENTER)
    assert page.execute_script(f"return {EDITOR}.getValue()").startswith("PATTERN SEQ(A a)\nskip_till_")


def test_the_language_has_colours(page: Any) -> None:
    write(page, "PATTERN SEQ(Shelf s, Exit e)\nWITHIN 12 hours -- and no more\nRETURN s.x")
    code = f"return [0, 1, 2].map((k) => {EDITOR}.session.getTokens(k).map((t) => [t.type, t.value]))"
    first, second, third = page.execute_script(code)
    assert [token for token in first if token[0] == "keyword"] == [["keyword", "PATTERN"], ["keyword", "SEQ"]]
    assert ["support.type", "Shelf"] in first
    assert ["constant.numeric", "12"] in second
    assert ["support.constant", "hours"] in second
    assert second[-1] == ["comment", "-- and no more"]
    # A variable that is called as a unit of time is no unit.
    assert ["variable", "s"] in third


def test_a_query_shows_its_matches_plan_picture_and_why_not(page: Any) -> None:
    choose(page, "shoplifting")
    wait(page, f"{EDITOR}.getValue().includes('Register')")
    run(page, page.execute_script(f"return {EDITOR}.getValue()"))
    wait(page, shows("state", "7 matches in 2,167 events"))
    turn_to(page, "Plan")
    wait(page, "document.querySelector('.tabs') && " + _inside("svg"))
    turn_to(page, "Picture")
    wait(page, _inside("iframe"))
    # It has an origin of its own: nothing in it reaches this page.
    assert page.execute_script(f"return {_found('iframe')}.getAttribute('sandbox')") == "allow-scripts"
    page.switch_to.frame(page.execute_script(f"return {_found('iframe')}"))
    wait(page, "document.documentElement.dataset.ready === 'yes'")
    assert page.execute_script("return document.title") == "7 matches in 2,167 events"
    page.switch_to.default_content()
    run(page, "PATTERN SEQ(Shelf s, Exit e) WHERE s.rssi > 100")
    wait(page, shows("state", "0 matches in 2,167 events"))
    wait(page, _deep("s.rssi > 100 is not true"))


def _found(tag: str) -> str:
    """The first such element inside the tabs, however deep, in JavaScript."""
    inside = "[...(n.shadowRoot?.children ?? []), ...n.children].map(f).find(Boolean)"
    return f"((f = (n) => n.matches?.('{tag}') ? n : {inside}) => f(document.querySelector('.tabs')))()"


def _inside(tag: str) -> str:
    return f"!!{_found(tag)}"


def _deep(words: str) -> str:
    """Whether the tabs show these words, however deep, in JavaScript."""
    inside = "[...(n.shadowRoot?.childNodes ?? []), ...n.childNodes].map(f).join(' ')"
    walk = f"(n) => n.nodeName === 'STYLE' ? '' : n.nodeType === 3 ? n.data : {inside}"
    return f"((f = {walk}) => f(document.querySelector('.tabs')))().includes({json.dumps(words)})"


def test_sql_runs_beside_patterns(page: Any) -> None:
    code = f"[...{part('language')}.querySelectorAll('button')].find((b) => b.textContent === 'SQL').click()"
    page.execute_script(code)
    wait(page, f"{EDITOR}.getValue().includes('MATCH_RECOGNIZE')")
    run(page, "SELECT count(*) AS n, max(ts) AS last FROM events")
    wait(page, shows("state", "1 row in"))
    wait(page, _deep("1299"))


def test_a_query_that_takes_too_long_is_stopped_and_the_page_goes_on(page: Any) -> None:
    run(page, "PATTERN SEQ(A+ a[], A b)")
    wait(page, shows("run", "Running"))
    # While it runs the page answers.
    write(page, "PATTERN SEQ(A a")
    wait(page, shows("mistakes", "error[A1"))
    wait(page, shows("state", "error[A56"))
    wait(page, f"!{part('run')}.querySelector('button').disabled")
    run(page, "PATTERN SEQ(A a) WHERE a.ts = 1000")
    wait(page, shows("state", "1 match in 312 events"))


def test_hostile_values_stay_text(page: Any) -> None:
    column, kind = f"`col {HOSTILE[1]}`", f"`{HOSTILE[1]}`"
    returned = f"RETURN a.{column} AS `{HOSTILE[1]}`, b.{column} AS v"
    run(page, f"PATTERN SEQ(A a, {kind} b) WHERE strict_contiguity {{ b.ts < 2 }} {returned}")
    wait(page, shows("state", "1 match in 312 events"))
    wait(page, _deep(HOSTILE[0]))
    # As the title of a column, too.
    wait(page, _deep(HOSTILE[1]))
    for tab in ("Plan", "Why not", "Events", "Picture"):
        turn_to(page, tab)
        wait(page, _inside({"Plan": "svg", "Why not": "table", "Events": ".listing", "Picture": "iframe"}[tab]))
    turn_to(page, "Events")
    for shown in HOSTILE[:4]:
        wait(page, _deep(shown))
    write(page, f"PATTERN SEQ({kind} b) WHERE b.`{HOSTILE[0]}` > 1")
    wait(page, shows("mistakes", HOSTILE[0]))
    assert page.title == "Augury playground"
    assert page.execute_script(f"return {_inside('img')} || {_inside('script')}") is False


def test_light_and_dark(page: Any) -> None:
    colour = "getComputedStyle(document.body).backgroundColor"
    before = page.execute_script(f"return {colour}")
    page.execute_script("document.getElementById('theme').click()")
    assert page.execute_script(f"return {colour}") != before


def test_a_foreign_page_reaches_nothing(chromium: Any, address: str) -> None:
    """A page of another origin, in the same browser: it can neither embed, nor read, nor talk to the playground."""

    class Foreign(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><link rel=icon href=data:,><title>foreign</title>")

        def log_message(self, format: str, *arguments: Any) -> None:
            """Tests say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        chromium.get(f"http://127.0.0.1:{server.server_port}/")
        chromium.set_script_timeout(60)
        code = """
            const [address, done] = arguments, results = {};
            const fetched = fetch(address).then(() => 'read', () => 'refused');
            const opaque = new Promise((told) => {
                const script = document.createElement('script');
                script.onload = () => told('loaded'); script.onerror = () => told('refused');
                script.src = address + 'static/js/bokeh.min.js'; document.head.append(script);
            });
            const socket = new Promise((told) => {
                const talk = new WebSocket(address.replace('http', 'ws') + 'ws');
                talk.onopen = () => told('open'); talk.onerror = () => told('refused');
            });
            Promise.all([fetched, opaque, socket]).then(done);
        """
        assert chromium.execute_async_script(code, address) == ["refused", "refused", "refused"]
    finally:
        server.shutdown()
        server.server_close()
