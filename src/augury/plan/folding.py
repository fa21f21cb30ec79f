"""How the matches of a pattern that was written out become those of a query with groups."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenRound:
    """One round of `group`: for each variable inside the name that it has in the pattern written out."""

    group: str
    names: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Folding:
    """The positive variables of a query with groups, and every round of them, an earlier one before a later one.

    A match binds the rounds of one choice of their numbers, and nothing of the others.
    """

    variables: tuple[str, ...]
    rounds: tuple[WrittenRound, ...]
