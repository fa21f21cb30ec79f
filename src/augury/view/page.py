"""Pages of matches: one HTML file that needs no network, or a frame in a notebook."""

from __future__ import annotations

import html
import os
from dataclasses import dataclass, field
from pathlib import Path

from augury.engine.results.matches import Matches
from augury.errors import HostError
from augury.explain.explanation import Explanation, explanation_of_run
from augury.explain.svg import to_svg
from augury.view.scene import Scene, scene

FRAME_HEIGHT = 760
"""Height of a page in a notebook, in pixels."""


@dataclass(frozen=True, slots=True, repr=False)
class Page:
    """A page of matches, which notebooks display and `save` writes; `html` is its text."""

    html: str = field(repr=False)
    title: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file for a browser."""
        try:
            Path(path).write_text(self.html, encoding="utf-8")
        except OSError as e:
            raise HostError("A641", f"the page `{path}` cannot be written: {e.strerror or e}") from e

    def __repr__(self) -> str:
        return f"<page: {self.title}; save it with .save('page.html')>"

    def _repr_html_(self) -> str:
        # A frame separates the styles and scripts of the page from those of the notebook.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" title="{html.escape(self.title)}" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0"></iframe>'
        )


def page(matches: Matches, *, max_events: int = 100_000, max_matches: int = 10_000) -> Page:
    """Draw matches over their events; of more than `max_events` or `max_matches` the page shows a part and says so."""
    for name, limit in {"max_events": max_events, "max_matches": max_matches}.items():
        if limit < 1:
            raise HostError("A643", f"a page of {limit} events or matches shows nothing", f"raise {name}")
    try:
        from augury.view.drawing import draw
    except ModuleNotFoundError as e:
        raise HostError("A640", f"pages are drawn with {e.name}", "pip install 'augury[view]'") from e
    shown = scene(matches, max_events, max_matches)
    title = _title(shown)
    if matches.compiled is None:
        return Page(draw(shown, title, "", "", ""), title)
    # Without times, so that the same matches give the same page.
    told = explanation_of_run(matches.compiled, "plan", matches.counters, None)
    return Page(draw(shown, title, matches.compiled.source.text, str(told), _automaton(told)), title)


def _automaton(told: Explanation) -> str:
    """The automata of the plan as a picture; the pattern if there are none."""
    pattern, *automata = told.diagrams()
    return to_svg(automata or [pattern], "how the query is evaluated")


def _title(shown: Scene) -> str:
    """The numbers of events and matches, and how many of them are shown."""
    return f"{_of(len(shown.start), shown.matches_found, 'match', 'matches')} in " + _of(
        len(shown.time), shown.events_found, "event", "events"
    )


def _of(shown: int, found: int, one: str, many: str) -> str:
    """A count, and how many of it are shown.

    >>> _of(1, 1, "match", "matches"), _of(1000, 5000, "match", "matches")
    ('1 match', '1,000 of 5,000 matches')
    """
    if shown == found:
        return f"{found:,} {one if found == 1 else many}"
    return f"{shown:,} of {found:,} {many}"
