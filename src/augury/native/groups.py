"""Arrays that functions of the library take together, as named tuples.

A named tuple costs a call from Python twice what its arrays would: once for each batch, not for each event. Functions
take the arrays out at their head, so that no loop does.
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
    """Further ways back from nodes."""

    node: Ints
    next: Ints


class Runs(NamedTuple):
    """Where runs stand: the node of each, the next one of its partition, and the first of each partition."""

    node: Ints
    next: Ints
    first: Ints


class Weights(NamedTuple):
    """What events add: which components count for what is summed and for what is least, then by event."""

    on_sum: Bytes2
    on_least: Bytes2
    sums: Floats3
    keys: Ints2


class Ways(NamedTuple):
    """Ways back from each node: how many there are, as a pair of floats, what they sum up to, and their least keys."""

    number: Floats2
    sums: Floats3
    least: Ints2


class Products(NamedTuple):
    """The same for each cell of a product of matrices, or for each row of one and an event."""

    number: Floats3
    sums: Floats4
    least: Ints3


class Counting(NamedTuple):
    """Scratch of `count`, a cell for each node or each depth of its walk."""

    stack: Ints
    cursor: Ints
    total: Ints
    ways: Ints
    earliest: Ints
    value: Ints
    fork: Ints
    stamp: Ints
