"""Matching as a method of data frames."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Unpack

from pyspark.sql import DataFrame

from augury.hosts.spark.match import match, match_all
from augury.hosts.spark.options import SparkOptions
from augury.hosts.spark.releases import frame_classes


@dataclass(frozen=True, slots=True)
class FrameMethods:
    """The methods of `frame.augury`."""

    events: DataFrame

    def match(
        self, query: str | os.PathLike[str], *, late: str | None = None, **options: Unpack[SparkOptions]
    ) -> DataFrame:
        """`augury.spark.match` of this frame."""
        return match(self.events, query, late=late, **options)

    def match_all(self, queries: Mapping[str, str | os.PathLike[str]], **options: Unpack[SparkOptions]) -> DataFrame:
        """`augury.spark.match_all` of this frame."""
        return match_all(self.events, queries, **options)


def install() -> None:
    """Add the attribute `augury` to data frames, classic ones and those of Spark Connect.

    `frame.augury.match(query)` is `augury.spark.match(frame, query)`. Type checkers do not know of it.
    """
    for frames in frame_classes():
        frames.augury = property(FrameMethods)
