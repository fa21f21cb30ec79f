"""Parts of encoding that compiled code computes, once there is some."""

from __future__ import annotations

import numpy as np

from augury.jit.tier import Tier
from augury.runtime.computed import Floats, Standardised, StandardiseRows, standardise_rows


def standardising(support: Tier) -> StandardiseRows:
    """Compute `standardise_rows` by compiled code, equal to the last bit."""

    def by_support(rows: Floats) -> Standardised:
        if support.plain:
            return support.timed_call(standardise_rows, rows)
        result, squares = np.empty(rows.shape), np.empty(len(rows))
        support("standardise_each", rows, result, squares)
        return result, (squares > 0.0) & (squares < np.inf)

    return by_support
