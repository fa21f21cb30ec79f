"""The text of a query, given as it is or as the path of a file."""

from __future__ import annotations

import os

from augury import arguments
from augury.engine.sources.paths import near_name
from augury.errors import HostError
from augury.source import Source


def query_source(query: str | os.PathLike[str]) -> Source:
    """The query text; a path names the file that holds it."""
    if isinstance(query, str):
        return Source(query)
    if not isinstance(query, os.PathLike):
        raise arguments.unusable("query", "the text of a query, or a Path to a file that holds it", query)
    path = arguments.path("query", query)
    try:
        return Source(path.read_text(encoding="utf-8-sig"), path.name)
    except FileNotFoundError:
        raise HostError("A560", f"there is no query file `{path}`", near_name(path)) from None
    except (OSError, ValueError) as e:
        raise HostError("A561", f"the query of `{path}` cannot be read: {e}") from e
