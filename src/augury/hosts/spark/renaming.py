"""Support for arbitrary column names in Python tasks: PySpark parses dots and backquotes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

Task: TypeAlias = "Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]"


def map_in_arrow(frame: DataFrame, task: Task, schema: StructType) -> DataFrame:
    """`frame.mapInArrow` with columns of any name."""
    names = tuple(frame.columns)
    if not any("." in name or "`" in name for name in names):
        return frame.mapInArrow(task, schema)
    return frame.toDF(*(f"c{k}" for k in range(len(names)))).mapInArrow(RenamingTask(task, names), schema)


@dataclass(frozen=True, slots=True)
class RenamingTask:
    """A task that gets its columns under their original names."""

    task: Task
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.task(batch.rename_columns(list(self.names)) for batch in batches)
