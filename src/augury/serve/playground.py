"""The playground: a page with an editor for queries, their errors and their results."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pandas as pd
import panel as pn

from augury.errors import AuguryError
from augury.lang.ace import ace_rules
from augury.options import Options
from augury.serve.asking import Answer, Listing, answer, events_of, mistakes, why
from augury.serve.resources import page_template, resource
from augury.serve.subjects import LANGUAGES, PATTERN, SQL, Subject
from augury.view.drawing import inline_json

MODES = {PATTERN: "augury", SQL: "sql"}
"""The names of the languages in the editor."""

RESULT, PICTURE, PLAN, WHY, EVENTS = range(5)
"""Numbers of the tabs."""

Result = TypeVar("Result")

PAGE_ROWS = 15
"""Rows per page of a table."""


async def in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a function that runs in another thread, while the page stays responsive.

    It runs without the context of the page: in a thread of `asyncio.to_thread`, Panel would add what it draws to the
    page.
    """
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


class Playground:
    """The page of one visit: the selected events, and the last answer."""

    def __init__(self, subjects: Sequence[Subject], options: Options) -> None:
        self.subjects, self.options = {subject.name: subject for subject in subjects}, options
        self.answered: Answer | None = None
        self.drawn = False
        self.listed: Subject | None = None
        first = subjects[0]
        style = {"stylesheets": [resource("parts.css")], "margin": 0}
        self.subject = pn.widgets.Select(
            name="", options=list(self.subjects), value=first.name, width=260, css_classes=["subject"], **style
        )
        self.language = pn.widgets.RadioButtonGroup(
            options=list(LANGUAGES), value=first.language, css_classes=["language"], **style
        )
        self.run = pn.widgets.Button(name="Run", button_type="primary", width=90, css_classes=["run"], **style)
        self.editor = pn.widgets.CodeEditor(
            value=first.query(first.language),
            language=MODES[first.language],
            theme="github_light_default",
            sizing_mode="stretch_width",
            height=340,
            indent=2,
            soft_tabs=True,
            css_classes=["editor"],
            **style,
        )
        self.words = pn.widgets.TextInput(value="", visible=False)
        self.words.jscallback(value="window.augury.words.current = JSON.parse(cb_obj.value)")
        self.mistakes = pn.pane.HTML("", sizing_mode="stretch_width", css_classes=["mistakes"], **style)
        self.state = pn.pane.HTML("", sizing_mode="stretch_width", css_classes=["state"], **style)
        below = style | {"margin": (10, 0)}
        self.plan, self.why, self.picture = (
            pn.pane.HTML("", sizing_mode="stretch_width", css_classes=[name], **below)
            for name in ("plan", "why", "picture")
        )
        self.rows = pn.widgets.TextInput(placeholder="a=17 b=23", width=220, css_classes=["rows"], **below)
        self.ask = pn.widgets.Button(
            name="Why not these rows?", css_classes=["ask"], **style | {"margin": (10, 0, 10, 10)}
        )
        # Each has one child, which is replaced.
        self.result, self.events = (pn.Column(pn.pane.HTML(""), sizing_mode="stretch_width") for _ in range(2))
        asking = pn.Row(self.rows, self.ask)
        # All stay in the document, since Panel loads style sheets for removed ones from a server of its own.
        self.tabs = pn.Tabs(
            ("Result", self.result),
            ("Picture", self.picture),
            ("Plan", self.plan),
            ("Why not", pn.Column(asking, self.why, sizing_mode="stretch_width")),
            ("Events", self.events),
            sizing_mode="stretch_width",
            css_classes=["tabs"],
            **style,
        )
        self.subject.param.watch(self._on_subject, "value")
        self.language.param.watch(self._on_language, "value")
        self.editor.param.watch(self._on_text, "value")
        self.tabs.param.watch(self._on_tab, "active")
        self.run.on_click(self._on_run)
        self.ask.on_click(self._on_why)
        self._on_text()
        self._forget("Run the query to see its matches.")

    @property
    def current(self) -> Subject:
        """The selected subject."""
        return self.subjects[self.subject.value]

    def page(self) -> pn.Template:
        """The layout of the page."""
        page = page_template("playground.html", "editor.js")
        for name in ("subject", "language", "run", "editor", "mistakes", "state", "tabs", "words"):
            page.add_panel(name, getattr(self, name))
        page.add_variable("facts", inline_json({"rules": ace_rules(), "words": self._words()}))
        return page

    # -- actions of the user ------------------------------------------------------------------------------------------

    async def _on_subject(self, *_: object) -> None:
        """Show the query of the events that were selected."""
        subject = self.current
        if subject.language == self.language.value:
            await self._begin()
        else:
            self.language.value = subject.language

    async def _on_language(self, *_: object) -> None:
        self.editor.language = MODES[self.language.value]
        await self._begin()

    async def _begin(self) -> None:
        try:
            self.editor.value = self.current.query(self.language.value)
            self.words.value = json.dumps(self._words())
        except AuguryError as e:
            self.mistakes.object = _mistake_html(str(e))
        self._forget("Run the query to see its matches.")
        await self._on_tab()

    def _on_text(self, *_: object) -> None:
        """The text has changed: show its errors, below it and beside its lines."""
        found = mistakes(self.editor.value, self.language.value, self.current)
        self.mistakes.object = "".join(_mistake_html(mistake.text) for mistake in found)
        self.editor.annotations = [
            {"row": m.line, "column": m.column, "text": m.text.splitlines()[0], "type": "error"} for m in found
        ]

    async def _on_tab(self, *_: object) -> None:
        """A tab was opened: draw it if it has not been drawn yet."""
        if self.tabs.active == PICTURE and not self.drawn:
            self.drawn = True
            answered = self.answered
            if answered is None or answered.picture is None:
                what = (
                    "Only matches of a PATTERN are drawn." if answered is not None else "Run the query to see it drawn."
                )
                self.picture.object = _muted(what)
                return
            drawn = await in_thread(answered.picture)
            if answered is self.answered:
                # In a frame without an origin, so that the picture cannot access the page.
                source = html.escape(drawn)
                self.picture.object = f'<iframe sandbox="allow-scripts" title="matches" srcdoc="{source}"></iframe>'
        if self.tabs.active == EVENTS and self.listed is not self.current:
            self.listed = self.current
            self.events[0] = _table(events_of(self.current))

    async def _on_run(self, _: object) -> None:
        """Run the query."""
        text, language, subject = self.editor.value, self.language.value, self.current
        with self._busy():
            try:
                answered = await in_thread(answer, text, language, subject, self.options)
            except AuguryError as e:
                self._forget("")
                self.state.object = _mistake_html(str(e))
                return
        self._forget("")
        self.answered = answered
        warned = "".join(f'<div class="warning">warning: {html.escape(w)}</div>' for w in answered.warnings)
        self.state.object = f'<div class="title">{html.escape(answered.title)}</div>{warned}'
        self.result[0] = _table(answered.listing)
        self.plan.object = answered.plan
        self.why.object = answered.why or _muted("Why not is told of a PATTERN.")
        if not answered.listing.total and answered.why:
            self.tabs.active = WHY
        await self._on_tab()

    async def _on_why(self, _: object) -> None:
        """Show why the given rows are not a match."""
        if self.language.value == SQL:
            self.why.object = _muted("Why not is told of a PATTERN.")
            return
        rows: dict[str, list[int]] = {}
        for name, row in re.findall(r"(\w+)\s*=\s*(\d{1,15})", self.rows.value_input or self.rows.value):
            rows.setdefault(name, []).append(int(row))
        with self._busy():
            try:
                self.why.object = await in_thread(why, self.editor.value, self.current, rows, self.options)
            except AuguryError as e:
                self.why.object = _mistake_html(str(e))

    # -- display ------------------------------------------------------------------------------------------------------

    def _words(self) -> list[tuple[str, str, bool]]:
        return self.current.words(self.language.value)

    def _forget(self, text: str) -> None:
        """Clear the last answer."""
        self.answered, self.drawn = None, False
        self.state.object = _muted(text)
        self.result[0] = pn.pane.HTML("")
        self.plan.object = self.why.object = self.picture.object = ""

    @contextmanager
    def _busy(self) -> Iterator[None]:
        self.run.disabled = self.ask.disabled = True
        self.run.name = "Running"
        try:
            yield
        finally:
            self.run.disabled = self.ask.disabled = False
            self.run.name = "Run"


def _mistake_html(text: str) -> str:
    return f'<pre class="mistake">{html.escape(text)}</pre>'


def _muted(text: str) -> str:
    return f'<div class="quiet">{html.escape(text)}</div>'


def _table(shown: Listing) -> pn.viewable.Viewable:
    """Rows as a table; text from events is escaped in cells and titles."""
    names = [f"c{k}" for k in range(len(shown.header))]
    frame = pd.DataFrame(list(shown.rows), columns=names, dtype=object)
    table = pn.widgets.Tabulator(
        frame,
        titles={name: html.escape(title) for name, title in zip(names, shown.header, strict=True)},
        formatters={name: {"type": "plaintext"} for name in names},
        show_index=False,
        disabled=True,
        selectable=False,
        pagination="local" if len(shown.rows) > PAGE_ROWS else None,
        page_size=PAGE_ROWS,
        layout="fit_data_stretch",
        theme="simple",
        sizing_mode="stretch_width",
        margin=(10, 0),
        css_classes=["listing"],
        stylesheets=[resource("parts.css")],
    )
    if shown.total <= len(shown.rows):
        return table
    note = _muted(f"The first {len(shown.rows):,} of {shown.total:,}.")
    return pn.Column(
        table, pn.pane.HTML(note, margin=0, stylesheets=[resource("parts.css")]), sizing_mode="stretch_width"
    )


def playground_page(subjects: Sequence[Subject], options: Options) -> Any:
    """A function that creates the page of a visit."""
    pn.extension("codeeditor", "tabulator")
    return lambda: Playground(subjects, options).page()
