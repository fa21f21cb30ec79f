"""Sums and least values over all matches that an event completes, without writing the matches out where that is so.

Compiled once for all queries, like `augury.native.buffer`; the functions of the prelude are there by name.

A number of ways, and a sum over ways, can need more bits than a float has: both are pairs of floats, whose exact sum is
the value. Integers up to 2**100 are exact, and the sum of floats hardly depends on the order of adding them up. What is
to be the greatest is made the least by its key (`augury.kernels.common.totals`); INT_MAX is the key of nothing.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from augury.native.prelude import INT_MAX, INT_MIN, stopped


def added(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """The pair (x, y) plus the pair (a, b)."""
    s = x + a
    if not abs(s) < 1e300:
        return s, 0.0
    v = s - x
    e = (x - (s - v)) + (a - v) + (y + b)
    t = s + e
    return t, e - (t - s)


def multiplied(x: float, y: float, a: float, b: float) -> tuple[float, float]:
    """The pair (x, y) times the pair (a, b); nothing times an infinity is nothing."""
    if x == 0.0 or a == 0.0:
        return 0.0, 0.0
    p = x * a
    if not abs(p) < 1e280 or abs(x) > 1e280 or abs(a) > 1e280:
        return p, 0.0
    # Each factor in two halves, whose products are exact.
    c = 134217729.0 * x
    xh = c - (c - x)
    xl = x - xh
    c = 134217729.0 * a
    ah = c - (c - a)
    al = a - ah
    e = ((xh * ah - p) + xh * al + xl * ah) + xl * al + (x * b + y * a)
    t = p + e
    return t, e - (t - p)


def weigh_matches(
    place: NDArray[Any],
    offsets: NDArray[Any],
    events: NDArray[Any],
    codes: NDArray[Any],
    on_sum: NDArray[Any],
    on_least: NDArray[Any],
    H: NDArray[Any],
    K: NDArray[Any],
    S: NDArray[Any],
    L: NDArray[Any],
) -> None:
    """Add every match m to row `place[m]` of S and L, which are to hold zeros and INT_MAX."""
    for m in range(place.shape[0]):
        r = place[m]
        for x in range(offsets[m], offsets[m + 1]):
            for t in range(on_sum.shape[0]):
                if on_sum[t, codes[x]] != 0:
                    S[r, t, 0], S[r, t, 1] = added(S[r, t, 0], S[r, t, 1], H[t, events[x], 0], H[t, events[x], 1])
            for t in range(on_least.shape[0]):
                if on_least[t, codes[x]] != 0:
                    L[r, t] = min(L[r, t], K[t, events[x]])


def weigh_rows(place: NDArray[Any], S0: NDArray[Any], L0: NDArray[Any], S: NDArray[Any], L: NDArray[Any]) -> None:
    """Add row k of S0 and L0 to row `place[k]` of S and L."""
    for k in range(place.shape[0]):
        join_rows(place[k], S, L, k, S0, L0)


def join_rows(i: int, S: NDArray[Any], L: NDArray[Any], j: int, S0: NDArray[Any], L0: NDArray[Any]) -> None:
    """Add row j of S0 and L0 to row i of S and L."""
    for t in range(S.shape[1]):
        S[i, t, 0], S[i, t, 1] = added(S[i, t, 0], S[i, t, 1], S0[j, t, 0], S0[j, t, 1])
    for t in range(L.shape[1]):
        L[i, t] = min(L[i, t], L0[j, t])


def bind_event(
    i: int,
    e: int,
    code: int,
    on_sum: NDArray[Any],
    on_least: NDArray[Any],
    H: NDArray[Any],
    K: NDArray[Any],
    W: NDArray[Any],
    S: NDArray[Any],
    L: NDArray[Any],
) -> None:
    """Add event e, bound to component `code`, to all ways of row i."""
    if code < 0 or W[i, 0] == 0.0:
        return
    for t in range(on_sum.shape[0]):
        if on_sum[t, code] != 0:
            p, q = multiplied(W[i, 0], W[i, 1], H[t, e, 0], H[t, e, 1])
            S[i, t, 0], S[i, t, 1] = added(S[i, t, 0], S[i, t, 1], p, q)
    for t in range(on_least.shape[0]):
        if on_least[t, code] != 0:
            L[i, t] = min(L[i, t], K[t, e])


def weigh_ways(
    stop: NDArray[Any],
    nf: int,
    final_node: NDArray[Any],
    node_event: NDArray[Any],
    node_before: NDArray[Any],
    node_component: NDArray[Any],
    node_start: NDArray[Any],
    node_edge: NDArray[Any],
    edge_node: NDArray[Any],
    edge_next: NDArray[Any],
    start: NDArray[Any],
    window: int,
    on_sum: NDArray[Any],
    on_least: NDArray[Any],
    H: NDArray[Any],
    K: NDArray[Any],
    stack: NDArray[Any],
    cursor: NDArray[Any],
    earliest: NDArray[Any],
    stamp: NDArray[Any],
    W: NDArray[Any],
    S: NDArray[Any],
    L: NDArray[Any],
    W1: NDArray[Any],
    S1: NDArray[Any],
    L1: NDArray[Any],
    S_out: NDArray[Any],
    L_out: NDArray[Any],
) -> int:
    """The sums and least values of the matches that end at each of the nodes `final_node[:nf]`, as `count` counts them.

    Row n of W, S and L is what all ways back from node n come to, row n of W1, S1 and L1 what those inside the window
    of one final node do. W, S and L are to hold zeros and INT_MAX. The number of nodes that were looked at.
    """
    looked = int(node_event.shape[0])
    for node in range(node_event.shape[0]):
        earliest[node] = INT_MAX
        at = -2
        while at != -1:
            before = node_before[node] if at == -2 else edge_node[at]
            at = node_edge[node] if at == -2 else edge_next[at]
            if before >= 0:
                W[node, 0], W[node, 1] = added(W[node, 0], W[node, 1], W[before, 0], W[before, 1])
                join_rows(node, S, L, before, S, L)
                earliest[node] = min(earliest[node], earliest[before])
            elif before == -1:
                W[node, 0], W[node, 1] = added(W[node, 0], W[node, 1], 1.0, 0.0)
                earliest[node] = min(earliest[node], start[node_event[node]])
            else:
                # A history that was thrown away because it had expired.
                earliest[node] = INT_MIN
        bind_event(node, node_event[node], node_component[node], on_sum, on_least, H, K, W, S, L)
    for f in range(nf):
        if stopped(stop):
            break
        limit = start[node_event[final_node[f]]] - window
        if window < 0 or earliest[final_node[f]] >= limit:
            join_rows(f, S_out, L_out, final_node[f], S, L)
            continue
        depth = 0
        stack[0] = final_node[f]
        cursor[0] = -2
        while depth >= 0:
            node = stack[depth]
            at = cursor[depth]
            if at == -2:
                looked += 1
                W1[node] = 0.0
                S1[node] = 0.0
                L1[node] = INT_MAX
            if at == -1:
                bind_event(node, node_event[node], node_component[node], on_sum, on_least, H, K, W1, S1, L1)
                stamp[node] = f
                depth -= 1
                if depth >= 0:
                    above = stack[depth]
                    W1[above, 0], W1[above, 1] = added(W1[above, 0], W1[above, 1], W1[node, 0], W1[node, 1])
                    join_rows(above, S1, L1, node, S1, L1)
                continue
            before = node_before[node] if at == -2 else edge_node[at]
            cursor[depth] = node_edge[node] if at == -2 else edge_next[at]
            if before == -1:
                if start[node_event[node]] >= limit:
                    W1[node, 0], W1[node, 1] = added(W1[node, 0], W1[node, 1], 1.0, 0.0)
            elif before >= 0 and node_start[before] >= limit:
                if earliest[before] >= limit:
                    W1[node, 0], W1[node, 1] = added(W1[node, 0], W1[node, 1], W[before, 0], W[before, 1])
                    join_rows(node, S1, L1, before, S, L)
                elif stamp[before] == f:
                    W1[node, 0], W1[node, 1] = added(W1[node, 0], W1[node, 1], W1[before, 0], W1[before, 1])
                    join_rows(node, S1, L1, before, S1, L1)
                else:
                    depth += 1
                    stack[depth] = before
                    cursor[depth] = -2
        join_rows(f, S_out, L_out, final_node[f], S1, L1)
    return looked


def begin_product(W: NDArray[Any], S: NDArray[Any], L: NDArray[Any]) -> None:
    """The product of no matrices."""
    for s in range(W.shape[0]):
        for q in range(W.shape[1]):
            W[s, q, 0] = 1.0 if s == q else 0.0
            W[s, q, 1] = 0.0
            S[s, q] = 0.0
            L[s, q] = INT_MAX


def group_weight(
    first: int,
    end: int,
    mask: NDArray[Any],
    of_sum: NDArray[Any],
    of_least: NDArray[Any],
    H: NDArray[Any],
    K: NDArray[Any],
    c: NDArray[Any],
    g: NDArray[Any],
    b: NDArray[Any],
) -> None:
    """What concurrent events come to: `c` of them for each component, `g` and `b` by what is summed or least."""
    c[:] = 0.0
    g[:] = 0.0
    b[:] = INT_MAX
    for e in range(first, end):
        for s in range(c.shape[0]):
            c[s] += (mask[e] >> s) & 1
        for t in range(of_sum.shape[0]):
            if (mask[e] >> of_sum[t]) & 1 != 0:
                g[t, 0], g[t, 1] = added(g[t, 0], g[t, 1], H[t, e, 0], H[t, e, 1])
        for t in range(of_least.shape[0]):
            if (mask[e] >> of_least[t]) & 1 != 0:
                b[t] = min(b[t], K[t, e])


def go_on(
    i: int,
    q: int,
    W: NDArray[Any],
    S: NDArray[Any],
    L: NDArray[Any],
    j: int,
    r: int,
    component: int,
    of_sum: NDArray[Any],
    of_least: NDArray[Any],
    c: NDArray[Any],
    g: NDArray[Any],
    b: NDArray[Any],
) -> None:
    """Add to cell (i, q) of a product what one event for `component` makes of cell (j, r)."""
    n = c[component]
    if n == 0.0 or W[j, r, 0] == 0.0:
        return
    for t in range(of_sum.shape[0]):
        x, y = multiplied(S[j, r, t, 0], S[j, r, t, 1], n, 0.0)
        S[i, q, t, 0], S[i, q, t, 1] = added(S[i, q, t, 0], S[i, q, t, 1], x, y)
        if of_sum[t] == component:
            x, y = multiplied(W[j, r, 0], W[j, r, 1], g[t, 0], g[t, 1])
            S[i, q, t, 0], S[i, q, t, 1] = added(S[i, q, t, 0], S[i, q, t, 1], x, y)
    for t in range(of_least.shape[0]):
        L[i, q, t] = min(L[i, q, t], L[j, r, t])
        if of_least[t] == component:
            L[i, q, t] = min(L[i, q, t], b[t])
    x, y = multiplied(W[j, r, 0], W[j, r, 1], n, 0.0)
    W[i, q, 0], W[i, q, 1] = added(W[i, q, 0], W[i, q, 1], x, y)


def weigh_sequences(
    stop: NDArray[Any],
    i0: int,
    mask: NDArray[Any],
    rank: NDArray[Any],
    clock: NDArray[Any],
    span: int,
    of_sum: NDArray[Any],
    of_least: NDArray[Any],
    H: NDArray[Any],
    K: NDArray[Any],
    c: NDArray[Any],
    g: NDArray[Any],
    b: NDArray[Any],
    W: NDArray[Any],
    S: NDArray[Any],
    L: NDArray[Any],
    W1: NDArray[Any],
    S1: NDArray[Any],
    L1: NDArray[Any],
    FW: NDArray[Any],
    FS: NDArray[Any],
    FL: NDArray[Any],
    S_out: NDArray[Any],
    L_out: NDArray[Any],
) -> int:
    """The sums and least values of the sequences that end with event `i0` or a later one, as `count_sequences` counts.

    `of_sum` and `of_least` are the components whose events are read. The same product of matrices slides along, only
    that a cell holds beside the number of ways what they come to. The last row of FW, FS and FL stands for no groups.
    The number of cells that were added to.
    """
    n, k = mask.shape[0], W.shape[0]
    lo, middle, at, steps = 0, 0, 0, 0
    begin_product(W, S, L)
    while at < n and not stopped(stop):
        if mask[at] == 0:
            # No component could bind it.
            at += 1
            continue
        end = at + 1
        while end < n and rank[end] == rank[at]:
            end += 1
        while span >= 0 and lo < at and clock[lo] < clock[at] - span:
            lo += 1
        if lo >= middle:
            # The older half is used up: what is left of the newer one takes its place.
            middle = at
            begin_product(W, S, L)
            begin_product(W1, S1, L1)
            last = at - 1
            while last >= lo:
                first = last
                while first > lo and rank[first - 1] == rank[last]:
                    first -= 1
                group_weight(first, last + 1, mask, of_sum, of_least, H, K, c, g, b)
                for s in range(k - 1):
                    if c[s] == 0.0:
                        continue
                    for q in range(k):
                        go_on(s, q, W1, S1, L1, s + 1, q, s, of_sum, of_least, c, g, b)
                        steps += 1
                for e in range(first, last + 1):
                    FW[e] = W1[0]
                    FS[e] = S1[0]
                    FL[e] = L1[0]
                last = first - 1
        older = lo if lo < middle else FW.shape[0] - 1
        for e in range(max(at, i0), end):
            if (mask[e] >> (k - 1)) & 1 == 0:
                continue
            wx, wy = 0.0, 0.0
            for s in range(k):
                if FW[older, s, 0] == 0.0 or W[s, k - 1, 0] == 0.0:
                    continue
                x, y = multiplied(FW[older, s, 0], FW[older, s, 1], W[s, k - 1, 0], W[s, k - 1, 1])
                wx, wy = added(wx, wy, x, y)
                for t in range(of_sum.shape[0]):
                    x, y = multiplied(FS[older, s, t, 0], FS[older, s, t, 1], W[s, k - 1, 0], W[s, k - 1, 1])
                    S_out[e, t, 0], S_out[e, t, 1] = added(S_out[e, t, 0], S_out[e, t, 1], x, y)
                    x, y = multiplied(FW[older, s, 0], FW[older, s, 1], S[s, k - 1, t, 0], S[s, k - 1, t, 1])
                    S_out[e, t, 0], S_out[e, t, 1] = added(S_out[e, t, 0], S_out[e, t, 1], x, y)
                for t in range(of_least.shape[0]):
                    L_out[e, t] = min(L_out[e, t], FL[older, s, t], L[s, k - 1, t])
            for t in range(of_sum.shape[0]):
                if of_sum[t] == k - 1:
                    S_out[e, t, 0], S_out[e, t, 1] = multiplied(wx, wy, H[t, e, 0], H[t, e, 1])
            for t in range(of_least.shape[0]):
                if of_least[t] == k - 1 and wx > 0.0:
                    L_out[e, t] = K[t, e]
        group_weight(at, end, mask, of_sum, of_least, H, K, c, g, b)
        for q in range(k - 1, 0, -1):
            if c[q - 1] == 0.0:
                continue
            for s in range(k):
                go_on(s, q, W, S, L, s, q - 1, q - 1, of_sum, of_least, c, g, b)
                steps += 1
        at = end
    return steps
