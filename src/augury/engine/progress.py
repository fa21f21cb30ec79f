"""How far a stream has come, and one step further: events are held back, put in order and matched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from augury.engine.arrivals import Arrivals, in_order, release
from augury.engine.stages import FIRST_DERIVED, Stage, StageResult, step
from augury.options import Options
from augury.runtime.state import LONG_AGO
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Progress:
    """The stages of a program, events `held` back until the watermark passes them, and the numbers that come next."""

    stages: tuple[Stage, ...]
    held: Arrivals
    next_row: int = 0
    next_derived: int = FIRST_DERIVED
    watermark: int = LONG_AGO


P = TypeVar("P", bound=Progress)


def due(at: Progress, schema: EventSchema) -> tuple[Arrivals, Arrivals]:
    """The held events that the watermark has passed, in order, and those that still wait."""
    ready, held = release(at.held, at.watermark)
    return in_order(ready, schema), held


def advance(at: P, ready: Arrivals, held: Arrivals, options: Options) -> tuple[P, tuple[StageResult, ...]]:
    """Match the events that are due; what each stage found, and the progress after it, in which `held` still wait."""
    chain, found, next_derived = step(at.stages, ready, at.watermark, at.next_derived, options)
    return replace(at, stages=chain, held=held, next_derived=next_derived), found
