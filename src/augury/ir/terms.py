"""Enumerations of the language."""

from __future__ import annotations

from enum import StrEnum


class Strategy(StrEnum):
    """Event selection strategies: the events that a run may skip (paper 001, section 2)."""

    STRICT_CONTIGUITY = "strict_contiguity"
    PARTITION_CONTIGUITY = "partition_contiguity"
    SKIP_TILL_NEXT_MATCH = "skip_till_next_match"
    SKIP_TILL_ANY_MATCH = "skip_till_any_match"


class OutputMode(StrEnum):
    """The matches that are reported, and their form."""

    ALL = "ALL"
    NONOVERLAP = "NONOVERLAP"
    COVER = "COVER"
    LATEST = "LATEST"
    COUNT = "COUNT"
    FIRST = "FIRST"
    LONGEST = "LONGEST"
    LONGEST_NONOVERLAP = "LONGEST NONOVERLAP"
    NONOVERLAP_FROM = "NONOVERLAP FROM"
    TIMEOUTS = "TIMEOUTS"
    ALL_WITH_TIMEOUTS = "ALL WITH TIMEOUTS"
    FIRST_WITH_TIMEOUTS = "FIRST WITH TIMEOUTS"

    @property
    def has_timeouts(self) -> bool:
        """Whether timed-out partial matches are reported."""
        return self in (OutputMode.TIMEOUTS, OutputMode.ALL_WITH_TIMEOUTS, OutputMode.FIRST_WITH_TIMEOUTS)


class Operator(StrEnum):
    """The operator of a group: how its parts are ordered in time."""

    SEQ = "SEQ"
    AND = "AND"
    OR = "OR"


AGGREGATES = ("count", "sum", "avg", "min", "max", "stddev", "first", "last")
"""Functions over the elements of an iterated variable."""
