"""The queries in examples/, each with its events and the matches that are kept beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


@dataclass(frozen=True, slots=True)
class Example:
    """One query of an example."""

    query: Path

    @property
    def name(self) -> str:
        return f"{self.query.parent.name}/{self.query.stem}"

    @property
    def events(self) -> Path:
        csv = self.query.with_name("events.csv")
        return csv if csv.exists() else self.query.with_name("readings.jsonl")

    @property
    def matches(self) -> Path:
        return self.query.with_suffix(".matches.csv")


BUNDLED = [Example(query) for query in sorted(EXAMPLES.glob("*/*.augury"))]
FOLDERS = sorted({example.query.parent for example in BUNDLED})
