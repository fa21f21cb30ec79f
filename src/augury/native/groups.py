"""Arrays that functions of the library take together, as named tuples.

A named tuple makes a call from Python twice as expensive as its arrays would, but once per batch, not per event.
Functions unpack the arrays first, outside of their loops.
"""

from __future__ import annotations

from typing import NamedTuple

from augury.native.kinds import Bytes2, Floats2, Floats3, Floats4, Ints, Ints2, Ints3


class Nodes(NamedTuple):
    """The nodes of a match buffer (`augury.codegen.eager.arrays`)."""

    event: Ints
    before: Ints
    component: Ints
    start: Ints
    edge: Ints


class Edges(NamedTuple):
    """Predecessors of nodes beyond the first, as linked lists."""

    node: Ints
    next: Ints


class Runs(NamedTuple):
    """Positions of runs: the node of each, the next run of its partition, and the first run of each partition."""

    node: Ints
    next: Ints
    first: Ints


class Weights(NamedTuple):
    """The weights of events: which components count for each sum and each least value, and the values by event."""

    on_sum: Bytes2
    on_least: Bytes2
    sums: Floats3
    keys: Ints2


class Ways(NamedTuple):
    """Totals over the histories of each node: their number as a pair of floats, sums, and least keys."""

    number: Floats2
    sums: Floats3
    least: Ints2


class Products(NamedTuple):
    """Totals for each cell of a product of matrices, or for each row of one and an event."""

    number: Floats3
    sums: Floats4
    least: Ints3


class Counting(NamedTuple):
    """Scratch arrays of `count`, with a cell per node or per depth of its walk."""

    stack: Ints
    cursor: Ints
    total: Ints
    ways: Ints
    earliest: Ints
    value: Ints
    fork: Ints
    stamp: Ints
