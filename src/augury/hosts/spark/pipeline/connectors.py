"""Sources and sinks of a pipeline."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from augury.engine.results.render import cell, text_table
from augury.engine.results.values import to_python
from augury.errors import HostError
from augury.hosts.spark.pipeline.config import Pipeline, QuerySection, SinkSection
from augury.hosts.spark.releases import collected

SHOWN_MATCHES = 50  # matches of a finite result that the console shows

AVAILABLE_NOW = "available now"


def read_source(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """The events of the source, finite or a stream."""
    source = pipeline.source
    reader = spark.read if pipeline.streaming is None else spark.readStream
    if source.table is not None:
        return reader.options(**source.options).table(source.table)
    named = reader.format(source.format).options(**source.options)
    if source.format == "kafka":
        assert source.columns is not None
        value = F.from_json(F.col("value").cast("string"), source.columns)
        return named.load().select(value.alias("event")).select("event.*")
    if source.columns is not None:
        named = named.schema(source.columns)
    return named.load() if source.path is None else named.load(pipeline.at(source.path))


def write_batch(found: DataFrame, query: QuerySection, pipeline: Pipeline) -> int | None:
    """Write a finite result; returns the number of matches if it is known."""
    sink = query.sink
    if sink.format == "console":
        return _show(found, query.name)
    writer = _values(found, sink).write.format(sink.format).mode(sink.mode).options(**sink.options)
    if sink.table is not None:
        writer.saveAsTable(sink.table)
    else:
        writer.save(None if sink.path is None else pipeline.at(sink.path))
    return None


def start_stream(found: DataFrame, query: QuerySection, pipeline: Pipeline) -> StreamingQuery:
    """Start writing a stream; each query has its own checkpoint."""
    streaming, sink = pipeline.streaming, query.sink
    assert streaming is not None
    if sink.mode != "append":
        raise HostError("A586", f"the matches of a stream are appended: mode = {sink.mode!r} of query `{query.name}`")
    writer = (
        _values(found, sink)
        .writeStream.format(sink.format)
        .queryName(query.name)
        .outputMode("append")
        .options(**sink.options)
        .option("checkpointLocation", pipeline.at(f"{streaming.checkpoint.rstrip('/')}/{query.name}"))
    )
    if streaming.trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=streaming.trigger)
    if sink.table is not None:
        return writer.toTable(sink.table)
    return writer.start() if sink.path is None else writer.start(pipeline.at(sink.path))


def _values(found: DataFrame, sink: SinkSection) -> DataFrame:
    """Matches in the form that the sink takes: for Kafka, one column `value`."""
    return found.select(F.to_json(F.struct("*")).alias("value")) if sink.format == "kafka" else found


def _show(found: DataFrame, name: str) -> int:
    table = collected(found.orderBy(found.columns[0]))
    head = table.slice(0, SHOWN_MATCHES)
    columns = [[cell(v) for v in to_python(head[c].combine_chunks())] for c in head.column_names]
    rows = [list(row) for row in zip(*columns, strict=True)]
    more = f", the first {SHOWN_MATCHES}:" if len(table) > SHOWN_MATCHES else ""
    print(f"{name}: {len(table)} {'match' if len(table) == 1 else 'matches'}{more}")
    if rows:
        print(text_table(head.column_names, rows))
    return len(table)
