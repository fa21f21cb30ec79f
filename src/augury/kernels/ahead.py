"""Compiling a kernel before it is called, for a stream that is not to wait for a compiler."""

from __future__ import annotations

from typing import Any

from augury.ir.terms import OutputMode
from augury.kernels.common.shared import SharedReporting
from augury.kernels.eager.kernel import AutomatonKernel
from augury.kernels.lazy.kernel import LazyKernel
from augury.kernels.linked.kernel import LinkedKernel
from augury.kernels.lossy.kernel import LossyKernel
from augury.kernels.stream import StreamKernel
from augury.native import buffer, chains, containing, ordering, packed, rates, sequences, standardising, weighing
from augury.schema import Kind


def compile_ahead(kernel: StreamKernel[Any]) -> int:
    """Compile every function that a kernel calls, from their signatures; how many forms were not there before.

    What lies in the cache is loaded from there. A kernel that is to stay plain Python is left as it is.
    """
    tiers = (*kernel.codes, kernel.support)
    before = sum(tier.compiled for tier in tiers)
    for code in kernel.codes:
        code.compile()
    kernel.support.compile({function.__name__ for function in library_calls(kernel)})
    return sum(tier.compiled for tier in tiers) - before


def library_calls(kernel: StreamKernel[Any]) -> set[Any]:
    """The functions of the library that a kernel may call as a stream runs through it."""
    query = kernel.query
    calls: set[Any] = set()
    if kernel.keys:
        calls |= {buffer.number, buffer.index_keys}
    if any(column.type.kind is Kind.LIST for column in query.schema.columns):
        calls.add(standardising.standardise_each)
    match kernel:
        case AutomatonKernel():
            calls |= {buffer.collect, buffer.sweep, *_reported(kernel.reporting), *_ways(kernel.reporting)}
        case LazyKernel():
            calls |= {
                buffer.number,
                buffer.index_keys,
                buffer.rehead,
                *_reported(kernel.chain(kernel.plan.variant).reporting),
            }
            if kernel.better is not None:
                calls.add(rates.moved)
            if kernel.shares:
                calls |= {
                    sequences.count_sequences,
                    sequences.write_sequences,
                    chains.chain_ways,
                    weighing.weigh_sequences,
                }
                calls |= _ways(kernel.chain(kernel.plan.variant).reporting)
        case LinkedKernel():
            calls |= _reported(kernel.reporting)
            if query.output is OutputMode.COVER:
                calls.add(chains.settled)
            if kernel.shares:
                calls |= {chains.linked_ways, chains.final_ways, *_ways(kernel.reporting)}
        case LossyKernel():
            pass
    return calls


def _reported(reporting: SharedReporting) -> set[Any]:
    """The library functions by which reporting sorts matches and writes them."""
    calls: set[Any] = {buffer.split, ordering.spell, ordering.pack_keys, ordering.merge_keys}
    calls |= {ordering.write_rows, ordering.write_words, ordering.write_ordered_rows, ordering.write_ordered_lists}
    if reporting.fixed:
        calls |= {packed.measure_rows, packed.pack_rows, packed.sort_packed, packed.write_packed}
    if reporting.query.output is OutputMode.LATEST:
        calls.add(buffer.latest_matches)
    if reporting.query.output in (OutputMode.LONGEST, OutputMode.LONGEST_NONOVERLAP):
        calls.add(containing.mark_contained)
    if reporting.totals:
        calls |= {weighing.weigh_matches, weighing.weigh_rows}
    return calls


def _ways(reporting: SharedReporting) -> set[Any]:
    """The library functions that write out or count matches that share their events."""
    return {buffer.expand, buffer.count, *({weighing.weigh_ways} if reporting.totals else ())}
