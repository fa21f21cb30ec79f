# PATTERN SEQ(A a, B+ b[], NOT(D d))
# WHERE   strict_contiguity { b[i].price > b[i-1].price AND a.symbol IN ('x', 'y') }
# WITHIN  7 EVENTS
#
# strict_contiguity; runs not merged
# state 0: waiting for b
# state 1: looping over b
# run_floats[:, 0]: last of b price


@kernel
def advance(i0, n, nums, time, rank, place, type_, part, int_values, type_codes, c1_symbol, c0_price, run_state, run_node, run_start, run_rank, run_next, run_floats, free_runs, first_run, live_runs, node_event, node_before, node_component, node_start, node_edge, edge_node, final_node):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    room = min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found)
    for event in range(i0, n):
        i = natural(event)
        g = 0  # the events of any partition end a run
        r = first_run[g]
        need = 1 if r < 0 else 3 * live_runs[g] + 1
        room -= need
        if room < 0:
            room = min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found) - need
            if room < 0 or stopped(nums):
                nums[0] = nodes
                nums[1] = edges
                nums[2] = free
                nums[3] = found
                nums[4] = runs
                nums[5] = stamp
                return i  # the caller makes room and comes back
        t = time[i]
        k = rank[i]
        fit_0 = (type_[i] == type_codes[0]) and (part[i] >= 0) and (((c1_symbol[i] == int_values[0] and c1_symbol[i] >= 0 and int_values[0] >= 0) or (c1_symbol[i] == int_values[1] and c1_symbol[i] >= 0 and int_values[1] >= 0)))  # a
        fit_1 = (type_[i] == type_codes[1]) and (part[i] >= 0)  # b
        link = -1  # the run before r
        while r >= 0:
            after = run_next[r]
            later = k > run_rank[r]  # than the last event of the run
            if place[i] - run_start[r] >= int_values[2]:  # WITHIN
                if link < 0:
                    first_run[g] = after
                else:
                    run_next[link] = after
                live_runs[g] -= 1
                free_runs[free] = r
                free += 1
                runs -= 1
            elif run_state[r] == 0:  # waiting for b
                took = fit_1
                took = took and later
                if took:
                    q = r
                    run_floats[q, 0] = c0_price[i]
                    run_state[q] = 1
                    run_rank[q] = k
                    node = natural(nodes)
                    nodes = node + 1
                    node_event[node] = i
                    node_before[node] = run_node[q]
                    node_component[node] = 1
                    node_start[node] = run_start[q]
                    node_edge[node] = -1
                    run_node[q] = node
                    done = True
                    if done:  # a match
                        final_node[natural(found)] = node
                        found += 1
                    link = r
                else:
                    if link < 0:
                        first_run[g] = after
                    else:
                        run_next[link] = after
                    live_runs[g] -= 1
                    free_runs[free] = r
                    free += 1
                    runs -= 1
            else:  # looping over b
                took = fit_1
                took = took and later
                took = took and (c0_price[i] > run_floats[r, 0])  # b[i].price > b[i-1].price   (query 2:29)
                if took:
                    q = r
                    run_floats[q, 0] = c0_price[i]
                    run_rank[q] = k
                    node = natural(nodes)
                    nodes = node + 1
                    node_event[node] = i
                    node_before[node] = run_node[q]
                    node_component[node] = 1
                    node_start[node] = run_start[q]
                    node_edge[node] = -1
                    run_node[q] = node
                    done = True
                    if done:  # a match
                        final_node[natural(found)] = node
                        found += 1
                    link = r
                else:
                    if link < 0:
                        first_run[g] = after
                    else:
                        run_next[link] = after
                    live_runs[g] -= 1
                    free_runs[free] = r
                    free += 1
                    runs -= 1
            r = after
        go = fit_0  # begin with a
        if go:
            free -= 1
            q = free_runs[free]
            runs += 1
            run_floats[q, 0] = 0
            run_node[q] = -1
            run_start[q] = place[i]
            run_state[q] = 0
            run_rank[q] = k
            node = natural(nodes)
            nodes = node + 1
            node_event[node] = i
            node_before[node] = run_node[q]
            node_component[node] = 0
            node_start[node] = run_start[q]
            node_edge[node] = -1
            run_node[q] = node
            run_next[q] = first_run[g]
            first_run[g] = q
            live_runs[g] += 1
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
    return n


@kernel
def occurs_0(m, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    first = M_events[M_offsets[m]]
    last = M_events[M_offsets[m + 1] - 1]
    lo_v2_d = 0
    hi_v2_d = rank.shape[0]
    lo_v2_d = max(lo_v2_d, upper_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[0, m + 1] - 1]]))  # after a
    lo_v2_d = max(lo_v2_d, upper_bound(rank, 0, rank.shape[0], rank[V_events[V_offsets[1, m + 1] - 1]]))  # after b
    j_v2_d = lower_bound(C_part, C_start[0], C_start[1], part[first])
    z_v2_d = upper_bound(C_part, j_v2_d, C_start[1], part[first])
    j_v2_d = lower_bound(C_event, j_v2_d, z_v2_d, lo_v2_d)
    z_v2_d = lower_bound(C_event, j_v2_d, z_v2_d, hi_v2_d)
    while j_v2_d < z_v2_d:
        e_v2_d = C_event[j_v2_d]
        j_v2_d += 1
        if contains(M_events, M_offsets[m], M_offsets[m + 1], e_v2_d):  # an event of the match
            continue
        if max(place[last], place[e_v2_d]) - min(place[first], place[e_v2_d]) >= int_values[2]:  # WITHIN
            continue
        return True
    return False


@kernel
def fits(c, n, keep, type_, part, type_codes):
    if c == 0:  # d
        for i in range(n):
            keep[i] = part[i] >= 0 and (type_[i] == type_codes[2])


@kernel
def absent(m0, n, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
    for m in range(m0, n):
        if stopped(nums):
            return
        keep[m] = 1
        if M_branch[m] == 0 and occurs_0(m, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c1_symbol, c0_price, M_branch, M_offsets, M_events, V_offsets, V_events, C_start, C_part, C_event):
            keep[m] = 0
