# PATTERN SEQ(A a, B{2,5} b[], C c)
# WHERE   skip_till_any_match { b[i].price > a.price AND c.price > b[i].price AND c.volume > max(b[].volume) }
# WITHIN  10 minutes
#
# skip_till_any_match; runs not merged
# state 0: waiting for b
# state 1: looping over b
# run_integers[:, 0]: length of b
# run_integers[:, 1]: count of b b[i].volume
# run_integers[:, 2]: max of b b[i].volume
# run_floats[:, 0]: first of a price


@kernel
def advance(i0, n, nums, time, rank, type_, part, int_values, type_codes, c0_price, c1_volume, c1_volume_null, run_state, run_node, run_start, run_rank, run_next, run_integers, run_floats, free_runs, first_run, live_runs, node_event, node_before, node_component, node_start, node_edge, edge_node, final_node, list_event):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    room = min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found)
    for event in range(i0, n):
        i = natural(event)
        g = part[i]
        if g < 0:
            continue
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
        fit_0 = (type_[i] == type_codes[0])  # a
        fit_1 = (type_[i] == type_codes[1])  # b
        fit_2 = (type_[i] == type_codes[2])  # c
        link = -1  # the run before r
        while r >= 0:
            after = run_next[r]
            later = k > run_rank[r]  # than the last event of the run
            if t - run_start[r] > int_values[0]:  # WITHIN
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
                took = took and (c0_price[i] > run_floats[r, 0])  # b[i].price > a.price   (query 2:31)
                if took:
                    free -= 1
                    q = free_runs[free]
                    runs += 1
                    run_integers[q, 0] = run_integers[r, 0]
                    run_integers[q, 1] = run_integers[r, 1]
                    run_integers[q, 2] = run_integers[r, 2]
                    run_floats[q, 0] = run_floats[r, 0]
                    run_node[q] = run_node[r]
                    run_start[q] = run_start[r]
                    run_integers[q, 0] = 1
                    if not (c1_volume_null[i] != 0):
                        x = c1_volume[i]
                        run_integers[q, 1] += 1
                        run_integers[q, 2] = x if run_integers[q, 1] == 1 or x > run_integers[q, 2] else run_integers[q, 2]
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
                    run_next[q] = first_run[g]
                    first_run[g] = q
                    live_runs[g] += 1
                    if link < 0:
                        link = q
                link = r
            else:  # looping over b
                go = fit_2
                go = go and run_integers[r, 0] >= 2
                if go:
                    go = go and later
                    if go:  # c.price > b[i].price   (query 2:56)
                        n_v1_b = gather(run_node[r], 1, node_event, node_before, node_component, list_event[0])
                        for k_v1_b in range(0, n_v1_b):
                            if not (c0_price[i] > c0_price[list_event[0, k_v1_b]]):
                                go = False
                                break
                    go = go and (not ((c1_volume_null[i] != 0) or (run_integers[r, 1] == 0)) and c1_volume[i] > run_integers[r, 2])  # c.volume > max(b[].volume)   (query 2:81)
                if go:  # proceed to c
                    node = natural(nodes)
                    nodes = node + 1
                    node_event[node] = i
                    node_before[node] = run_node[r]
                    node_component[node] = 2
                    node_start[node] = run_start[r]
                    node_edge[node] = -1
                    final_node[natural(found)] = node  # a match
                    found += 1
                took = fit_1
                took = took and later and run_integers[r, 0] < 5
                took = took and (c0_price[i] > run_floats[r, 0])  # b[i].price > a.price   (query 2:31)
                if took:
                    free -= 1
                    q = free_runs[free]
                    runs += 1
                    run_integers[q, 0] = run_integers[r, 0]
                    run_integers[q, 1] = run_integers[r, 1]
                    run_integers[q, 2] = run_integers[r, 2]
                    run_floats[q, 0] = run_floats[r, 0]
                    run_node[q] = run_node[r]
                    run_start[q] = run_start[r]
                    run_integers[q, 0] += 1
                    if not (c1_volume_null[i] != 0):
                        x = c1_volume[i]
                        run_integers[q, 1] += 1
                        run_integers[q, 2] = x if run_integers[q, 1] == 1 or x > run_integers[q, 2] else run_integers[q, 2]
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
                    run_next[q] = first_run[g]
                    first_run[g] = q
                    live_runs[g] += 1
                    if link < 0:
                        link = q
                link = r
            r = after
        go = fit_0  # begin with a
        if go:
            free -= 1
            q = free_runs[free]
            runs += 1
            run_integers[q, 0] = 0
            run_integers[q, 1] = 0
            run_integers[q, 2] = 0
            run_floats[q, 0] = 0
            run_node[q] = -1
            run_start[q] = t
            run_floats[q, 0] = c0_price[i]
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
