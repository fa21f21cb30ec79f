"""The events that fit components, listed for the searches of generated functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from augury.jit.tier import Tier
from augury.runtime.batch import Integers
from augury.runtime.events import EventStore


def candidates(
    code: Tier, components: int, events: EventStore, stream: tuple[npt.NDArray[Any], ...] | list[npt.NDArray[Any]]
) -> tuple[Integers, Integers, Integers]:
    """The events that fit each component, by partition: where each begins, their partitions, the events.

    The kernel has an entry `fits`, which tells them by the number of the component.
    """
    n = events.length
    starts, parts, fitting = [0], [], []
    for k in range(components):
        fits = np.zeros(n, dtype=np.uint8)
        code("fits", k, n, fits, *stream)
        found = np.flatnonzero(fits)
        partition = events.view("partition")[found]
        order = np.argsort(partition, kind="stable")
        parts.append(partition[order])
        fitting.append(found[order])
        starts.append(starts[-1] + len(found))
    return (
        np.array(starts, dtype=np.int64),
        np.concatenate(parts).astype(np.int64),
        np.concatenate(fitting).astype(np.int64),
    )
