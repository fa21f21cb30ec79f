"""The live view of a stream: its numbers, its table on a terminal, and its page in a real browser."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest
from rich.console import Console

from augury.cli.live import board_table, shown_live
from augury.engine import board as boards
from augury.engine.board import HEADER, KEPT_MATCHES, RULE_HEADER, BatchProgress, Board, RuleSpending
from tests.browser import HOSTILE, NEEDS_BROWSER, browser, complaints, fetched, forget_logs, wait


def told(query: str, batch: int, match: str | None = None, **more: Any) -> BatchProgress:
    counts: dict[str, Any] = {"seconds": 2.0, "events": 1_000, "matches": 4, "late": 1, "lag": 75.0}
    counts |= {"state_rows": 16, "state_bytes": 3 << 20}
    return BatchProgress(query=query, batch=batch, at=1_800_000_000.0 + batch, match=match, **counts | more)


@pytest.fixture
def board() -> Board:
    board = Board()
    for batch in range(3):
        board.tell(told("thefts", batch, match=HOSTILE[batch]))
    board.tell(told("quiet", 0, seconds=2.0, matches=0, lag=None))
    return board


def test_counts_are_added_up_and_rates_are_those_of_the_last_batch(board: Board) -> None:
    thefts, quiet = (dict(zip(HEADER, row, strict=True)) for row in board.rows())
    assert thefts == {
        "query": "thefts",
        "events": "3,000",
        "events/s": "500",
        "matches": "12",
        "matches/s": "2",
        "late": "3",
        "state": "16 (3.0 MiB)",
        "lag": "1.2 min",
        "seconds": "6.0",
        "share": "75%",
    }
    assert (quiet["matches"], quiet["lag"], quiet["share"]) == ("0", "", "25%")
    assert board.matches() == [("thefts", value) for value in reversed(HOSTILE[:3])]
    assert [len(points) for points in board.rates().values()] == [3, 1]


def spending(seconds: float, rule: str, **more: Any) -> BatchProgress:
    spent = RuleSpending(rule, seconds, events=1_000, partial_matches=3, matches=2, **more)
    return told("alerts", 0, rules=(spent, RuleSpending("cheap", 0.5, 10)), rule_seconds=4.0)


def test_what_rules_cost_is_added_up() -> None:
    board = Board()
    assert board.rules() == []
    board.tell(spending(1.5, HOSTILE[0], last_match="2026-01-01 00:00:09"))
    board.tell(spending(1.0, HOSTILE[0]))
    board.tell(told("quiet", 0))
    rows = [dict(zip(RULE_HEADER, row, strict=True)) for row in board.rules()]
    assert rows[0] == {
        "query": "alerts",
        "rule": HOSTILE[0],
        "events": "2,000",
        "partial matches": "3",
        "matches": "4",
        "last match": "2026-01-01 00:00:09",
        "seconds": "2.500",
        "share": "31.2%",
    }
    assert [(row["rule"], row["seconds"], row["share"]) for row in rows[1:]] == [
        ("cheap", "1.000", "12.5%"),
        ("all others", "4.500", "56.2%"),
    ]
    assert RuleSpending("a", 1.0, 2, 3, 4, "x").beside(RuleSpending("a", 1.0, 2, 3, 4)) == RuleSpending(
        "a", 2.0, 4, 6, 8, "x"
    )


def test_only_the_costliest_of_ever_new_rules_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(boards, "KEPT_RULES", 30)
    board = Board()
    for k in range(200):
        board.tell(spending(100.0 if k == 5 else 1.0, f"rule {k}"))
    assert len(board._queries["alerts"].rules) <= 30
    assert [row[1] for row in board.rules()[:2]] == ["rule 5", "cheap"]
    assert len(board.rules()) == 21


def test_only_the_last_matches_are_kept() -> None:
    board = Board()
    for batch in range(100):
        board.tell(told("q", batch, match=str(batch)))
    assert [match for _, match in board.matches()] == [str(k) for k in range(99, 99 - KEPT_MATCHES, -1)]


def test_the_terminal_shows_the_same_as_text(board: Board) -> None:
    board.tell(told("[red]hostile[/red]", 0, match="\x1b[31m[bold]match"))
    board.tell(spending(1.5, "[bold]\x1b[31mrule"))
    out = Console(file=io.StringIO(), width=140, force_terminal=True, color_system=None)
    with shown_live(board, out) as redraw:
        redraw()
    out.print(board_table(board))
    assert isinstance(out.file, io.StringIO)
    text = out.file.getvalue()
    assert "500" in text
    assert "[red]hostile[/red]: \\x1b[31m[bold]match" in text
    assert "\x1b[31m" not in text
    assert "[bold]\\x1b[31mrule" in text


class TestPage:
    """In Chromium."""

    pytestmark: ClassVar[list[pytest.MarkDecorator]] = NEEDS_BROWSER

    @pytest.fixture
    def page(self, board: Board, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
        pytest.importorskip("panel")
        pytest.importorskip("selenium")
        from augury.serve.live import live_view

        with live_view(board, "Augury: <b>shop</b>") as address, browser(tmp_path_factory.mktemp("p")) as driver:
            forget_logs(driver)
            driver.get(address)
            wait(driver, "document.querySelector('.queries')?.shadowRoot.querySelector('table')")
            yield driver
            assert complaints(driver) == []
            assert [url for url in fetched(driver) if not url.startswith((address, "about:"))] == []

    def test_it_follows_the_stream_and_hostile_matches_stay_text(self, page: Any, board: Board) -> None:
        shown = "document.querySelector('.{}').shadowRoot.textContent"
        assert "3,000" in page.execute_script(f"return {shown.format('queries')}")
        last = page.execute_script(f"return {shown.format('last')}")
        assert all(value in last for value in HOSTILE[:3])
        assert not page.execute_script("return document.querySelector('.rules').shadowRoot.querySelector('table')")
        for rule in HOSTILE:
            board.tell(spending(1.5, rule))
        wait(page, f"{shown.format('rules')}.includes('cheap')")
        # The parser of HTML replaces a zero byte.
        costs = page.execute_script(f"return {shown.format('rules')}")
        assert all(value.replace("\x00", "") in costs.replace("\ufffd", "") for value in HOSTILE)
        board.tell(told("thefts", 3, match="the newest"))
        wait(page, f"{shown.format('queries')}.includes('4,000')")
        wait(page, f"{shown.format('last')}.includes('the newest')")
        assert page.title == "Augury: <b>shop</b>"
        assert "<b>shop</b>" in page.execute_script("return document.querySelector('h1').textContent")
        before = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        page.execute_script("document.getElementById('theme').click()")
        assert page.execute_script("return getComputedStyle(document.body).backgroundColor") != before
