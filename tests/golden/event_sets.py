# PATTERN SEQ(AND(C c, P{2,} p[], D d), B b)
# WHERE   skip_till_next_match { c.symbol = d.symbol AND d.symbol = b.symbol AND p[i].price > c.price
#                                AND b.volume > avg(p[].volume) }
# WITHIN  11 days
#
# skip_till_next_match; run_state is the set of bound variables
# branch 0: 1 c, 2 p, 4 d, 8 b; all 15
# run_integers[:, 0]: length of p
# run_integers[:, 1]: first of b volume
# run_integers[:, 2]: first null of b volume
# run_integers[:, 3]: count of p p[i].volume
# run_integers[:, 4]: sum of p p[i].volume
# run_integers[:, 5]: first of d symbol
# run_integers[:, 6]: first of c symbol
# run_floats[:, 0]: first of c price


@kernel
def advance(i0, n, nums, time, rank, type_, part, int_values, type_codes, c1_symbol, c0_price, c2_volume, c2_volume_null, run_state, run_node, run_start, run_rank, run_next, run_integers, run_floats, free_runs, first_run, live_runs, node_event, node_before, node_component, node_start, node_edge, edge_node, final_node, list_event):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    room = min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found)
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        fit_0 = (type_[i] == type_codes[0])  # c
        fit_1 = (type_[i] == type_codes[1])  # p
        fit_2 = (type_[i] == type_codes[2])  # d
        fit_3 = (type_[i] == type_codes[3])  # b
        if not (fit_0 or fit_1 or fit_2 or fit_3):  # it fits nothing
            continue
        need = 1 * live_runs[g] + 4
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
        live = 0
        r = first_run[g]
        first_run[g] = -1
        while r >= 0:
            after = run_next[r]
            m = run_state[r]
            if t - run_start[r] > int_values[0]:  # WITHIN: it can take nothing more
                if m == 15 and run_integers[r, 0] >= 2:
                    done = True
                    done = done and (to_float(run_integers[r, 1], (run_integers[r, 2] != 0)) > divide(float(run_integers[r, 4]), float(run_integers[r, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                    if done:  # a match
                        final_node[found] = run_node[r]
                        found += 1
                free_runs[free] = r
                free += 1
                runs -= 1
            elif m >> 40 == 0:
                moved = 0
                late = 0 if k > run_rank[r] else tied(run_node[r], 0, k, rank, node_event, node_before, node_component)  # concurrent with the event
                if fit_0:  # c
                    if m & 1 == 0:
                        ok = True
                        if ok and m & 4 == 4:
                            ok = ok and (c1_symbol[i] == run_integers[r, 5] and c1_symbol[i] >= 0 and run_integers[r, 5] >= 0)  # c.symbol = d.symbol   (query 2:32)
                        if ok and m & 2 == 2:
                            if ok:  # p[i].price > c.price   (query 2:80)
                                n_v1_p = gather(run_node[r], 1, node_event, node_before, node_component, list_event[0])
                                for k_v1_p in range(0, n_v1_p):
                                    if not (c0_price[list_event[0, k_v1_p]] > c0_price[i]):
                                        ok = False
                                        break
                        if ok:
                            q = r
                            run_integers[q, 6] = c1_symbol[i]
                            run_floats[q, 0] = c0_price[i]
                            s = m | 1
                            run_state[q] = s
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
                            live += 1
                            moved = -1
                elif fit_1:  # p
                    if m & 2 == 0:  # its first event
                        ok = True
                        if ok and m & 1 == 1:
                            ok = ok and (c0_price[i] > run_floats[r, 0])  # p[i].price > c.price   (query 2:80)
                        if ok:
                            q = r
                            run_integers[q, 0] = 1
                            if not (c2_volume_null[i] != 0):
                                x = c2_volume[i]
                                run_integers[q, 3] += 1
                                run_integers[q, 4] += x
                            s = m | 2
                            run_state[q] = s
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
                            live += 1
                            moved = -1
                    else:  # one more
                        ok = m & 8 == 0 and late & 2 == 0
                        if ok and m & 1 == 1:
                            ok = ok and (c0_price[i] > run_floats[r, 0])  # p[i].price > c.price   (query 2:80)
                        if ok:
                            q = r
                            run_integers[q, 0] += 1
                            if not (c2_volume_null[i] != 0):
                                x = c2_volume[i]
                                run_integers[q, 3] += 1
                                run_integers[q, 4] += x
                            s = m | 2
                            run_state[q] = s
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
                            live += 1
                            moved = -1
                elif fit_2:  # d
                    if m & 4 == 0:
                        ok = True
                        if ok and m & 1 == 1:
                            ok = ok and (run_integers[r, 6] == c1_symbol[i] and run_integers[r, 6] >= 0 and c1_symbol[i] >= 0)  # c.symbol = d.symbol   (query 2:32)
                        if ok:
                            q = r
                            run_integers[q, 5] = c1_symbol[i]
                            s = m | 4
                            run_state[q] = s
                            run_rank[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            node_event[node] = i
                            node_before[node] = run_node[q]
                            node_component[node] = 2
                            node_start[node] = run_start[q]
                            node_edge[node] = -1
                            run_node[q] = node
                            run_next[q] = first_run[g]
                            first_run[g] = q
                            live += 1
                            moved = -1
                elif fit_3:  # b
                    if m & 8 == 0:
                        ok = m & 7 == 7 and late & 7 == 0 and run_integers[r, 0] >= 2
                        if ok:
                            ok = ok and (run_integers[r, 5] == c1_symbol[i] and run_integers[r, 5] >= 0 and c1_symbol[i] >= 0)  # d.symbol = b.symbol   (query 2:56)
                        if ok and (m & 8 != 0):
                            ok = ok and (to_float(c2_volume[i], (c2_volume_null[i] != 0)) > divide(float(run_integers[r, 4]), float(run_integers[r, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                        if ok:
                            ok = ok and (run_integers[r, 6] == c1_symbol[i] and run_integers[r, 6] >= 0 and c1_symbol[i] >= 0)  # c.symbol = b.symbol   (query 2:32)
                        if ok:
                            free -= 1
                            q = free_runs[free]
                            runs += 1
                            run_integers[q, 0] = run_integers[r, 0]
                            run_integers[q, 1] = run_integers[r, 1]
                            run_integers[q, 2] = run_integers[r, 2]
                            run_integers[q, 3] = run_integers[r, 3]
                            run_integers[q, 4] = run_integers[r, 4]
                            run_integers[q, 5] = run_integers[r, 5]
                            run_integers[q, 6] = run_integers[r, 6]
                            run_floats[q, 0] = run_floats[r, 0]
                            run_node[q] = run_node[r]
                            run_start[q] = run_start[r]
                            run_integers[q, 1] = c2_volume[i]
                            run_integers[q, 2] = int(c2_volume_null[i] != 0)
                            s = m | 8
                            run_state[q] = s
                            run_rank[q] = k
                            node = natural(nodes)
                            nodes = node + 1
                            node_event[node] = i
                            node_before[node] = run_node[q]
                            node_component[node] = 3
                            node_start[node] = run_start[q]
                            node_edge[node] = -1
                            run_node[q] = node
                            done = True
                            if done and s & 10 == 10 and (not (m & 8 != 0)) and (s & 8 != 0):
                                done = done and (to_float(run_integers[q, 1], (run_integers[q, 2] != 0)) > divide(float(run_integers[q, 4]), float(run_integers[q, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                            if done:
                                run_next[q] = first_run[g]
                                first_run[g] = q
                                live += 1
                                moved += 1
                            else:
                                free_runs[free] = q
                                free += 1
                                runs -= 1
                if moved == 0:
                    run_next[r] = first_run[g]
                    first_run[g] = r
                    live += 1
                elif moved > 0:
                    free_runs[free] = r
                    free += 1
                    runs -= 1
            r = after
        ok = fit_0  # start with c
        if ok:
            free -= 1
            q = free_runs[free]
            runs += 1
            run_integers[q, 0] = 0
            run_integers[q, 1] = 0
            run_integers[q, 2] = 0
            run_integers[q, 3] = 0
            run_integers[q, 4] = 0
            run_integers[q, 5] = 0
            run_integers[q, 6] = 0
            run_floats[q, 0] = 0
            run_node[q] = -1
            run_start[q] = t
            run_integers[q, 6] = c1_symbol[i]
            run_floats[q, 0] = c0_price[i]
            s = 1
            run_state[q] = s
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
            live += 1
        ok = fit_1  # start with p
        if ok:
            free -= 1
            q = free_runs[free]
            runs += 1
            run_integers[q, 0] = 0
            run_integers[q, 1] = 0
            run_integers[q, 2] = 0
            run_integers[q, 3] = 0
            run_integers[q, 4] = 0
            run_integers[q, 5] = 0
            run_integers[q, 6] = 0
            run_floats[q, 0] = 0
            run_node[q] = -1
            run_start[q] = t
            run_integers[q, 0] = 1
            if not (c2_volume_null[i] != 0):
                x = c2_volume[i]
                run_integers[q, 3] += 1
                run_integers[q, 4] += x
            s = 2
            run_state[q] = s
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
            live += 1
        ok = fit_2  # start with d
        if ok:
            free -= 1
            q = free_runs[free]
            runs += 1
            run_integers[q, 0] = 0
            run_integers[q, 1] = 0
            run_integers[q, 2] = 0
            run_integers[q, 3] = 0
            run_integers[q, 4] = 0
            run_integers[q, 5] = 0
            run_integers[q, 6] = 0
            run_floats[q, 0] = 0
            run_node[q] = -1
            run_start[q] = t
            run_integers[q, 5] = c1_symbol[i]
            s = 4
            run_state[q] = s
            run_rank[q] = k
            node = natural(nodes)
            nodes = node + 1
            node_event[node] = i
            node_before[node] = run_node[q]
            node_component[node] = 2
            node_start[node] = run_start[q]
            node_edge[node] = -1
            run_node[q] = node
            run_next[q] = first_run[g]
            first_run[g] = q
            live += 1
        live_runs[g] = live
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
    return n


@kernel
def flush(now, every, listing, nums, int_values, run_state, run_node, run_start, run_next, run_integers, free_runs, first_run, live_runs, final_node):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    for g in range(first_run.shape[0]):
        live = 0
        r = first_run[g]
        first_run[g] = -1
        while r >= 0:
            after = run_next[r]
            m = run_state[r]
            over = every != 0 or now - run_start[r] > int_values[0]
            if over or listing != 0:
                if m == 15 and run_integers[r, 0] >= 2:
                    done = True
                    done = done and (to_float(run_integers[r, 1], (run_integers[r, 2] != 0)) > divide(float(run_integers[r, 4]), float(run_integers[r, 3])))  # b.volume > avg(p[].volume)   (query 3:36)
                    if done:  # a match
                        final_node[found] = run_node[r]
                        found += 1
            if over and listing == 0:
                free_runs[free] = r
                free += 1
                runs -= 1
            else:
                run_next[r] = first_run[g]
                first_run[g] = r
                live += 1
            r = after
        live_runs[g] = live
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
