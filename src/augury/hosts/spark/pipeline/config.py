"""A pipeline as a TOML file: where events come from, which queries, where matches go."""

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
"""How a path begins that is not one of this machine."""


class _Section(BaseModel):
    """A table of the file; a key that it does not know is an error, most likely a misspelt one."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Engine(_Section):
    """`[spark]`: which Spark, and its settings."""

    master: str = "local[*]"
    settings: dict[str, str] = Field(default_factory=dict)


class LocationSection(_Section):
    """What Spark needs to find events or matches: a format that it knows, a path or a table, options."""

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
    """A table of the file that also holds options of `augury.spark.match`, by their names."""

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
    """`sink` of a query: where its matches go."""

    mode: Literal["append", "overwrite"] = "append"


class QuerySection(_WithOptions):
    """`[[query]]`: a query, or a program of several, in the text or in a file, and how it is evaluated.

    Every option of `augury.match` that TOML can state: all but functions. A `loss` model is a table, as in JSON. With
    `sql` instead, it is a SQL query with MATCH_RECOGNIZE over the table `events`, which is the source. With `rules` it
    is a table of rules, a file or a folder; of a stream their `versions` are in a folder, to which others may publish
    in place of `rules`, and `write` says whether all `rows` are written or the matches alone.
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
        """Whether it is a table of rules."""
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
        for name in OF_RULES & self.model_fields_set if not self.has_rules else ():
            raise ValueError(f"`{name}` is an option of `rules`")
        if self.sql is not None and self.model_extra:
            raise ValueError(f"`{next(iter(self.model_extra))}` is an option of the pattern language, not of SQL")
        return self


OF_RULES = frozenset({"keep", "key", "write"})
"""What a query says of its rules alone."""

OF_STREAMS_OF_RULES = OF_RULES | {"versions"}
"""What a query says of rules whose events are a stream."""


class StreamingSection(_Section):
    """`[streaming]`: the events are a stream. `trigger` is "available now", or an interval such as "10 seconds"."""

    checkpoint: str
    trigger: str = "available now"
    buckets: int | None = Field(default=None, ge=1)


class Pipeline(_Section):
    """The whole file; relative paths start from `folder`, where it is."""

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
            for name in OF_STREAMS_OF_RULES & query.model_fields_set:
                raise ValueError(f"`{name}` of query {query.name} is about a stream: there is no [streaming]")
        return self

    def versions(self, query: QuerySection) -> Path:
        """The folder of the versions of the rules of a query, beside its checkpoint if it does not say."""
        assert self.streaming is not None
        beside = f"{self.streaming.checkpoint.rstrip('/')}/{query.name}.rules"
        folder = beside if query.versions is None else query.versions
        if SCHEME.match(folder):
            # What is published there is written by this program, not by Spark.
            raise HostError(
                "A686",
                f"versions of rules cannot be kept in `{folder}`: it has a scheme",
                "give `versions` of the query, a folder that is mounted",
            )
        return self.folder / folder

    def at(self, path: str) -> str:
        """A path as Spark takes it: one with a scheme as it is, a relative one from the folder of the file."""
        return path if SCHEME.match(path) else str(self.folder / path)


def read_pipeline(path: Path) -> Pipeline:
    """The pipeline of a file, checked; everything that is wrong with it is told at once."""
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
    """Where in the file: `query[2].sink.format`, counted from 1."""
    text = ""
    for part in location:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "pipeline"


def _reason(message: str) -> str:
    return message.removeprefix("Value error, ").replace("Extra inputs are not permitted", "unknown key")
