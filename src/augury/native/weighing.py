"""Sums and least values over all matches that an event completes, without writing matches out where possible.

Compiled once for all queries, like `augury.native.buffer`; the functions of the prelude are there by name.

A number of matches, and a sum over matches, may need more bits than a float has: both are pairs of floats, whose exact
sum is the value. Integers up to 2**100 are exact, and sums of floats hardly depend on the order of addition. Greatest
values are computed as least values of keys (`augury.kernels.common.totals`); INT_MAX is the key of no value.
"""

from __future__ import annotations

from augury.native.groups import Edges, Nodes, Products, Ways, Weights
from augury.native.kinds import Bytes2, Floats, Floats2, Floats3, Floats4, Ints, Ints2, Ints3
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
    """The pair (x, y) times the pair (a, b); zero times an infinity is zero."""
    if x == 0.0 or a == 0.0:
        return 0.0, 0.0
    p = x * a
    if not abs(p) < 1e280 or abs(x) > 1e280 or abs(a) > 1e280:
        return p, 0.0
    # Each factor is split into two halves, whose products are exact.
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
    place: Ints,
    offsets: Ints,
    events: Ints,
    codes: Ints,
    weights: Weights,
    sums: Floats3,
    least: Ints2,
) -> None:
    """Add every match m to row `place[m]` of `sums` and `least`, which hold zeros and INT_MAX at first."""
    on_sum = weights.on_sum
    on_least = weights.on_least
    event_sums = weights.sums
    event_keys = weights.keys
    for m in range(place.shape[0]):
        r = place[m]
        for x in range(offsets[m], offsets[m + 1]):
            for t in range(on_sum.shape[0]):
                if on_sum[t, codes[x]] != 0:
                    sums[r, t, 0], sums[r, t, 1] = added(
                        sums[r, t, 0], sums[r, t, 1], event_sums[t, events[x], 0], event_sums[t, events[x], 1]
                    )
            for t in range(on_least.shape[0]):
                if on_least[t, codes[x]] != 0:
                    least[r, t] = min(least[r, t], event_keys[t, events[x]])


def weigh_rows(place: Ints, other_sums: Floats3, other_least: Ints2, sums: Floats3, least: Ints2) -> None:
    """Add row k of `other_sums` and `other_least` to row `place[k]` of `sums` and `least`."""
    for k in range(place.shape[0]):
        join_rows(place[k], sums, least, k, other_sums, other_least)


def join_rows(i: int, sums: Floats3, least: Ints2, j: int, other_sums: Floats3, other_least: Ints2) -> None:
    """Add row j of `other_sums` and `other_least` to row i of `sums` and `least`."""
    for t in range(sums.shape[1]):
        sums[i, t, 0], sums[i, t, 1] = added(sums[i, t, 0], sums[i, t, 1], other_sums[j, t, 0], other_sums[j, t, 1])
    for t in range(least.shape[1]):
        least[i, t] = min(least[i, t], other_least[j, t])


def bind_event(
    i: int,
    e: int,
    code: int,
    on_sum: Bytes2,
    on_least: Bytes2,
    event_sums: Floats3,
    event_keys: Ints2,
    number: Floats2,
    sums: Floats3,
    least: Ints2,
) -> None:
    """Add event e, bound to component `code`, to all histories of row i."""
    if code < 0 or number[i, 0] == 0.0:
        return
    for t in range(on_sum.shape[0]):
        if on_sum[t, code] != 0:
            p, q = multiplied(number[i, 0], number[i, 1], event_sums[t, e, 0], event_sums[t, e, 1])
            sums[i, t, 0], sums[i, t, 1] = added(sums[i, t, 0], sums[i, t, 1], p, q)
    for t in range(on_least.shape[0]):
        if on_least[t, code] != 0:
            least[i, t] = min(least[i, t], event_keys[t, e])


def weigh_ways(
    stop: Ints,
    nf: int,
    final_node: Ints,
    nodes: Nodes,
    edges: Edges,
    start: Ints,
    window: int,
    weights: Weights,
    stack: Ints,
    cursor: Ints,
    earliest: Ints,
    stamp: Ints,
    ways: Ways,
    inside: Ways,
    out_sums: Floats3,
    out_least: Ints2,
) -> int:
    """The sums and least values of the matches that end at each of the nodes `final_node[:nf]`, as `count` counts them.

    Row n of `ways` is the total over all histories of node n, row n of `inside` the total over those inside the window
    of one final node. `ways` holds zeros and INT_MAX at first. Returns the number of nodes visited.
    """
    node_event = nodes.event
    node_before = nodes.before
    node_component = nodes.component
    node_start = nodes.start
    node_edge = nodes.edge
    edge_node = edges.node
    edge_next = edges.next
    on_sum = weights.on_sum
    on_least = weights.on_least
    event_sums = weights.sums
    event_keys = weights.keys
    number = ways.number
    sums = ways.sums
    least = ways.least
    inside_number = inside.number
    inside_sums = inside.sums
    inside_least = inside.least
    looked = int(node_event.shape[0])
    for node in range(node_event.shape[0]):
        earliest[node] = INT_MAX
        at = -2
        while at != -1:
            before = node_before[node] if at == -2 else edge_node[at]
            at = node_edge[node] if at == -2 else edge_next[at]
            if before >= 0:
                number[node, 0], number[node, 1] = added(
                    number[node, 0], number[node, 1], number[before, 0], number[before, 1]
                )
                join_rows(node, sums, least, before, sums, least)
                earliest[node] = min(earliest[node], earliest[before])
            elif before == -1:
                number[node, 0], number[node, 1] = added(number[node, 0], number[node, 1], 1.0, 0.0)
                earliest[node] = min(earliest[node], start[node_event[node]])
            else:
                # A history that was dropped because it had expired.
                earliest[node] = INT_MIN
        bind_event(
            node, node_event[node], node_component[node], on_sum, on_least, event_sums, event_keys, number, sums, least
        )
    for f in range(nf):
        if stopped(stop):
            break
        limit = start[node_event[final_node[f]]] - window
        if window < 0 or earliest[final_node[f]] >= limit:
            join_rows(f, out_sums, out_least, final_node[f], sums, least)
            continue
        depth = 0
        stack[0] = final_node[f]
        cursor[0] = -2
        while depth >= 0:
            node = stack[depth]
            at = cursor[depth]
            if at == -2:
                looked += 1
                inside_number[node] = 0.0
                inside_sums[node] = 0.0
                inside_least[node] = INT_MAX
            if at == -1:
                bind_event(
                    node,
                    node_event[node],
                    node_component[node],
                    on_sum,
                    on_least,
                    event_sums,
                    event_keys,
                    inside_number,
                    inside_sums,
                    inside_least,
                )
                stamp[node] = f
                depth -= 1
                if depth >= 0:
                    above = stack[depth]
                    inside_number[above, 0], inside_number[above, 1] = added(
                        inside_number[above, 0], inside_number[above, 1], inside_number[node, 0], inside_number[node, 1]
                    )
                    join_rows(above, inside_sums, inside_least, node, inside_sums, inside_least)
                continue
            before = node_before[node] if at == -2 else edge_node[at]
            cursor[depth] = node_edge[node] if at == -2 else edge_next[at]
            if before == -1:
                if start[node_event[node]] >= limit:
                    inside_number[node, 0], inside_number[node, 1] = added(
                        inside_number[node, 0], inside_number[node, 1], 1.0, 0.0
                    )
            elif before >= 0 and node_start[before] >= limit:
                if earliest[before] >= limit:
                    inside_number[node, 0], inside_number[node, 1] = added(
                        inside_number[node, 0], inside_number[node, 1], number[before, 0], number[before, 1]
                    )
                    join_rows(node, inside_sums, inside_least, before, sums, least)
                elif stamp[before] == f:
                    inside_number[node, 0], inside_number[node, 1] = added(
                        inside_number[node, 0],
                        inside_number[node, 1],
                        inside_number[before, 0],
                        inside_number[before, 1],
                    )
                    join_rows(node, inside_sums, inside_least, before, inside_sums, inside_least)
                else:
                    depth += 1
                    stack[depth] = before
                    cursor[depth] = -2
        join_rows(f, out_sums, out_least, final_node[f], inside_sums, inside_least)
    return looked


def begin_product(number: Floats3, sums: Floats4, least: Ints3) -> None:
    """Set a product of matrices to the identity."""
    for s in range(number.shape[0]):
        for q in range(number.shape[1]):
            number[s, q, 0] = 1.0 if s == q else 0.0
            number[s, q, 1] = 0.0
            sums[s, q] = 0.0
            least[s, q] = INT_MAX


def group_weight(
    first: int,
    end: int,
    mask: Ints,
    of_sum: Ints,
    of_least: Ints,
    event_sums: Floats3,
    event_keys: Ints2,
    c: Floats,
    g: Floats2,
    b: Ints,
) -> None:
    """Totals of a group of concurrent events: `c` of them for each component, `g` and `b` by sum and least value."""
    c[:] = 0.0
    g[:] = 0.0
    b[:] = INT_MAX
    for e in range(first, end):
        for s in range(c.shape[0]):
            c[s] += (mask[e] >> s) & 1
        for t in range(of_sum.shape[0]):
            if (mask[e] >> of_sum[t]) & 1 != 0:
                g[t, 0], g[t, 1] = added(g[t, 0], g[t, 1], event_sums[t, e, 0], event_sums[t, e, 1])
        for t in range(of_least.shape[0]):
            if (mask[e] >> of_least[t]) & 1 != 0:
                b[t] = min(b[t], event_keys[t, e])


def go_on(
    i: int,
    q: int,
    number: Floats3,
    sums: Floats4,
    least: Ints3,
    j: int,
    r: int,
    component: int,
    of_sum: Ints,
    of_least: Ints,
    c: Floats,
    g: Floats2,
    b: Ints,
) -> None:
    """Add the transition from cell (j, r) of a product to cell (i, q), by an event for `component`."""
    n = c[component]
    if n == 0.0 or number[j, r, 0] == 0.0:
        return
    for t in range(of_sum.shape[0]):
        x, y = multiplied(sums[j, r, t, 0], sums[j, r, t, 1], n, 0.0)
        sums[i, q, t, 0], sums[i, q, t, 1] = added(sums[i, q, t, 0], sums[i, q, t, 1], x, y)
        if of_sum[t] == component:
            x, y = multiplied(number[j, r, 0], number[j, r, 1], g[t, 0], g[t, 1])
            sums[i, q, t, 0], sums[i, q, t, 1] = added(sums[i, q, t, 0], sums[i, q, t, 1], x, y)
    for t in range(of_least.shape[0]):
        least[i, q, t] = min(least[i, q, t], least[j, r, t])
        if of_least[t] == component:
            least[i, q, t] = min(least[i, q, t], b[t])
    x, y = multiplied(number[j, r, 0], number[j, r, 1], n, 0.0)
    number[i, q, 0], number[i, q, 1] = added(number[i, q, 0], number[i, q, 1], x, y)


def weigh_sequences(
    stop: Ints,
    i0: int,
    mask: Ints,
    rank: Ints,
    clock: Ints,
    span: int,
    of_sum: Ints,
    of_least: Ints,
    event_sums: Floats3,
    event_keys: Ints2,
    c: Floats,
    g: Floats2,
    b: Ints,
    newer: Products,
    product: Products,
    older: Products,
    out_sums: Floats3,
    out_least: Ints2,
) -> int:
    """The sums and least values of the sequences that end with event `i0` or a later one, as `count_sequences` counts.

    `of_sum` and `of_least` are the components whose events are read. The product of matrices slides as there, but a
    cell holds totals besides the number of sequences. The last row of `older` stands for no groups. Returns the number
    of additions to cells.
    """
    number = newer.number
    sums = newer.sums
    least = newer.least
    product_number = product.number
    product_sums = product.sums
    product_least = product.least
    older_number = older.number
    older_sums = older.sums
    older_least = older.least
    n, k = mask.shape[0], number.shape[0]
    lo, middle, at, steps = 0, 0, 0, 0
    begin_product(number, sums, least)
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
            # The older half is used up, so the newer half becomes the older one.
            middle = at
            begin_product(number, sums, least)
            begin_product(product_number, product_sums, product_least)
            last = at - 1
            while last >= lo:
                first = last
                while first > lo and rank[first - 1] == rank[last]:
                    first -= 1
                group_weight(first, last + 1, mask, of_sum, of_least, event_sums, event_keys, c, g, b)
                for s in range(k - 1):
                    if c[s] == 0.0:
                        continue
                    for q in range(k):
                        go_on(s, q, product_number, product_sums, product_least, s + 1, q, s, of_sum, of_least, c, g, b)
                        steps += 1
                for e in range(first, last + 1):
                    older_number[e] = product_number[0]
                    older_sums[e] = product_sums[0]
                    older_least[e] = product_least[0]
                last = first - 1
        row = lo if lo < middle else older_number.shape[0] - 1
        for e in range(max(at, i0), end):
            if (mask[e] >> (k - 1)) & 1 == 0:
                continue
            wx, wy = 0.0, 0.0
            for s in range(k):
                if older_number[row, s, 0] == 0.0 or number[s, k - 1, 0] == 0.0:
                    continue
                x, y = multiplied(
                    older_number[row, s, 0], older_number[row, s, 1], number[s, k - 1, 0], number[s, k - 1, 1]
                )
                wx, wy = added(wx, wy, x, y)
                for t in range(of_sum.shape[0]):
                    x, y = multiplied(
                        older_sums[row, s, t, 0], older_sums[row, s, t, 1], number[s, k - 1, 0], number[s, k - 1, 1]
                    )
                    out_sums[e, t, 0], out_sums[e, t, 1] = added(out_sums[e, t, 0], out_sums[e, t, 1], x, y)
                    x, y = multiplied(
                        older_number[row, s, 0], older_number[row, s, 1], sums[s, k - 1, t, 0], sums[s, k - 1, t, 1]
                    )
                    out_sums[e, t, 0], out_sums[e, t, 1] = added(out_sums[e, t, 0], out_sums[e, t, 1], x, y)
                for t in range(of_least.shape[0]):
                    out_least[e, t] = min(out_least[e, t], older_least[row, s, t], least[s, k - 1, t])
            for t in range(of_sum.shape[0]):
                if of_sum[t] == k - 1:
                    out_sums[e, t, 0], out_sums[e, t, 1] = multiplied(wx, wy, event_sums[t, e, 0], event_sums[t, e, 1])
            for t in range(of_least.shape[0]):
                if of_least[t] == k - 1 and wx > 0.0:
                    out_least[e, t] = event_keys[t, e]
        group_weight(at, end, mask, of_sum, of_least, event_sums, event_keys, c, g, b)
        for q in range(k - 1, 0, -1):
            if c[q - 1] == 0.0:
                continue
            for s in range(k):
                go_on(s, q, number, sums, least, s, q - 1, q - 1, of_sum, of_least, c, g, b)
                steps += 1
        at = end
    return steps
