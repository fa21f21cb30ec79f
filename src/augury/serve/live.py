"""The live view: a page on the progress of a running pipeline, and its server."""

from __future__ import annotations

import asyncio
import html
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import panel as pn
from bokeh.models import ColumnDataSource, DataRange1d
from bokeh.models.annotations import Title
from bokeh.plotting import figure
from tornado.ioloop import IOLoop

from augury.engine.board import HEADER, RULE_HEADER, Board
from augury.serve.resources import page_template, resource
from augury.serve.server import page_server
from augury.view.drawing import COLOURS

REFRESH_MILLISECONDS = 1_000

AXIS_COLOUR = "#808a9c"
"""Colour of axes, readable on light and dark backgrounds."""

START_SECONDS = 30.0  # until the server must listen


class LiveView:
    """The page of one visit."""

    def __init__(self, board: Board, title: str) -> None:
        self.board, self.title = board, title
        style = {"stylesheets": [resource("parts.css")], "margin": 0, "sizing_mode": "stretch_width"}
        self.queries = pn.pane.HTML("", css_classes=["queries"], **style)
        self.rules = pn.pane.HTML("", css_classes=["rules"], **style)
        self.last = pn.pane.HTML("", css_classes=["last"], **style)
        self.lines = [ColumnDataSource({"xs": [], "ys": [], "colour": [], "query": []}) for _ in range(2)]
        self.refresh()

    def refresh(self) -> None:
        """Show the current state of the board."""
        rows = self.board.rows()
        none = '<div class="quiet">No micro-batch has ended yet.</div>'
        self.queries.object = _table(HEADER, rows, COLOURS) if rows else none
        rules = self.board.rules()
        self.rules.object = _table(RULE_HEADER, rules) if rules else ""
        matches = self.board.matches()
        self.last.object = _table(("query", "last matches"), matches) if matches else ""
        rates = self.board.rates()
        for place, source in enumerate(self.lines, start=1):
            source.data = {
                "xs": [[point[0] * 1000 for point in points] for points in rates.values()],
                "ys": [[point[place] for point in points] for points in rates.values()],
                "colour": [COLOURS[k % len(COLOURS)] for k in range(len(rates))],
                "query": list(rates),
            }

    def page(self) -> Any:
        """The layout of the page, refreshed while it is open."""
        page = page_template("live.html")
        page.add_panel("queries", self.queries)
        page.add_panel("rules", self.rules)
        page.add_panel("last", self.last)
        for name, source in zip(("events", "matches"), self.lines, strict=True):
            page.add_panel(
                name, pn.pane.Bokeh(_plot(f"{name} a second", source), sizing_mode="stretch_width", margin=0)
            )
        page.add_variable("heading", html.escape(self.title))
        pn.state.add_periodic_callback(self.refresh, period=REFRESH_MILLISECONDS)
        return page


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], colours: Sequence[str] = ()) -> str:
    """Rows as an HTML table, marked with the colours of the plots; text from events is escaped."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = ""
    for k, row in enumerate(rows):
        mark = f'<i style="background:{colours[k % len(colours)]}"></i>' if colours else ""
        body += f"<tr><td>{mark}" + "</td><td>".join(map(html.escape, row)) + "</td></tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plot(title: str, source: ColumnDataSource) -> figure:
    plot = figure(
        x_axis_type="datetime",
        y_range=DataRange1d(start=0),
        height=200,
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
    )
    plot.title = Title(text=title, text_color=AXIS_COLOUR)
    plot.multi_line("xs", "ys", source=source, line_color="colour", line_width=2)
    plot.background_fill_color = plot.border_fill_color = plot.outline_line_color = None
    plot.axis.major_label_text_color = AXIS_COLOUR
    plot.axis.axis_line_color = plot.axis.major_tick_line_color = plot.axis.minor_tick_line_color = None
    plot.grid.grid_line_color, plot.grid.grid_line_alpha = AXIS_COLOUR, 0.25
    return plot


@contextmanager
def live_view(board: Board, title: str, port: int = 0) -> Iterator[str]:
    """Serve the page from its own thread while the context is open; yields its address."""
    pn.extension()
    started = threading.Event()
    told: dict[str, Any] = {}

    def serve() -> None:
        asyncio.set_event_loop(asyncio.new_event_loop())
        try:
            server, told["address"] = page_server(lambda: LiveView(board, title).page(), title, port)
        except BaseException as e:
            # The caller, who waits for the address, raises it.
            told["error"] = e
            started.set()
            return
        told["loop"] = loop = IOLoop.current()
        server.start()
        loop.add_callback(started.set)
        loop.start()
        server.stop()
        loop.close(all_fds=True)

    thread = threading.Thread(target=serve, name="augury-live-view", daemon=True)
    thread.start()
    started.wait(START_SECONDS)
    if "error" in told:
        raise told["error"]
    try:
        yield told["address"]
    finally:
        told["loop"].add_callback(told["loop"].stop)
        thread.join()
