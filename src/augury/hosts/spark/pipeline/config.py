"""The configuration of a pipeline, a TOML file: source of events, queries, sinks of matches."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from augury.errors import HostError
from augury.loss import LossModel
from augury.options import Options, Roles, option_names, read_form

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The scheme at the start of a path that is not on this machine."""


class _Section(BaseModel):
    """A table of the file; unknown keys are an error, since they are most likely misspelt."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Engine(_Section):
    """`[spark]`: the master and the settings of the session."""

    master: str = "local[*]"
    settings: dict[str, str] = Field(default_factory=dict)


class LocationSection(_Section):
    """Location of events or matches: a format of Spark, a path or a table, options."""

    format: str
    path: str | None = None
    table: str | None = None
    options: dict[str, str] = Field(default_factory=dict)


class SourceSection(LocationSection):
    """`[source]`: the events. `columns` is their schema in DDL; for Kafka it is that of the JSON in `value`."""

    columns: str | None = None

    @model_validator(mode="after")
    def _kafka_needs_columns(self) -> Self:
        if self.format == "kafka" and self.columns is None:
            raise ValueError('events in Kafka are JSON: say which `columns` they have, such as "ts TIMESTAMP, ..."')
        return self


class _WithOptions(_Section):
    """A table of the file that also takes options of `augury.spark.match`, by name."""

    model_config = ConfigDict(extra="allow", frozen=True)
    form: ClassVar[type[Any]]
    refused: ClassVar[frozenset[str]] = frozenset()

    @model_validator(mode="after")
    def _known_options(self) -> Self:
        for name in self.options_given:
            if name not in option_names(self.form) or name in self.refused:
                raise ValueError(f"unknown key `{name}`")
        try:
            read_form(self.form, self.options_given)
        except HostError as e:
            raise ValueError(e.message) from e
        return self

    @property
    def options_given(self) -> dict[str, Any]:
        """The options as `augury.spark.match` takes them."""
        return dict(self.model_extra or {})


class EventsSection(_WithOptions):
    """`[events]`: `time`, `type`, `order_by` and `time_unit` as `augury.match` takes them; how late events may come."""

    form = Roles
    lateness: str | int | None = None


class SinkSection(LocationSection):
    """`sink` of a query: the destination of its matches."""

    mode: Literal["append", "overwrite"] = "append"


class QuerySection(_WithOptions):
    """`[[query]]`: a query, or a program of several, given as text or file, and how it is evaluated.

    It takes every option of `augury.match` that TOML can express, which is all but functions. A `loss` model is a
    table, as in JSON. With `sql` instead, it is a SQL query with MATCH_RECOGNIZE over the table `events`, which is the
    source. With `rules` it is a table of rules, a file or a folder; over a stream, their `versions` are in a folder, to
    which others may publish in place of `rules`, and `write` says whether all `rows` are written or only the matches.
    """

    form = Options
    refused = frozenset({"functions"})

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    file: str | None = None
    text: str | None = None
    sql: str | None = None
    rules: str | None = None
    versions: str | None = None
    keep: str | int | None = None
    key: str | list[str] | None = None
    write: Literal["matches", "rows"] = "matches"
    sink: SinkSection

    @property
    def has_rules(self) -> bool:
        """Whether the query is a table of rules."""
        return self.rules is not None or self.versions is not None

    @property
    def options_given(self) -> dict[str, Any]:
        """The options as `augury.spark.match` takes them."""
        stated = dict(self.model_extra or {})
        return {**stated, "loss": LossModel.from_json(stated["loss"])} if "loss" in stated else stated

    @model_validator(mode="after")
    def _one_text(self) -> Self:
        if sum((self.has_rules, *(given is not None for given in (self.file, self.text, self.sql)))) != 1:
            raise ValueError("give the query in `text` or in a `file`, one of them, or as `sql`, or give `rules`")
        for name in RULES_KEYS & self.model_fields_set if not self.has_rules else ():
            raise ValueError(f"`{name}` is an option of `rules`")
        if self.sql is not None and self.model_extra:
            raise ValueError(f"`{next(iter(self.model_extra))}` is an option of the pattern language, not of SQL")
        return self


RULES_KEYS = frozenset({"keep", "key", "write"})
"""Keys of a query that only apply to rules."""

STREAM_RULES_KEYS = RULES_KEYS | {"versions"}
"""Keys of a query that only apply to rules over a stream."""


class StreamingSection(_Section):
    """`[streaming]`: the source is a stream. `trigger` is "available now", or an interval such as "10 seconds"."""

    checkpoint: str
    trigger: str = "available now"
    buckets: int | None = Field(default=None, ge=1)


class Pipeline(_Section):
    """The whole file; relative paths start from its `folder`."""

    folder: Path
    spark: Engine = Field(default_factory=Engine)
    source: SourceSection
    events: EventsSection = Field(default_factory=EventsSection)
    query: list[QuerySection] = Field(min_length=1)
    streaming: StreamingSection | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [q.name for q in self.query]
        repeated = sorted({n for n in names if names.count(n) > 1})
        if repeated:
            raise ValueError(f"two queries are named {repeated[0]}")
        if self.streaming is not None and self.events.lateness is None:
            raise ValueError('a stream needs `lateness` in [events], such as "10 minutes": how late events may come')
        for query in self.query if self.streaming is None else ():
            for name in STREAM_RULES_KEYS & query.model_fields_set:
                raise ValueError(f"`{name}` of query {query.name} is about a stream: there is no [streaming]")
        return self

    def versions(self, query: QuerySection) -> Path:
        """The folder of the versions of a query's rules, by default beside its checkpoint."""
        assert self.streaming is not None
        beside = f"{self.streaming.checkpoint.rstrip('/')}/{query.name}.rules"
        folder = beside if query.versions is None else query.versions
        if SCHEME.match(folder):
            # Augury publishes versions there itself, without Spark.
            raise HostError(
                "A686",
                f"versions of rules cannot be kept in `{folder}`: it has a scheme",
                "give `versions` of the query, a folder that is mounted",
            )
        return self.folder / folder

    def at(self, path: str) -> str:
        """A path as Spark takes it: unchanged if it has a scheme, else resolved against the folder of the file."""
        return path if SCHEME.match(path) else str(self.folder / path)


def read_pipeline(path: Path) -> Pipeline:
    """The pipeline of a file, checked; all problems are reported at once."""
    try:
        stated = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise HostError("A582", f"there is no pipeline file `{path}`") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as e:
        raise HostError("A583", f"the pipeline `{path}` cannot be read: {e}") from e
    try:
        return Pipeline.model_validate({**stated, "folder": path.parent.resolve()})
    except ValidationError as e:
        wrong = "\n".join(f"  {_place(error['loc'])}: {_reason(error['msg'])}" for error in e.errors())
        raise HostError("A584", f"the pipeline `{path}` is not valid:\n{wrong}", "see docs/spark.md#pipelines") from e


def _place(location: tuple[int | str, ...]) -> str:
    """A place in the file, counted from 1: `query[2].sink.format`."""
    text = ""
    for part in location:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "pipeline"


def _reason(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Extra inputs are not permitted", "unknown key")
