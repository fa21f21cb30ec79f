"""Loops over the candidates of a state: how they are found, and what is tested of each before it is taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from augury.codegen.common.lines import Line
from augury.codegen.lazy.block_scan import noted_for_first, scan_blocks
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import loads, not_bound_before, same_partition, test_all, within
from augury.codegen.lazy.context import Context, Scope
from augury.codegen.lazy.key_walk import walk_key
from augury.codegen.lazy.mask_scan import first_event_conjuncts, keep_for_first, mask_range, masked_conjuncts
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.range_scan import narrow_range, scan_range, set_range
from augury.codegen.lazy.report import report_each, reports_only
from augury.codegen.lazy.sorted_search import search_sorted
from augury.ir.predicate import Conjunct
from augury.plan import Bound, Key, NearLists


@dataclass(frozen=True, slots=True)
class RangeScan:
    """A search that tries every event of a range of the buffer."""


@dataclass(frozen=True, slots=True)
class KeyWalk:
    """The events with the same key as one bound before, along an index."""

    key: Key


@dataclass(frozen=True, slots=True)
class SortedSearch:
    """The events of a range whose value lies between bounds, by sorted blocks."""

    bounds: tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class MaskScan:
    """The events of a range that pass conjuncts, tested many at a time."""

    conjuncts: tuple[Conjunct, ...]
    remaining: tuple[Conjunct, ...]
    """Conjuncts to test now: the others were tested when candidates were kept for the first event."""
    kept: bool
    """Whether the range is one of the candidates that were kept for the first event."""


@dataclass(frozen=True, slots=True)
class BlockScan:
    """The events of a range whose lists are near another one, 64 at a time."""

    near: NearLists
    noted: bool
    """Whether they are noted once for each first event, and tested then."""


Search: TypeAlias = "RangeScan | KeyWalk | SortedSearch | MaskScan | BlockScan"

Then: TypeAlias = "Callable[[Body, Scope], None]"
"""Emits the statements for an event that the state has taken."""


def search_of(ctx: Context, node: Node, scope: Scope) -> Search:
    """The search that finds the candidates of a state."""
    key = ctx.key(node)
    if key is not None:
        return KeyWalk(key)
    if node.step.bounds:
        return SortedSearch(node.step.bounds)
    conjuncts, kept = masked_conjuncts(ctx, node), node.number in scope.kept
    if conjuncts:
        tested = first_event_conjuncts(ctx, node) if kept else ()
        return MaskScan(conjuncts, tuple(j for j in conjuncts if j not in tested), kept)
    if node.step.near is not None:
        return BlockScan(node.step.near, noted_for_first(node, node.step.near, scope))
    return RangeScan()


def search_for(ctx: Context, out: Body, node: Node, then: Then, scope: Scope, *, first: bool = False) -> None:
    """The loop over the candidates of a state, and what happens `then` with each that passes its tests.

    Around the `first` loop inside that over the first events, their ranges of later states are narrowed.
    """
    depth = out.depth
    out.states.add(node.number)
    search = search_of(ctx, node, scope)
    later = _later_states(ctx, node) if first else []
    inside = Body(depth=depth + 1 + bool(_lists_places(search) and later))
    _test_candidate(ctx, inside, node, search)
    tested = bool(inside.items)
    narrowed = [n for n in later if ctx.key(n) is None]
    inner = replace(
        scope,
        narrowed=scope.narrowed | {n.number for n in narrowed},
        kept=scope.kept | {n.number for n in narrowed if first_event_conjuncts(ctx, n)},
    )
    then(inside, inner)
    if isinstance(search, MaskScan) and search.kept and _reads_number_alone(ctx, node, inside):
        ctx.number_alone.add(node.number)
    out.buffers.add(ctx.buffer(node.variable).number)
    _find(ctx, out, node, search, scope, first=first)
    if _lists_places(search) and later:
        out.add(f"if found_{ctx.names[node.variable]} > 0:")
        out.depth += 1
    _narrow(ctx, out, narrowed, inside)
    places = _places(ctx, node, search)
    if not tested and places is not None and reports_only(ctx, node, scope):
        kept = isinstance(search, MaskScan) and search.kept
        source = f"passed{node.number}" if kept else ctx.buffer(node.variable).name
        report_each(ctx, out, node, places.span, places.count, f"{source}_e[{places.at}]")
    else:
        _take(ctx, out, node, search, inside)
    out.depth = depth


def _later_states(ctx: Context, node: Node) -> list[Node]:
    """The states that the same function looks for after a first one, and those of negated parts at any of them."""
    here = list(node.until(ctx.cuts))
    numbers = [n.number for n in here]
    return here[1:] + [found for (at, _), found in ctx.negated.items() if at in numbers]


def _test_candidate(ctx: Context, out: Body, node: Node, search: Search) -> None:
    """The conjuncts still to test on a candidate that the search has found."""
    low, high = not node.step.after, not node.step.before
    if ctx.counts_by_partition and (low or high):
        within(ctx, out, node, out.local(f"t_{ctx.names[node.variable]}"), low=low, high=high)
    same_partition(ctx, out, node)
    not_bound_before(ctx, out, node)
    match search:
        case MaskScan(conjuncts):
            found_by: tuple[Conjunct, ...] = conjuncts
        case BlockScan(near, noted=True):
            found_by = (near.conjunct,)
        case RangeScan() | KeyWalk() | SortedSearch() | BlockScan():
            found_by = ()
        case _:
            assert_never(search)
    done = set(map(id, found_by))
    test_all(ctx, out, [j for j in node.step.component.take if id(j) not in done])


def _find(ctx: Context, out: Body, node: Node, search: Search, scope: Scope, *, first: bool) -> None:
    """Set `lo` and `hi`, the range of candidates, and `found` where their positions are written down."""
    match search:
        case KeyWalk():
            pass
        case SortedSearch(bounds):
            set_range(ctx, out, node, scope, ascending=first)
            search_sorted(ctx, out, node, bounds)
        case MaskScan(_, remaining, kept):
            set_range(ctx, out, node, scope, ascending=first)
            if remaining:
                mask_range(ctx, out, node, remaining, kept=kept)
        case RangeScan() | BlockScan():
            set_range(ctx, out, node, scope, ascending=first)
        case _:
            assert_never(search)


def _lists_places(search: Search) -> bool:
    """Whether the positions of candidates that pass are written down before they are taken."""
    return isinstance(search, SortedSearch) or (isinstance(search, MaskScan) and bool(search.remaining))


def _narrow(ctx: Context, out: Body, later: Sequence[Node], inside: Body) -> None:
    """Emit the ranges of later states that the first event decides, then `inside`, which uses them."""
    for n in later:
        narrow_range(ctx, out, n)
        noted = f"noted{n.number}_{ctx.names[n.variable]}"
        if noted in inside.flags:
            out.add(f"{noted} = False")
        if first_event_conjuncts(ctx, n):
            keep_for_first(ctx, out, n)


@dataclass(frozen=True, slots=True)
class _Places:
    """The range of `at`, its size, and the position of a candidate."""

    span: str
    count: str
    at: str


def _places(ctx: Context, node: Node, search: Search) -> _Places | None:
    """The positions of candidates, where they are known before any of them is taken."""
    v, n = ctx.names[node.variable], node.number
    match search:
        case SortedSearch():
            return _Places(f"found_{v}", f"found_{v}", f"found{n}[at_{v}]")
        case MaskScan(_, ()):
            return _Places(f"lo_{v}, hi_{v}", f"(hi_{v} - lo_{v})", f"at_{v}")
        case MaskScan():
            return _Places(f"found_{v}", f"found_{v}", f"found{n}[at_{v}]")
        case RangeScan() | KeyWalk() | BlockScan():
            return None
        case _:
            assert_never(search)


def _take(ctx: Context, out: Body, node: Node, search: Search, inside: Body) -> None:
    """The loop itself."""
    v, n = ctx.names[node.variable], node.number
    loaded = [node.variable]
    match search:
        case RangeScan():
            scan_range(ctx, out, node)
        case KeyWalk(key):
            walk_key(ctx, out, node, key)
        case BlockScan(near, noted):
            scan_blocks(ctx, out, node, near, noted=noted)
        case SortedSearch() | MaskScan():
            places = _places(ctx, node, search)
            assert places is not None
            out.add(f"for at_{v} in range({places.span}):", f"take {ctx.label(node)}")
            kept = isinstance(search, MaskScan) and search.kept
            position = f"j_{v} = {f'passed{n}[{places.at}]' if kept else places.at}"
            if n in ctx.number_alone and kept:
                position, loaded = f"e_{v} = passed{n}_e[{places.at}]", []
            out.items.append(Line(out.depth + 1, position, ""))
        case _:
            assert_never(search)
    out.depth += 1
    loads(ctx, out, loaded, inside)
    out.include(inside)


def _reads_number_alone(ctx: Context, node: Node, inside: Body) -> bool:
    """Whether nothing of the event of a state is read but its number."""
    v, b = ctx.names[node.variable], ctx.buffer(node.variable)
    return not inside.reads & {f"j_{v}", f"p_{v}", f"r_{v}", f"t_{v}", *(f"{v}__{x}" for x in b.columns)}
