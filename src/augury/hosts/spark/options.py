"""The options of `augury.match` that say how a query is run, as they are passed on."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from augury.loss import LossModel
from augury.plan import StreamStatistics


class RunOptions(TypedDict, total=False):
    """What `options.make_options` takes; this host looks at none of it."""

    plan: str | None
    order: Iterable[str] | None
    negation: str | None
    statistics: Mapping[str, Any] | StreamStatistics | None
    parameters: Mapping[str, Any] | None
    functions: Mapping[str, Callable[..., Any]] | None
    loss: LossModel | None
    max_matches: int
    max_partial_matches: int
    max_memory: int | str | None
    timeout: float | str | dt.timedelta | None
    jit: bool | None
    merge: bool
    counters: bool
    compressed: bool
    cache_dir: str | os.PathLike[str] | None


class FrameOptions(RunOptions, total=False):
    """What `match_all` takes beside the events and the queries."""

    time: str
    type: str | None
    order_by: str | Iterable[str] | None
    time_unit: str
    watermark: str | dt.timedelta | None
    buckets: int | None
    partitions: int | None
    chunks: int | None


class MatchOptions(FrameOptions, total=False):
    """What `match` takes beside the events and the query."""

    late: str | None
