"""The position of a stream, and advancing it by one step: due events are put in order and matched."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from augury.engine.arrivals import Arrivals, in_order, release
from augury.engine.stages import FIRST_DERIVED, Stage, StageResult, step
from augury.nouns import per_batch
from augury.options import Options
from augury.runtime.state import LONG_AGO
from augury.schema import EventSchema


@per_batch(kw_only=True)
class Progress:
    """The stages of a program, the events `held` back until the watermark passes them, and the next numbers to give."""

    stages: tuple[Stage, ...]
    held: Arrivals
    next_row: int = 0
    next_derived: int = FIRST_DERIVED
    watermark: int = LONG_AGO


P = TypeVar("P", bound=Progress)


def due(at: Progress, schema: EventSchema) -> tuple[Arrivals, Arrivals]:
    """Split held events into those the watermark has passed, in order, and those that still wait."""
    ready, held = release(at.held, at.watermark)
    return in_order(ready, schema), held


def advance(at: P, ready: Arrivals, held: Arrivals, options: Options) -> tuple[P, tuple[StageResult, ...]]:
    """Match the due events: the progress after the step, in which `held` still wait, and what each stage found."""
    chain, found, next_derived = step(at.stages, ready, at.watermark, at.next_derived, options)
    return replace(at, stages=chain, held=held, next_derived=next_derived), found
