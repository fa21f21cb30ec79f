"""A description of a plan: lines of text, and tables whose columns are still to be aligned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with equally many cells, all indented by `indent`."""

    rows: Sequence[Sequence[str]]
    indent: str = "  "


Description: TypeAlias = "list[str | Table]"
"""Parts in display order; an empty line separates groups of them."""
