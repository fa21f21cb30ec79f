"""Options of `augury.spark` besides those of `augury.match`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from augury.arguments import unusable, whole
from augury.errors import HostError
from augury.options import Lateness, MatchOptions, Options, Roles, option, read_form, refuse_others


class SparkOptions(MatchOptions, total=False):
    """`MatchOptions`, and how a frame is split.

    - `lateness` says how late an event of a stream may come: "10 minutes", a timedelta, or ticks of the time column;
      without it the frame needs a watermark of its own;
    - `buckets` of keys hold the state of a stream; without a key, they are ranges of time as long as so many windows;
    - `partitions` of keys, or `chunks` of time, are the parts that a finite frame is split into.
    """

    lateness: Lateness | None
    buckets: int | None
    partitions: int | None
    chunks: int | None


def parts(name: str, given: Any) -> int | None:
    """A number of parts to split a frame into, at least one; None leaves the choice to Augury."""
    if given is None:
        return None
    count = whole(given)
    if count is None:
        raise unusable(name, "a number of parts", given)
    if count < 1:
        raise HostError("A589", f"a frame cannot be split into {count} parts: {name}={count}", "give 1 or more")
    return count


@dataclass(frozen=True, slots=True)
class Splitting:
    """How a frame is split, and how late its events may come."""

    lateness: Lateness | None = option(None, lambda name, given: given)
    buckets: int | None = option(None, parts)
    partitions: int | None = option(None, parts)
    chunks: int | None = option(None, parts)


def read_spark_options(given: SparkOptions) -> tuple[Roles, Options, Splitting]:
    """The options of a call, checked; unknown ones are an error."""
    refuse_others(given, Roles, Options, Splitting)
    return read_form(Roles, given), read_form(Options, given), read_form(Splitting, given)
