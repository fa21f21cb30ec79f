"""Functions for linked chains and for factorised sequences; compiled once for all queries.

Histories are stored as nodes of `kernels.common.segment`. This module holds only what Numba compiles; it calls the
functions of the prelude by name.
"""

from __future__ import annotations

from augury.native.groups import Edges, Nodes
from augury.native.kinds import Ints, Ints2
from augury.native.prelude import INT_MAX, INT_MIN, lower_bound


def settled(
    n: int,
    ended: int,
    watermark: int,
    span: int,
    final_parent: Ints,
    final_chain: Ints,
    final_given: Ints,
    final_events: Ints2,
    list_parent: Ints,
    list_chain: Ints,
    growing: Ints,
    newest_chain: Ints2,
    chain_last: Ints,
    time: Ints,
    part: Ints,
    out: Ints,
) -> int:
    """The combinations of chains that get no further match; `final_given` marks those already returned.

    A combination is settled when its chains have ended or are out of reach of one that has, or when the stream `ended`.
    """
    found = 0
    for q in range(n):
        if final_given[q] != 0:
            continue
        k = final_events.shape[1]
        g = part[final_events[q, 0]]
        grows = False
        earliest = INT_MAX
        chain, above = final_chain[q], final_parent[q]
        for j in range(k - 1, -1, -1):
            if newest_chain[j, g] == chain and (growing[g] >> j) & 1 != 0:
                grows = True
            else:
                earliest = min(earliest, time[chain_last[chain]])
            if j > 0:
                chain = list_chain[above]
                above = list_parent[above]
        reach = span >= 0 and earliest != INT_MAX and watermark - span > earliest
        if ended != 0 or not grows or reach:
            final_given[q] = 1
            out[found] = q
            found += 1
    return found


def chain_ways(
    starts: Ints,
    events: Ints,
    ranks: Ints,
    times: Ints,
    nodes: Nodes,
    edges: Edges,
) -> None:
    """Build the nodes of sequences with one event per buffer: position p is node 2p, and 2p + 1 joins earlier ones."""
    for b in range(starts.shape[0] - 1):
        for p in range(starts[b], starts[b + 1]):
            before = -1
            if b > 0:
                before = lower_bound(ranks, starts[b - 1], starts[b], ranks[p]) - 1
                # No event before it: an empty history, as if it had expired.
                before = 2 * before + 1 if before >= starts[b - 1] else -3
            join_ways(
                p,
                before,
                2 * p - 1 if p > starts[b] else -1,
                b,
                events[p],
                times[p],
                nodes,
                edges,
            )


def join_ways(
    p: int,
    before: int,
    earlier: int,
    code: int,
    event: int,
    start: int,
    nodes: Nodes,
    edges: Edges,
) -> None:
    """Write node 2p for `event` after the node `before`, and node 2p + 1 for that node or one `earlier`, by edge p."""
    node_event = nodes.event
    node_before = nodes.before
    node_component = nodes.component
    node_start = nodes.start
    node_edge = nodes.edge
    edge_node = edges.node
    edge_next = edges.next
    m, u = 2 * p, 2 * p + 1
    node_event[m] = node_event[u] = event
    node_component[m] = code
    node_component[u] = -1
    node_before[m] = before
    node_before[u] = m
    node_edge[m] = -1
    node_edge[u] = p if earlier >= 0 else -1
    edge_node[p] = earlier
    edge_next[p] = -1
    node_start[m] = start if before == -1 else (node_start[before] if before >= 0 else INT_MIN)
    node_start[u] = max(node_start[m], node_start[earlier]) if earlier >= 0 else node_start[m]


def linked_ways(
    n: int,
    link_event: Ints,
    link_before: Ints,
    link_above: Ints,
    link_list: Ints,
    list_depth: Ints,
    rank: Ints,
    clock: Ints,
    nodes: Nodes,
    edges: Edges,
) -> None:
    """Build the nodes of linked chains: node x is node 2x, and 2x + 1 joins it with earlier ones of its list."""
    for x in range(n):
        depth, e = list_depth[link_list[x]], link_event[x]
        before = -1
        if depth > 0:
            above = latest_before(link_above[x], rank[e], rank, link_event, link_before)
            before = 2 * above + 1 if above >= 0 else -3
        earlier = 2 * link_before[x] + 1 if link_before[x] >= 0 else -1
        join_ways(
            x,
            before,
            earlier,
            depth,
            e,
            clock[e],
            nodes,
            edges,
        )


def final_ways(
    nf: int,
    n: int,
    final_event: Ints,
    final_above: Ints,
    last: int,
    link_event: Ints,
    link_before: Ints,
    rank: Ints,
    nodes: Nodes,
) -> None:
    """Build nodes 2n + f for the events that complete matches after the nodes `final_above` or earlier ones."""
    node_event = nodes.event
    node_before = nodes.before
    node_component = nodes.component
    node_start = nodes.start
    node_edge = nodes.edge
    for f in range(nf):
        above = latest_before(final_above[f], rank[final_event[f]], rank, link_event, link_before)
        node_event[2 * n + f] = final_event[f]
        node_before[2 * n + f] = 2 * above + 1 if above >= 0 else -3
        node_component[2 * n + f] = last
        node_start[2 * n + f] = node_start[2 * above + 1] if above >= 0 else INT_MIN
        node_edge[2 * n + f] = -1


def latest_before(node: int, k: int, rank: Ints, link_event: Ints, link_before: Ints) -> int:
    """The last node from `node` back whose event ranks below `k`; -1 if there is none."""
    while node >= 0 and rank[link_event[node]] >= k:
        node = link_before[node]
    return node
