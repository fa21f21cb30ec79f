"""Drawing of a scene as one HTML page with Bokeh; the only module that imports it.

The page holds every event and match in data sources that are not drawn. `page.js` copies those in view to the sources
that are, never more than a browser draws at once, so that panning is as fast with 100,000 events as with 100.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from bokeh.core.types import ID
from bokeh.embed import json_item
from bokeh.layouts import column
from bokeh.model import Model
from bokeh.models import (
    BasicTicker,
    ColumnDataSource,
    CustomJS,
    CustomJSHover,
    FixedTicker,
    HoverTool,
    Image,
    LinearColorMapper,
    PanTool,
    PlainText,
    Range1d,
    TapTool,
    WheelZoomTool,
)
from bokeh.models.annotations import Title
from bokeh.plotting import figure
from bokeh.resources import Resources
from pygments import highlight
from pygments.formatters.html import HtmlFormatter

from augury.lang.lexer import AuguryLexer
from augury.view.scene import Floats, Lanes, Scene

DENSITY_BINS = 800
"""Cells per lane in the picture of event density, which replaces events that are too many to draw."""

BAR_BINS = 60
"""Bars of the plots of matches over time and of durations."""

LANES_HEIGHT = 330
"""Pixels shared by a small number of lanes."""

LANE_HEIGHTS = (24, 90)
"""The smallest and the largest height of a lane, in pixels."""

AXIS_HEIGHT = 56
"""Pixels of a plot besides its lanes."""

COLOURS = ("#3b82f6", "#f59e0b", "#10b981", "#ef4444", "#8b5cf6", "#14b8a6", "#ec4899", "#84cc16", "#64748b", "#a16207")
"""Colours of event types, in order; readable on light and dark backgrounds."""

RESOURCES = Resources(mode="inline", components=["bokeh"], minified=True)
SELECTED_COLOUR = "#e11d48"
"""Colour of the selected match."""

DURATION_UNITS = ((1e-6, "µs"), (1e-3, "ms"), (1, "s"), (60, "min"), (3600, "h"), (86400, "days"))
"""Units of displayed durations, in seconds."""


def draw(scene: Scene, title: str, query: str, plan: str, automaton: str) -> str:
    """The page of a scene with scripts, styles and data; `automaton` is an SVG picture, or empty."""
    folder = files("augury.view")
    start, end = _extent(scene)
    lanes, over_time = _lane_plot(scene, start, end), _bars("over_time", scene.is_datetime)
    over_time.x_range = lanes.x_range
    over_time.frame_height, over_time.min_border_left = 80, 110
    over_time.title = Title(text="Matches over time, by their end", text_font_size="12px", text_font_style="normal")
    duration_scale, duration_unit = _duration_unit(scene.duration)
    durations = _bars("durations", False)
    durations.x_range, durations.frame_height, durations.min_border_left = Range1d(start=0, end=1), 110, 40
    durations.xaxis.axis_label = duration_unit
    facts = {
        "title": title,
        "datetime": scene.is_datetime,
        "timeTitle": scene.time_title,
        "extent": [start, end],
        "types": scene.types,
        "colours": [COLOURS[k % len(COLOURS)] for k in range(len(scene.types))],
        "lanes": [{"title": lane.title, "labels": lane.labels} for lane in scene.lanes],
        "columns": [{"name": c.name, "texts": c.texts, "time": c.is_time} for c in scene.columns],
        "variables": scene.variables,
        "values": [{"name": name, "texts": texts} for name, texts in scene.values],
        "durationScale": duration_scale,
        "durationUnit": duration_unit,
        "bars": BAR_BINS,
        "heights": [_height(lane) for lane in scene.lanes],
    }
    # Text of users reaches the page as escaped HTML, or in JSON that the page reads with JSON.parse.
    return Template(folder.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        css=folder.joinpath("page.css").read_text(encoding="utf-8"),
        # Not `render_js`, which adds scripts of other imported packages, such as Panel.
        bokeh="\n".join(f"<script>\n{script}\n</script>" for script in RESOURCES.js_raw),
        script=folder.joinpath("page.js").read_text(encoding="utf-8"),
        query=_highlighted(query),
        plan=html.escape(plan),
        automaton=automaton,
        facts=inline_json(facts),
        main=inline_json(_item(column(lanes, over_time, sizing_mode="stretch_width"), "main")),
        durations=inline_json(_item(durations, "durations")),
    )


def _item(model: Model, name: str) -> Any:
    """A plot as JSON for the page."""
    item: Any = json_item(model, ID(name))
    # Models that other packages have defined in this process; none of them is drawn here.
    item["doc"].pop("defs", None)
    return item


def inline_json(value: Any) -> str:
    """JSON for a script element: no text in it can end the element."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _highlighted(query: str) -> str:
    """Query text as HTML, its tokens in elements of the classes that `page.css` colours."""
    return highlight(query.strip("\n"), AuguryLexer(stripnl=False), HtmlFormatter(nowrap=True)).rstrip("\n")


def _extent(scene: Scene) -> tuple[float, float]:
    """The time range of all events, with a margin."""
    if not len(scene.time):
        return 0.0, 1.0
    first, last = float(scene.time[0]), float(scene.time[-1])
    margin = (last - first) * 0.02 or 1.0
    return first - margin, last + margin


def _lane_plot(scene: Scene, start: float, end: float) -> figure:
    lanes = scene.lanes[0]
    plot = figure(
        name="lanes",
        x_axis_type="datetime" if scene.is_datetime else "linear",
        x_range=Range1d(start=start, end=end, bounds=(start - (end - start), end + (end - start))),
        y_range=Range1d(start=len(lanes.labels) - 0.4, end=-0.8),
        height=_height(lanes),
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
        min_border_left=110,
        lod_threshold=None,
    )
    plot.yaxis.ticker = FixedTicker(ticks=list(range(len(lanes.labels))))
    # Plain text: otherwise a label between dollar signs is a formula.
    plot.yaxis.major_label_overrides = {k: PlainText(text=label[:24]) for k, label in enumerate(lanes.labels)}
    plot.ygrid.grid_line_color = None
    _remove_frame(plot)
    density = ColumnDataSource(
        {"image": [_density(scene, lanes, start, end)], "rows": [len(lanes.labels)]}, name="density"
    )
    alphas = [round(0.03 + 0.3 * k / 63, 3) if k else 0 for k in range(64)]
    mapper = LinearColorMapper(palette=[f"rgba(128, 138, 156, {a})" for a in alphas], low=0, high=255)
    image = Image(image="image", x=start, y=-0.5, dw=end - start, dh="rows", color_mapper=mapper)
    plot.add_glyph(density, image, level="underlay")
    events = ColumnDataSource({"x": [], "y": [], "colour": [], "event": []}, name="events")
    events_drawn = plot.scatter(
        "x",
        "y",
        source=events,
        size=7,
        fill_color="colour",
        line_color=None,
        fill_alpha=0.7,
        nonselection_fill_alpha=0.7,
    )
    links = ColumnDataSource({"xs": [], "ys": [], "match": []}, name="links")
    links_drawn = plot.multi_line(
        "xs",
        "ys",
        source=links,
        line_color="#334155",
        line_width=1.3,
        line_alpha=0.7,
        nonselection_line_alpha=0.7,
        name="links_drawn",
    )
    # A match of one event has no line, but a clickable ring around its event.
    rings = ColumnDataSource({"x": [], "y": []}, name="rings")
    plot.scatter(
        "x", "y", source=rings, size=11, fill_color=None, line_color="#334155", line_width=1.3, name="rings_drawn"
    )
    chosen = ColumnDataSource({"x": [], "y": [], "label": []}, name="chosen")
    plot.line("x", "y", source=chosen, line_color=SELECTED_COLOUR, line_width=2.5)
    plot.scatter("x", "y", source=chosen, size=13, fill_color=None, line_color=SELECTED_COLOUR, line_width=2.5)
    plot.text(
        "x",
        "y",
        text="label",
        source=chosen,
        text_color=SELECTED_COLOUR,
        text_font_size="12px",
        text_font_style="bold",
        text_align="center",
        y_offset=-9,
    )
    pan, zoom = PanTool(dimensions="width"), WheelZoomTool(dimensions="width")
    tap = TapTool(renderers=[links_drawn, events_drawn])
    hover = HoverTool(
        renderers=[events_drawn],
        tooltips=[("", "@event{custom}")],
        formatters={"@event": CustomJSHover(code="return window.augury.describe(value)")},
        point_policy="snap_to_data",
        attachment="above",
    )
    plot.add_tools(pan, zoom, tap, hover)
    plot.toolbar.active_drag, plot.toolbar.active_scroll = pan, zoom
    columns: dict[str, Any] = {"time": scene.time, "type": scene.type}
    columns |= {f"lane{k}": lane.lane for k, lane in enumerate(scene.lanes)}
    columns |= {f"value{k}": c.numbers for k, c in enumerate(scene.columns)}
    everything = {
        "all_events": ColumnDataSource(columns, name="all_events"),
        "all_matches": ColumnDataSource(
            {"start": scene.start, "end": scene.end, "duration": scene.duration, "offset": scene.offsets[:-1]},
            name="all_matches",
        ),
        "all_bound": ColumnDataSource({"event": scene.bound, "variable": scene.variable}, name="all_bound"),
        "all_densities": ColumnDataSource(
            {"image": [_density(scene, lane, start, end) for lane in scene.lanes]}, name="all_densities"
        ),
    }
    moved = CustomJS(args=everything, code="window.augury.refresh()")
    plot.x_range.js_on_change("start", moved)
    plot.x_range.js_on_change("end", moved)
    links.selected.js_on_change("indices", CustomJS(code="window.augury.tappedLink(cb_obj.indices)"))
    events.selected.js_on_change("indices", CustomJS(code="window.augury.tappedEvent(cb_obj.indices)"))
    return plot


def _height(lanes: Lanes) -> int:
    """Pixels of a plot of lanes.

    >>> [_height(Lanes("", np.zeros(0, dtype=np.int32), ["x"] * n)) for n in (1, 5, 40)]
    [146, 386, 1016]
    """
    least, most = LANE_HEIGHTS
    count = max(1, len(lanes.labels))
    return AXIS_HEIGHT + count * min(most, max(least, LANES_HEIGHT // count))


def _density(scene: Scene, lanes: Lanes, start: float, end: float) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The number of events in each cell of each lane, on a logarithmic scale from 0 to 255."""
    height = len(lanes.labels)
    bins = np.minimum(((scene.time - start) / (end - start) * DENSITY_BINS).astype(np.int64), DENSITY_BINS - 1)
    counts = np.bincount(lanes.lane * DENSITY_BINS + bins, minlength=height * DENSITY_BINS)
    scaled = np.log1p(counts) / np.log1p(max(1, counts.max(initial=0))) * 255
    image: np.ndarray[Any, np.dtype[np.uint8]] = np.ceil(scaled).astype(np.uint8).reshape(height, DENSITY_BINS)
    return image


def _bars(name: str, is_datetime: bool) -> figure:
    """A plot of bars, which `page.js` fills with the matches that pass the filter."""
    plot = figure(
        name=name,
        x_axis_type="datetime" if is_datetime else "linear",
        sizing_mode="stretch_width",
        tools="",
        toolbar_location=None,
        y_range=Range1d(start=0, end=1),
    )
    bars = ColumnDataSource({"left": [], "right": [], "top": []}, name=f"{name}_bars")
    plot.quad(left="left", right="right", top="top", bottom=0, source=bars, fill_color="#64748b", line_color=None)
    plot.yaxis.ticker = BasicTicker(desired_num_ticks=3, min_interval=1)
    plot.xgrid.grid_line_color = None
    _remove_frame(plot)
    return plot


def _remove_frame(plot: figure) -> None:
    """Remove frame, ticks and background, since the page sets the colours."""
    plot.background_fill_color = plot.border_fill_color = plot.outline_line_color = None
    plot.axis.axis_line_color = plot.axis.major_tick_line_color = plot.axis.minor_tick_line_color = None
    plot.axis.major_label_text_font_size = plot.axis.axis_label_text_font_size = "12px"
    plot.axis.axis_label_text_font_style = "normal"


def _duration_unit(durations: Floats | Sequence[float]) -> tuple[float, str]:
    """The largest unit in which the longest duration is at least 1.

    >>> _duration_unit([5.0, 7200.0]), _duration_unit([0.0])
    ((3600, 'h'), (1, 's'))
    """
    longest = max(durations, default=0.0)
    fitting = [unit for unit in DURATION_UNITS if unit[0] <= longest]
    return fitting[-1] if fitting else (1, "s")
