# PATTERN SEQ(Stock+ a[], Stock b)
# WHERE   skip_till_next_match { [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
#                                AND b.volume < 0.8 * a[last].volume }
# WITHIN  1 hour
#
# skip_till_next_match; runs merged
# state 0: looping over a
# run_integers[:, 0]: count of a a[i].price
# run_integers[:, 1]: last of a volume
# run_integers[:, 2]: last null of a volume
# run_floats[:, 0]: sum of a a[i].price


@kernel
def advance(i0, n, nums, time, rank, type_, part, int_values, float_values, type_codes, c1_volume, c1_volume_null, c0_price, run_state, run_node, run_start, run_rank, run_next, run_integers, run_floats, free_runs, first_run, live_runs, node_event, node_before, node_component, node_start, node_edge, edge_node, edge_next, final_node, table_run, table_stamp):
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
        stamp += 1  # a new event: what the table of merged runs holds is out of date
        final_0 = -1
        lead_0 = idle_0 = join_0 = -1
        fit_0 = (type_[i] == type_codes[0])  # a
        fit_1 = (type_[i] == type_codes[1])  # b
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
            else:  # looping over a
                go = fit_1
                if go:
                    go = go and later
                    go = go and (to_float(c1_volume[i], (c1_volume_null[i] != 0)) < (float_values[0] * to_float(run_integers[r, 1], (run_integers[r, 2] != 0))))  # b.volume < 0.8 * a[last].volume   (query 3:36)
                if go:  # proceed to b
                    if final_0 >= 0:  # another run ends with the same event
                        edge = natural(edges)
                        edges = edge + 1
                        edge_node[edge] = run_node[r]
                        edge_next[edge] = node_edge[final_0]
                        node_edge[final_0] = edge
                        node_start[final_0] = max(node_start[final_0], run_start[r])
                    else:  # a match
                        node = natural(nodes)
                        nodes = node + 1
                        node_event[node] = i
                        node_before[node] = run_node[r]
                        node_component[node] = 1
                        node_start[node] = run_start[r]
                        node_edge[node] = -1
                        final_node[natural(found)] = node
                        found += 1
                        final_0 = node
                took = fit_0
                took = took and later
                took = took and (c0_price[i] > divide(float(run_floats[r, 0]), float(run_integers[r, 0])))  # a[i].price > avg(a[..i-1].price)   (query 2:68)
                if took:
                    q = r
                    run_integers[q, 1] = c1_volume[i]
                    run_integers[q, 2] = int(c1_volume_null[i] != 0)
                    if not isnan(c0_price[i]):
                        x = c0_price[i]
                        run_integers[q, 0] += 1
                        run_floats[q, 0] += x
                    run_rank[q] = k
                    m = lead_0
                    if m >= 0 and not (same(run_integers[m, 0], run_integers[q, 0]) and same(run_floats[m, 0], run_floats[q, 0])):
                        h = mix(0)
                        h = mix(h ^ int(run_integers[q, 0]))
                        h = mix(h ^ bits(run_floats[q, 0]))
                        h = h & (table_run.shape[0] - 1)
                        m = -1
                        while table_stamp[h] == stamp:
                            m = table_run[h]
                            if run_state[m] == 0 and same(run_integers[m, 0], run_integers[q, 0]) and same(run_floats[m, 0], run_floats[q, 0]):
                                break
                            m = -1
                            h = (h + 1) & (table_run.shape[0] - 1)
                        if m < 0:
                            table_stamp[h] = stamp
                            table_run[h] = q
                    if m >= 0:  # an equivalent run took the same event: merge
                        edge = natural(edges)
                        edges = edge + 1
                        edge_node[edge] = run_node[q]
                        edge_next[edge] = node_edge[run_node[m]]
                        node_edge[run_node[m]] = edge
                        node_start[run_node[m]] = max(node_start[run_node[m]], run_start[q])
                        run_start[m] = max(run_start[m], run_start[q])
                        if link < 0:
                            first_run[g] = after
                        else:
                            run_next[link] = after
                        live_runs[g] -= 1
                        free_runs[free] = r
                        free += 1
                        runs -= 1
                    else:
                        if lead_0 < 0:
                            lead_0 = q
                        node = natural(nodes)
                        nodes = node + 1
                        node_event[node] = i
                        node_before[node] = run_node[q]
                        node_component[node] = 0
                        node_start[node] = run_start[q]
                        node_edge[node] = -1
                        run_node[q] = node
                        link = r
                else:
                    if later and idle_0 >= 0 and k > run_rank[idle_0] and same(run_integers[idle_0, 0], run_integers[r, 0]) and same(run_integers[idle_0, 1], run_integers[r, 1]) and same(run_integers[idle_0, 2], run_integers[r, 2]) and same(run_floats[idle_0, 0], run_floats[r, 0]):  # an equivalent run: merge
                        if join_0 < 0:
                            node = natural(nodes)
                            nodes = node + 1
                            node_event[node] = node_event[run_node[idle_0]]
                            node_before[node] = run_node[idle_0]
                            node_component[node] = -1
                            node_start[node] = run_start[idle_0]
                            node_edge[node] = -1
                            join_0 = node  # no event: two histories become one
                            run_node[idle_0] = node
                        edge = natural(edges)
                        edges = edge + 1
                        edge_node[edge] = run_node[r]
                        edge_next[edge] = node_edge[join_0]
                        node_edge[join_0] = edge
                        node_start[join_0] = max(node_start[join_0], run_start[r])
                        node_event[join_0] = max(node_event[join_0], node_event[run_node[r]])
                        run_rank[idle_0] = max(run_rank[idle_0], run_rank[r])
                        run_start[idle_0] = max(run_start[idle_0], run_start[r])
                        if link < 0:
                            first_run[g] = after
                        else:
                            run_next[link] = after
                        live_runs[g] -= 1
                        free_runs[free] = r
                        free += 1
                        runs -= 1
                    else:
                        if idle_0 < 0:
                            idle_0 = r
                        link = r
            r = after
        go = fit_0  # begin with a
        go = go and (not (c1_volume_null[i] != 0) and c1_volume[i] > int_values[1])  # a[1].volume > 1000   (query 2:45)
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
            run_integers[q, 1] = c1_volume[i]
            run_integers[q, 2] = int(c1_volume_null[i] != 0)
            if not isnan(c0_price[i]):
                x = c0_price[i]
                run_integers[q, 0] += 1
                run_floats[q, 0] += x
            run_state[q] = 0
            run_rank[q] = k
            m = lead_0
            if m >= 0 and not (same(run_integers[m, 0], run_integers[q, 0]) and same(run_floats[m, 0], run_floats[q, 0])):
                h = mix(0)
                h = mix(h ^ int(run_integers[q, 0]))
                h = mix(h ^ bits(run_floats[q, 0]))
                h = h & (table_run.shape[0] - 1)
                m = -1
                while table_stamp[h] == stamp:
                    m = table_run[h]
                    if run_state[m] == 0 and same(run_integers[m, 0], run_integers[q, 0]) and same(run_floats[m, 0], run_floats[q, 0]):
                        break
                    m = -1
                    h = (h + 1) & (table_run.shape[0] - 1)
                if m < 0:
                    table_stamp[h] = stamp
                    table_run[h] = q
            if m >= 0:  # an equivalent run took the same event: merge
                edge = natural(edges)
                edges = edge + 1
                edge_node[edge] = run_node[q]
                edge_next[edge] = node_edge[run_node[m]]
                node_edge[run_node[m]] = edge
                node_start[run_node[m]] = max(node_start[run_node[m]], run_start[q])
                run_start[m] = max(run_start[m], run_start[q])
                free_runs[free] = q
                free += 1
                runs -= 1
            else:
                if lead_0 < 0:
                    lead_0 = q
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
