"""Functions for partitions, runs and the match buffer of automata; compiled once for all queries.

Nodes are events bound to components: `node_event` is the event, `node_component` the component (-1 for a node that only
joins histories), `node_before` the node before, `node_edge` a list of further ones (`edge_node`, `edge_next`), and
`node_start` the latest start of its histories; see docs/decisions/0010. This module holds only what Numba compiles; it
calls the functions of the prelude by name.
"""

from __future__ import annotations

import numpy as np

from augury.native.cells import KeyCell, RunCell
from augury.native.counting import plus
from augury.native.groups import Counting, Edges, Nodes, Runs
from augury.native.kinds import Bytes, Ints, Ints2
from augury.native.prelude import INT_MAX, INT_MIN, mix, natural, stopped


def index_keys(nums: Ints, keys: Ints2, table: Ints2) -> None:
    """Fill an empty hash table with the known keys.

    The hash is repeated here and in `number`: a function for both would make it a sixth slower.
    """
    mask = table.shape[0] - 1
    for p in range(nums[KeyCell.KEYS]):
        h = 0
        for k in range(keys.shape[1]):
            h = mix(h ^ keys[p, k])
        h &= mask
        while table[h, 0] >= 0:
            h = (h + 1) & mask
        table[h, 0] = p
        table[h, 1] = keys[p, 0]


def number(
    i0: int,
    n: int,
    words: Ints2,
    null: Bytes,
    nums: Ints,
    table: Ints2,
    keys: Ints2,
    counts: Ints,
    part: Ints,
    place: Ints,
) -> int:
    """Number each event by its key, in order of first appearance, and optionally by its place among the key's events.

    If the table is full, the event to resume at is returned. `table` holds the first word of each key beside its
    number: with a hundred thousand keys, each further memory access is a cache miss.
    """
    mask = table.shape[0] - 1
    for i in range(i0, n):
        if null[i] != 0:
            part[i] = -1
            continue
        h = 0
        for k in range(words.shape[0]):
            h = mix(h ^ words[k, i])
        h = natural(h & mask)
        p = -1
        while table[h, 0] >= 0:
            if table[h, 1] == words[0, i]:
                p = natural(table[h, 0])
                for k in range(1, words.shape[0]):
                    if keys[p, k] != words[k, i]:
                        p = -1
                        break
                if p >= 0:
                    break
            h = natural((h + 1) & mask)
        if p < 0:
            p = nums[KeyCell.KEYS]
            if p >= keys.shape[0]:
                return i
            nums[KeyCell.KEYS] = p + 1
            table[h, 0] = p
            table[h, 1] = words[0, i]
            for k in range(words.shape[0]):
                keys[p, k] = words[k, i]
            counts[p] = 0
        part[i] = p
        if place.shape[0] > 0:
            place[i] = counts[p]
            counts[p] += 1
    return n


def expand(
    f0: int,
    nf: int,
    final_node: Ints,
    nodes: Nodes,
    edges: Edges,
    start: Ints,
    window: int,
    state: Ints,
    stack: Ints,
    cursor: Ints,
    offsets: Ints,
    events: Ints,
    codes: Ints,
) -> int:
    """Write out the matches that end at the nodes `final_node[f0:nf]`, one for each history inside the window.

    `state` holds the depth of the walk, the number of matches and of their events. When an array is full, the index of
    the node to resume at is returned, and the next call continues the walk.
    """
    node_event = nodes.event
    node_before = nodes.before
    node_component = nodes.component
    node_start = nodes.start
    node_edge = nodes.edge
    edge_node = edges.node
    edge_next = edges.next
    for f in range(f0, nf):
        if state[0] == 0:
            stack[0] = final_node[f]
            cursor[0] = -2
            state[0] = 1
        limit = start[node_event[final_node[f]]] - window
        while state[0] > 0:
            depth = state[0]
            node = stack[depth - 1]
            at = cursor[depth - 1]
            if at == -1:
                state[0] = depth - 1
                continue
            before = node_before[node] if at == -2 else edge_node[at]
            if before == -1 and (window < 0 or start[node_event[node]] >= limit):
                m, n = state[1], state[2]
                if m + 1 >= offsets.shape[0] or n + depth > events.shape[0]:
                    return f
                for d in range(depth - 1, -1, -1):
                    # A node without a component only joins histories.
                    if node_component[stack[d]] >= 0:
                        events[n] = node_event[stack[d]]
                        codes[n] = node_component[stack[d]]
                        n += 1
                offsets[m + 1] = n
                state[1] = m + 1
                state[2] = n
            cursor[depth - 1] = node_edge[node] if at == -2 else edge_next[at]
            if before >= 0 and (window < 0 or node_start[before] >= limit):
                stack[depth] = before
                cursor[depth] = -2
                state[0] = depth + 1
    return nf


def count(
    stop: Ints,
    nf: int,
    final_node: Ints,
    nodes: Nodes,
    edges: Edges,
    start: Ints,
    window: int,
    scratch: Counting,
    each: Ints,
) -> int:
    """Count the matches that end at each of the nodes `final_node[:nf]`, or OVERFLOWED if they do not fit in 64 bits.

    The histories of a node are those of its predecessors. Where all of them start inside the window, their number is
    the same for every final node. Other nodes are counted again for each final node; chains of single predecessors are
    skipped up to the next `fork`. Returns the number of nodes visited.
    """
    node_event = nodes.event
    node_before = nodes.before
    node_start = nodes.start
    node_edge = nodes.edge
    edge_node = edges.node
    edge_next = edges.next
    stack = scratch.stack
    cursor = scratch.cursor
    total = scratch.total
    ways = scratch.ways
    earliest = scratch.earliest
    value = scratch.value
    fork = scratch.fork
    stamp = scratch.stamp
    looked = int(node_event.shape[0])
    for node in range(node_event.shape[0]):
        if node_before[node] >= 0 and node_edge[node] == -1:
            fork[node] = fork[node_before[node]]
            ways[node] = ways[node_before[node]]
            earliest[node] = earliest[node_before[node]]
            continue
        fork[node] = node
        ways[node] = 0
        earliest[node] = INT_MAX
        at = -2
        while at != -1:
            before = node_before[node] if at == -2 else edge_node[at]
            at = node_edge[node] if at == -2 else edge_next[at]
            if before >= 0:
                ways[node] = plus(ways[node], ways[before])
                earliest[node] = min(earliest[node], earliest[before])
            elif before == -1:
                ways[node] = plus(ways[node], 1)
                earliest[node] = min(earliest[node], start[node_event[node]])
            else:
                # A history that was dropped because it had expired.
                earliest[node] = INT_MIN
    for f in range(nf):
        if stopped(stop):
            break
        limit = start[node_event[final_node[f]]] - window
        if window < 0 or earliest[final_node[f]] >= limit:
            each[f] = ways[final_node[f]]
            continue
        depth = 0
        stack[0] = fork[final_node[f]]
        cursor[0] = -2
        total[0] = 0
        while depth >= 0:
            node = stack[depth]
            at = cursor[depth]
            if at == -1:
                looked += 1
                value[node] = total[depth]
                stamp[node] = f
                depth -= 1
                if depth >= 0:
                    total[depth] = plus(total[depth], value[node])
                continue
            before = node_before[node] if at == -2 else edge_node[at]
            cursor[depth] = node_edge[node] if at == -2 else edge_next[at]
            if before == -1:
                if start[node_event[node]] >= limit:
                    total[depth] = plus(total[depth], 1)
            elif before >= 0 and node_start[before] >= limit:
                if earliest[before] >= limit:
                    total[depth] = plus(total[depth], ways[before])
                elif stamp[fork[before]] == f:
                    total[depth] = plus(total[depth], value[fork[before]])
                else:
                    depth += 1
                    stack[depth] = fork[before]
                    cursor[depth] = -2
                    total[depth] = 0
        each[f] = value[fork[final_node[f]]]
    return looked


def split(
    order: Ints,
    offsets: Ints,
    events: Ints,
    codes: Ints,
    variable_of: Ints,
    rows: Ints,
    out_offsets: Ints2,
    out_rows: Ints,
) -> None:
    """Write the matches `order` variable by variable: the rows of their events, and the offsets of each match."""
    variables = out_offsets.shape[0]
    at = np.zeros(variables, np.int64)
    for k in range(order.shape[0]):
        m = order[k]
        for e in range(offsets[m], offsets[m + 1]):
            at[variable_of[codes[e]]] += 1
        for v in range(variables):
            out_offsets[v, k + 1] = at[v]
    base = 0
    for v in range(variables):
        total = at[v]
        for k in range(order.shape[0]):
            out_offsets[v, k + 1] += base
        out_offsets[v, 0] = base
        at[v] = base
        base += total
    for k in range(order.shape[0]):
        m = order[k]
        for e in range(offsets[m], offsets[m + 1]):
            v = variable_of[codes[e]]
            out_rows[at[v]] = rows[events[e]]
            at[v] += 1


def is_later(a: int, b: int, offsets: Ints2, events: Ints) -> bool:
    """Whether match `a` is later than `b`, compared by the last variable first, and by the last event of each list."""
    for back in range(offsets.shape[0]):
        v = offsets.shape[0] - 1 - back
        i, j = offsets[v, a + 1] - 1, offsets[v, b + 1] - 1
        while i >= offsets[v, a] and j >= offsets[v, b]:
            if events[i] != events[j]:
                return bool(events[i] > events[j])
            i -= 1
            j -= 1
        if i >= offsets[v, a] or j >= offsets[v, b]:
            return bool(i >= offsets[v, a])
    return False


def latest_matches(last: Ints, offsets: Ints2, events: Ints, best: Ints) -> None:
    """For each event, the latest of the matches that it is the `last` event of, -1 if there is none."""
    for m in range(last.shape[0]):
        if best[last[m]] < 0 or is_later(m, best[last[m]], offsets, events):
            best[last[m]] = m


def sweep(
    nums: Ints,
    now: int,
    window: int,
    by_count: bool,
    counts: Ints,
    run_start: Ints,
    run_next: Ints,
    free_runs: Ints,
    first_run: Ints,
    live_runs: Ints,
) -> None:
    """Free the runs whose window has passed, including those of partitions without further events.

    A window is measured in time or, with `by_count`, in events of the partition.
    """
    for g in range(first_run.shape[0]):
        r = first_run[g]
        first_run[g] = -1
        live_runs[g] = 0
        while r >= 0:
            after = run_next[r]
            if (counts[g] if by_count else now) - run_start[r] > window:
                free_runs[nums[RunCell.FREE]] = r
                nums[RunCell.FREE] += 1
                nums[RunCell.LIVE] -= 1
            else:
                run_next[r] = first_run[g]
                first_run[g] = r
                live_runs[g] += 1
            r = after


def collect(
    nums: Ints,
    runs: Runs,
    nodes: Nodes,
    edges: Edges,
    place: Ints,
    moved_edges: Ints2,
    limit: int,
    limits: Ints,
    window: int,
    part: Ints,
    start: Ints,
) -> int:
    """Keep the nodes and edges that runs can reach and that start no earlier than `limit`; return the least event kept.

    With a `window`, counted in events, each partition has its own limit, written to `limits`, since the next event of a
    run comes after all events of its partition so far. Without, there is one limit for all. A node comes after its
    predecessors, so one backward pass marks reachable nodes with their limit, and one forward pass moves them.
    """
    run_node = runs.node
    run_next = runs.next
    first_run = runs.first
    node_event = nodes.event
    node_before = nodes.before
    node_component = nodes.component
    node_start = nodes.start
    node_edge = nodes.edge
    edge_node = edges.node
    edge_next = edges.next
    n = nums[RunCell.NODES]
    for node in range(n):
        place[node] = -1
    for g in range(limits.shape[0]):
        limits[g] = limit
    for g in range(first_run.shape[0]):
        r = first_run[g]
        while r >= 0:
            node = run_node[r]
            place[node] = 0
            if window >= 0:
                p = part[node_event[node]]
                limits[p] = max(limits[p], start[node_event[node]] - window)
                place[node] = p
            r = run_next[r]
    for node in range(n - 1, -1, -1):
        p = place[node]
        if p >= 0:
            limit = limits[p]
            before = node_before[node]
            if before >= 0 and node_start[before] >= limit:
                place[before] = p
            edge = node_edge[node]
            while edge >= 0:
                before = edge_node[edge]
                if before >= 0 and node_start[before] >= limit:
                    place[before] = p
                edge = edge_next[edge]
    kept, linked, least = 0, 0, INT_MAX
    for node in range(n):
        if place[node] < 0:
            continue
        place[node] = kept
        node_event[kept] = node_event[node]
        node_component[kept] = node_component[node]
        node_start[kept] = node_start[node]
        least = min(least, node_event[node])
        before = node_before[node]
        node_before[kept] = before if before < 0 else (place[before] if place[before] >= 0 else -3)
        edge = node_edge[node]
        node_edge[kept] = -1
        while edge >= 0:
            before = edge_node[edge]
            if before == -1 or (before >= 0 and place[before] >= 0):
                # Into a second array, since the edges of one node are not adjacent.
                moved_edges[0, linked] = before if before < 0 else place[before]
                moved_edges[1, linked] = node_edge[kept]
                node_edge[kept] = linked
                linked += 1
            edge = edge_next[edge]
        kept += 1
    for edge in range(linked):
        edge_node[edge] = moved_edges[0, edge]
        edge_next[edge] = moved_edges[1, edge]
    for g in range(first_run.shape[0]):
        r = first_run[g]
        while r >= 0:
            run_node[r] = place[run_node[r]]
            r = run_next[r]
    nums[RunCell.NODES] = kept
    nums[RunCell.EDGES] = linked
    return least


def rehead(n: int, ids: Ints, following: Ints, head: Ints) -> None:
    """Link the partial matches `[:n]` of each key in a list, the newest first."""
    for g in range(head.shape[0]):
        head[g] = -1
    for q in range(n):
        if ids[q] >= 0:
            following[q] = head[ids[q]]
            head[ids[q]] = q
