"""A sample of a finite frame with its totals, which the planner uses before matching."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from augury.engine.host import Totals
from augury.hosts.spark.expressions import column, ticks
from augury.hosts.spark.releases import collected
from augury.schema import EventSchema

SAMPLE_EVENTS = 10_000  # of a frame that are sampled

SAMPLE_BLOCK_EVENTS = 500
"""Consecutive events in a block of the sample, which may be part of the same match."""

COLUMNAR_SUFFIXES = (".parquet", ".orc")
"""Files from which Spark reads some columns of some rows without reading the rest."""

ROW_NUMBER_BITS = (1 << 33) - 1
"""Bits by which `monotonically_increasing_id` numbers the rows within a partition."""


class SampledFrame:
    """A sample of a finite frame and its totals, each computed on first use."""

    def __init__(self, frame: DataFrame, *, everything: bool = False) -> None:
        """Prepare sampling; with `everything`, of all columns at once, for queries that need different ones."""
        self.frame, self.everything = frame, everything
        self._sample: pa.Table | None = None
        self._totals: Totals | None = None

    def sample(self, names: Sequence[str]) -> pa.Table:
        """A sample of the events, with these columns."""
        if self._sample is None or not set(names) <= set(self._sample.column_names):
            self._sample = self.heads(self.frame.columns if self.everything else names)
        return self._sample.select(list(names))

    def heads(self, names: Sequence[str]) -> pa.Table:
        """Events spread over the frame where Spark can skip the others, else its first ones."""
        chosen = self.frame.select(*map(column, names))
        if not self.columnar:
            return collected(chosen.limit(SAMPLE_EVENTS))
        number = self.frame.count() if self._totals is None else self._totals.events
        blocks = max(1, number // SAMPLE_EVENTS)
        row = F.monotonically_increasing_id().bitwiseAND(ROW_NUMBER_BITS)
        spread = chosen.where(row % F.lit(blocks * SAMPLE_BLOCK_EVENTS) < F.lit(SAMPLE_BLOCK_EVENTS))
        # Spark stops early by running partitions in growing groups, which only pays where there are many.
        return collected(
            spread.limit(2 * SAMPLE_EVENTS) if len(self.files) * SAMPLE_BLOCK_EVENTS > SAMPLE_EVENTS else spread
        )

    @cached_property
    def files(self) -> tuple[str, ...]:
        return tuple(self.frame.inputFiles())

    @property
    def columnar(self) -> bool:
        """Whether all events are in files that can be read in part."""
        return bool(self.files) and all(file.endswith(COLUMNAR_SUFFIXES) for file in self.files)

    def totals(self, schema: EventSchema) -> Totals | None:
        """The size and time span of the frame, if cheap: Spark reads only the times."""
        if not self.columnar:
            return None
        if self._totals is None:
            time = ticks(schema, schema.time)
            found = self.frame.select(time.alias("t")).agg(F.count(F.lit(1)), F.min("t"), F.max("t")).first()
            assert found is not None
            self._totals = Totals(found[0], 0 if found[1] is None else int(found[2] - found[1]))
        return self._totals
