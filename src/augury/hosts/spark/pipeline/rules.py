"""Rules of a pipeline: a file or a folder that is checked for changes while the stream runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from augury.engine.rules.table import read_rules
from augury.engine.rules.versions import publish
from augury.errors import AuguryError, HostError
from augury.hosts.spark.pipeline.config import Pipeline
from augury.hosts.spark.stream.pruning import prune_rules


def prune_own_versions(pipeline: Pipeline, say: Callable[[str], None]) -> None:
    """Remove versions of rules that no stream of a pipeline needs any more, from folders that only it reads."""
    for query in pipeline.query:
        # A folder named in the configuration may have other readers.
        if query.rules is not None and query.versions is None and pipeline.streaming is not None:
            checkpoint = pipeline.folder / pipeline.streaming.checkpoint / query.name
            if (checkpoint / "commits").is_dir():
                try:
                    prune_rules(pipeline.versions(query), checkpoint)
                except HostError as e:
                    say(f"{query.name}: {e}")


Signature = tuple[tuple[str, int, int], ...]
"""The names, sizes and times of files, by which changes are detected."""


@dataclass(slots=True)
class WatchedRules:
    """The rules of a query, published again when their file or a file of their folder changes."""

    query: str
    source: Path
    versions: Path
    say: Callable[[str], None]
    seen: Signature

    def look(self) -> None:
        """Publish the rules if they have changed; if they cannot be read, report it and keep the published ones."""
        now = signature(self.source)
        if now == self.seen:
            return
        self.seen = now
        try:
            number = publish(self.versions, read_rules(self.source))
        except AuguryError as e:
            self.say(f"{self.query}: the rules stay as they are: {e}")
            return
        self.say(f"{self.query}: version {number} of the rules")


def signature(source: Path) -> Signature:
    """The signature of a file or a folder of rules; empty if it is gone."""
    files = sorted(source.rglob("*.toml")) if source.is_dir() else [source]
    found = []
    for file in files:
        try:
            stated = file.stat()
        except OSError:
            continue
        found.append((str(file), stated.st_size, stated.st_mtime_ns))
    return tuple(found)
