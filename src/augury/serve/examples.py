"""The bundled examples: queries in folders, with the events they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import augury

QUERY_SUFFIXES = {".augury": "PATTERN", ".sql": "SQL"}
"""The languages of query files by suffix."""

EVENT_SUFFIXES = (".parquet", ".csv", ".jsonl", ".arrow")


@dataclass(frozen=True, slots=True)
class Example:
    """A query, and the files of events in its folder."""

    name: str
    language: str
    text: str
    files: tuple[Path, ...]


def bundled_examples(folder: Path | None = None) -> tuple[Example, ...]:
    """The examples in subfolders of a folder, by default of this installation; SQL comes last."""
    folder = folder or _installed()
    found = () if folder is None else _examples(folder)
    return tuple(sorted(found, key=lambda example: list(QUERY_SUFFIXES.values()).index(example.language)))


def _installed() -> Path | None:
    """The folder of the examples: in the package, or beside the sources of an editable installation."""
    package = Path(augury.__file__).parent
    found = [folder for folder in (package / "examples", package.parents[1] / "examples") if folder.is_dir()]
    return found[0] if found else None


def _examples(folder: Path) -> Iterator[Example]:
    for part in sorted(path for path in folder.iterdir() if path.is_dir()):
        files = sorted(path for path in part.iterdir() if path.suffix in EVENT_SUFFIXES and not _is_expected(path))
        queries = sorted(path for path in part.iterdir() if path.suffix in QUERY_SUFFIXES)
        for query in queries if files else ():
            name = part.name if len(queries) == 1 else f"{part.name}: {query.stem.replace('_', ' ')}"
            text = query.read_text(encoding="utf-8")
            # Events whose file name occurs in the query come first.
            yield Example(
                name, QUERY_SUFFIXES[query.suffix], text, tuple(sorted(files, key=lambda f: f.stem not in text))
            )


def _is_expected(path: Path) -> bool:
    """Whether a file holds the matches of a query, such as `fraud.matches.csv`."""
    return path.stem.endswith(".matches")
