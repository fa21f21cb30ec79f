"""The arrays of a lossy stream: queues, tables of scores, and the path of a search, in the order of the arguments.

A queue holds what arrived at one component of one partition, or what is watched there, as a list of entries from the
oldest to the youngest. The best entries of a queue, those whose bound no younger one reaches, are a list of their own.
"""

from __future__ import annotations

from augury.plan.lossy import BUCKETS
from augury.runtime.arrays import FLOAT64, ArraySpec

ENTRIES, QUEUES, TABLES, STRETCHES, COMPONENTS, MATCHES = (
    "entries", "queues", "tables", "stretches", "components", "matches"
)  # fmt: skip
"""What arrays have a cell for. Tables, their stretches and components are as many as the plan has."""


def queue_arrays(watching: int = 1) -> tuple[ArraySpec, ...]:
    """The queues, of which an entry remembers the youngest entry of so many that are watched."""
    return (
        ArraySpec("entry_event", low=0, refers_to="events", owner=ENTRIES, saved=True, holds="its event"),
        ArraySpec(
            "entry_bound", FLOAT64, 0, 2, owner=ENTRIES, saved=True,
            holds="the greatest score with which its event can stand for the component",
        ),
        ArraySpec("entry_older", refers_to=ENTRIES, owner=ENTRIES, holds="the entry before it, or -1"),
        ArraySpec("entry_younger", refers_to=ENTRIES, owner=ENTRIES, holds="the entry after it, or -1"),
        ArraySpec(
            "entry_watched", low=-1, refers_to=ENTRIES, owner=ENTRIES, width=max(1, watching), saved=True,
            holds="the youngest entry of each watched queue when it came, or -1",
        ),
        ArraySpec("best_older", refers_to=ENTRIES, owner=ENTRIES, holds="the best entry before it, or -1"),
        ArraySpec(
            "best_younger", refers_to=ENTRIES, owner=ENTRIES, holds="the best entry after it, or -1"
        ),
        ArraySpec(
            "free_entries", refers_to=ENTRIES, owner=ENTRIES,
            holds="an entry that is free; the first `nums[QueueCell.FREE]` count",
        ),
        ArraySpec("queue_youngest", refers_to=ENTRIES, owner=QUEUES, fill=-1, holds="its youngest entry, or -1"),
        ArraySpec("queue_oldest", refers_to=ENTRIES, owner=QUEUES, fill=-1, holds="its oldest entry, or -1"),
        ArraySpec("queue_best", refers_to=ENTRIES, owner=QUEUES, fill=-1, holds="the one of the greatest bound, or -1"),
        ArraySpec("queue_last_best", refers_to=ENTRIES, owner=QUEUES, fill=-1, holds="the youngest of its best, or -1"),
    )  # fmt: skip


def table_arrays(components: int = 1, coefficients: int = 1) -> tuple[ArraySpec, ...]:
    """The arrays of score tables; a stretch of a table has this many `coefficients`."""
    return (
        ArraySpec("table_first", refers_to=STRETCHES, owner=TABLES, more=1, holds="its first stretch"),
        ArraySpec("stretch_start", FLOAT64, owner=STRETCHES, holds="the least length that it is for"),
        ArraySpec(
            "stretch_series", FLOAT64, owner=STRETCHES, width=1 + coefficients,
            holds="the greatest length that it is for, and the coefficients of a Chebyshev series",
        ),
        ArraySpec("table_most", FLOAT64, owner=TABLES, width=BUCKETS, holds="the greatest score up to each length"),
        ArraySpec(
            "edge_table", refers_to=TABLES, owner=COMPONENTS, width=components,
            holds="the table from it to each component, -1 for a score of 1, -2 for no edge",
        ),
        ArraySpec("lead_table", refers_to=TABLES, owner=COMPONENTS, holds="the same, from the start of the window"),
        ArraySpec("tail_table", refers_to=TABLES, owner=COMPONENTS, holds="the same, to the end of the window"),
        ArraySpec("tail_score", FLOAT64, owner=COMPONENTS, holds="the best score from it to the end"),
    )  # fmt: skip


def path_arrays(components: int = 1, negated: int = 0) -> tuple[ArraySpec, ...]:
    """The path and the stack of a search, and the matches that it finds."""
    return (
        ArraySpec(
            "path_event", refers_to="events", owner=COMPONENTS, more=negated, fill=-1,
            holds="its event, -1 if it is missing; then one for each negated component",
        ),
        ArraySpec("path_entry", refers_to=ENTRIES, owner=COMPONENTS, fill=-1, holds="the entry of that event, or -1"),
        ArraySpec("arrival_bound", FLOAT64, owner=COMPONENTS, holds="the greatest score of the current event at it"),
        ArraySpec("stack_component", owner=COMPONENTS, fill=-1, holds="the component at this depth"),
        ArraySpec("stack_before", owner=COMPONENTS, fill=-1, holds="the component before it that is being tried"),
        ArraySpec("stack_entry", refers_to=ENTRIES, owner=COMPONENTS, fill=-1, holds="the next entry of its queue"),
        ArraySpec("stack_score", FLOAT64, owner=COMPONENTS, holds="the score so far"),
        ArraySpec(
            "match_events", refers_to="events", owner=MATCHES, width=components, fill=None, account="matches",
            holds="the event of each component, -1 for one that is missing",
        ),
        ArraySpec("match_score", FLOAT64, owner=MATCHES, fill=None, account="matches", holds="the score"),
    )  # fmt: skip
