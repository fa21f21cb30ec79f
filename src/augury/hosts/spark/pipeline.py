"""Run a pipeline: read, match, write."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from augury.errors import AuguryError, HostError
from augury.hosts.local import query_source
from augury.hosts.spark.config import Pipeline, QuerySection
from augury.hosts.spark.match import match
from augury.hosts.spark.places import read_source, start_stream, write_batch
from augury.hosts.spark.progress import ProgressLine
from augury.hosts.spark.session import embedded_session

PATIENCE = 60.0
"""Seconds that a micro-batch may take to end after the user asked to stop."""

LAST_WORDS = 10.0
"""Seconds to wait for what Spark still has to tell of a stream that has ended."""


def run_pipeline(pipeline: Pipeline, *, master: str | None, say: Callable[[str], None]) -> None:
    """Run to the end or until interrupted, in the session there is or one of its own; `say` is told how it goes."""
    there = SparkSession.getActiveSession()
    spark = there or embedded_session(master or pipeline.spark.master, pipeline.spark.settings)
    try:
        events = read_source(spark, pipeline)
        if pipeline.streaming is None:
            for query in pipeline.query:
                _batch(events, query, pipeline, say)
        else:
            _stream(spark, events, pipeline, say)
    except PySparkException as e:
        raise _told(e) from e
    finally:
        if there is None:
            spark.stop()


def _batch(events: DataFrame, query: QuerySection, pipeline: Pipeline, say: Callable[[str], None]) -> None:
    began = time.monotonic()
    count = write_batch(_found(events, query, pipeline), query, pipeline)
    written = "" if count is None else f", {count:,} matches"
    say(f"{query.name}: done in {time.monotonic() - began:.1f} s{written}")


def _stream(spark: SparkSession, events: DataFrame, pipeline: Pipeline, say: Callable[[str], None]) -> None:
    listener = ProgressLine(say)
    spark.streams.addListener(listener)
    running: list[StreamingQuery] = []
    try:
        for query in pipeline.query:
            running.append(start_stream(_found(events, query, pipeline), query, pipeline))
        for started in running:
            started.awaitTermination()
    except KeyboardInterrupt:
        say("stopping after the micro-batch under way; what is open is kept in the checkpoint")
        _let_finish(running)
    finally:
        for started in running:
            started.stop()
        listener.wait_for({str(started.runId) for started in running}, LAST_WORDS)
        spark.streams.removeListener(listener)


def _let_finish(running: list[StreamingQuery]) -> None:
    deadline = time.monotonic() + PATIENCE
    while any(q.isActive and q.status["isTriggerActive"] for q in running) and time.monotonic() < deadline:
        time.sleep(0.1)


def _found(events: DataFrame, query: QuerySection, pipeline: Pipeline) -> DataFrame:
    roles, streaming = pipeline.events, pipeline.streaming
    source = query.text if query.text is not None else query_source(pipeline.folder / (query.file or "")).text
    return match(
        events,
        source,
        time=roles.time,
        type=roles.type,
        order_by=roles.order_by,
        time_unit=roles.time_unit,
        watermark=roles.watermark if streaming is not None else None,
        buckets=None if streaming is None else streaming.buckets,
        plan=query.plan,
        parameters=query.parameters,
    )


def _told(error: PySparkException) -> AuguryError:
    """What Spark reports, without the traces of two languages; our own errors as they were raised."""
    text = str(error)
    own = re.search(r"error\[(A\d{3})\]: ((?:(?!\n\S*Error|\nTraceback|\n\tat |\n$| SQLSTATE).)*)", text, re.DOTALL)
    if own is not None:
        return HostError("A587", f"a task of the pipeline failed: {own[0].strip()}")
    return HostError("A588", f"Spark could not run the pipeline: {text.splitlines()[0] if text else error!r}")
