"""What linked chains, and factorised sequences, of every query do alike; compiled once for all of them.

Ways back are the nodes of `kernels.common.segment`. Only what Numba compiles belongs here; the functions of the prelude
are there by name.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.prelude import INT_MAX, INT_MIN, lower_bound


def settled(
    n: int,
    ended: int,
    watermark: int,
    span: int,
    F_parent: NDArray[Any],
    F_chain: NDArray[Any],
    F_next: NDArray[Any],
    F_events: NDArray[Any],
    L_parent: NDArray[Any],
    L_chain: NDArray[Any],
    REL: NDArray[Any],
    CH: NDArray[Any],
    C_last: NDArray[Any],
    time: NDArray[Any],
    part: NDArray[Any],
    out: NDArray[Any],
) -> int:
    """Which combinations of chains get no further match, each once: `F_next` marks those that have been given out.

    That is so when their chains have ended, or are out of reach of one that has; `ended` when the stream has.
    """
    found = 0
    for q in range(n):
        if F_next[q] != 0:
            continue
        k = F_events.shape[1]
        g = part[F_events[q, 0]]
        growing = False
        earliest = INT_MAX
        chain, above = F_chain[q], F_parent[q]
        for j in range(k - 1, -1, -1):
            if CH[j, g] == chain and (REL[g] >> j) & 1 != 0:
                growing = True
            else:
                earliest = min(earliest, time[C_last[chain]])
            if j > 0:
                chain = L_chain[above]
                above = L_parent[above]
        reach = span >= 0 and earliest != INT_MAX and watermark - span > earliest
        if ended != 0 or not growing or reach:
            F_next[q] = 1
            out[found] = q
            found += 1
    return found


def chain_ways(
    starts: NDArray[Any],
    E: NDArray[Any],
    R: NDArray[Any],
    T: NDArray[Any],
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
    node_start: NDArray[Any],
    node_edge: NDArray[Any],
    edge_node: NDArray[Any],
    edge_next: NDArray[Any],
) -> None:
    """Sequences of one event of each buffer as ways back: position p is node 2p, it or an earlier one node 2p + 1."""
    for b in range(starts.shape[0] - 1):
        for p in range(starts[b], starts[b + 1]):
            before = -1
            if b > 0:
                before = lower_bound(R, starts[b - 1], starts[b], R[p]) - 1
                # Nothing before it: no way back, as if its history had been thrown away.
                before = 2 * before + 1 if before >= starts[b - 1] else -3
            join_ways(
                p,
                before,
                2 * p - 1 if p > starts[b] else -1,
                b,
                E[p],
                T[p],
                node_event,
                node_before,
                node_component,
                node_start,
                node_edge,
                edge_node,
                edge_next,
            )


def join_ways(
    p: int,
    before: int,
    earlier: int,
    code: int,
    event: int,
    start: int,
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
    node_start: NDArray[Any],
    node_edge: NDArray[Any],
    edge_node: NDArray[Any],
    edge_next: NDArray[Any],
) -> None:
    """Node 2p is `event` after the node `before`, node 2p + 1 is that or one `earlier`, by edge p."""
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
    N_event: NDArray[Any],
    N_prev: NDArray[Any],
    N_up: NDArray[Any],
    N_list: NDArray[Any],
    L_depth: NDArray[Any],
    rank: NDArray[Any],
    clock: NDArray[Any],
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
    node_start: NDArray[Any],
    node_edge: NDArray[Any],
    edge_node: NDArray[Any],
    edge_next: NDArray[Any],
) -> None:
    """The nodes of linked chains as ways back: node x is node 2x, it or an earlier one of its list node 2x + 1."""
    for x in range(n):
        depth, e = L_depth[N_list[x]], N_event[x]
        before = -1
        if depth > 0:
            above = latest_before(N_up[x], rank[e], rank, N_event, N_prev)
            before = 2 * above + 1 if above >= 0 else -3
        earlier = 2 * N_prev[x] + 1 if N_prev[x] >= 0 else -1
        join_ways(
            x,
            before,
            earlier,
            depth,
            e,
            clock[e],
            node_event,
            node_before,
            node_component,
            node_start,
            node_edge,
            edge_node,
            edge_next,
        )


def final_ways(
    nf: int,
    n: int,
    F_event: NDArray[Any],
    F_up: NDArray[Any],
    last: int,
    N_event: NDArray[Any],
    N_prev: NDArray[Any],
    rank: NDArray[Any],
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
    node_start: NDArray[Any],
    node_edge: NDArray[Any],
) -> None:
    """Nodes 2n + f for the events that complete matches by going on from the nodes `F_up` or earlier ones."""
    for f in range(nf):
        above = latest_before(F_up[f], rank[F_event[f]], rank, N_event, N_prev)
        node_event[2 * n + f] = F_event[f]
        node_before[2 * n + f] = 2 * above + 1 if above >= 0 else -3
        node_component[2 * n + f] = last
        node_start[2 * n + f] = node_start[2 * above + 1] if above >= 0 else INT_MIN
        node_edge[2 * n + f] = -1


def latest_before(node: int, k: int, rank: NDArray[Any], N_event: NDArray[Any], N_prev: NDArray[Any]) -> int:
    """The last node from `node` back whose event has a lower rank than `k`; -1 if there is none."""
    while node >= 0 and rank[N_event[node]] >= k:
        node = N_prev[node]
    return node
