# PATTERN SEQ(A a, B+ b[], C c)
# WHERE   b[i].price < b[i-1].price AND b[i].volume > c.volume AND a.price < c.price
# WITHIN  10 minutes
# OUTPUT  LATEST
#
# linked chains; OUTPUT LATEST
# component 0: a
# component 1: b
# component 2: c


@kernel
def extend_1(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
    e1 = i  # b
    path_event[1] = i
    n0 = list_tail[L]
    while n0 >= 0:
        e0 = link_event[n0]  # a
        n0 = link_before[n0]
        if time[e1] - time[e0] > int_values[0]:  # WITHIN
            break  # those before it are earlier still
        if rank[e0] >= rank[e1]:
            continue
        path_event[0] = e0
        return True
    return False


@kernel
def extend_2(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
    e2 = i  # c
    path_event[2] = i
    n1 = list_tail[L]
    while n1 >= 0:
        e1 = link_event[n1]  # b
        if stopped(nums):
            break
        n0 = link_above[n1]
        n1 = link_before[n1]
        if time[e2] - time[e1] > int_values[0]:  # WITHIN
            break  # those before it are earlier still
        if rank[e1] >= rank[e2]:
            continue
        if not (not ((c1_volume_null[e1] != 0) or (c1_volume_null[e2] != 0)) and c1_volume[e1] > c1_volume[e2]):  # b[i].volume > c.volume   (query 2:39)
            continue
        path_event[1] = e1
        while n0 >= 0:
            e0 = link_event[n0]  # a
            n0 = link_before[n0]
            if time[e2] - time[e0] > int_values[0]:  # WITHIN
                break  # those before it are earlier still
            if rank[e0] >= rank[e1]:
                continue
            if not (c0_price[e0] < c0_price[e2]):  # a.price < c.price   (query 2:66)
                continue
            path_event[0] = e0
            return True
    return False


@kernel
def advance(i0, n, quiet, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null, link_event, link_before, link_above, link_list, list_parent, list_chain, list_tail, list_next, list_child, list_depth, first_list, live_lists, newest_chain, root_list, chain_last, final_given, final_above, final_events, path_event, keep):
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        mask = 0
        if (type_[i] == type_codes[0]):  # a
            mask |= 1
        if (type_[i] == type_codes[1]):  # b
            mask |= 2
        if (type_[i] == type_codes[2]):  # c
            mask |= 4
        if mask == 0:  # no component could bind it: it breaks no chain
            continue
        if stopped(nums):
            return i
        need = live_lists[g] + 3
        if min(link_event.shape[0] - nums[0], list_parent.shape[0] - nums[1], chain_last.shape[0] - nums[2], final_given.shape[0] - nums[3]) < need:
            return i  # the caller makes room and comes back
        if mask & 4 != 0:  # go on with c
            before = -1
            L = first_list[1, g]
            while L >= 0:
                after = list_next[L]
                if time[i] - time[link_event[list_tail[L]]] > int_values[0]:  # WITHIN has passed
                    if before < 0:
                        first_list[1, g] = after
                    else:
                        list_next[before] = after
                    list_next[L] = -2  # until its chain goes on
                    live_lists[g] -= 1
                    L = after
                    continue
                if extend_2(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
                    if quiet == 0:
                        final_above[nums[3]] = list_tail[L]
                        final_events[nums[3], 0] = i
                        nums[3] += 1
                before = L
                L = after
        if mask & 2 != 0:  # go on with b
            before = -1
            L = first_list[0, g]
            while L >= 0:
                after = list_next[L]
                if time[i] - time[link_event[list_tail[L]]] > int_values[0]:  # WITHIN has passed
                    if before < 0:
                        first_list[0, g] = after
                    else:
                        list_next[before] = after
                    list_next[L] = -2  # until its chain goes on
                    live_lists[g] -= 1
                    L = after
                    continue
                if extend_1(i, L, link_event, link_before, link_above, list_tail, path_event, keep, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
                    q = list_child[L]
                    if q < 0 or list_chain[q] != newest_chain[1, g]:  # another chain
                        q = nums[1]
                        nums[1] += 1
                        list_parent[q] = L
                        list_chain[q] = newest_chain[1, g]
                        list_tail[q] = -1
                        list_child[q] = -1
                        list_depth[q] = 1
                        list_next[q] = first_list[1, g]
                        first_list[1, g] = q
                        live_lists[g] += 1
                        list_child[L] = q
                    if list_next[q] == -2:
                        list_next[q] = first_list[1, g]
                        first_list[1, g] = q
                        live_lists[g] += 1
                    link_event[nums[0]] = i
                    link_list[nums[0]] = q
                    link_above[nums[0]] = list_tail[L]
                    link_before[nums[0]] = list_tail[q]  # it covers the one before it in the chain
                    list_tail[q] = nums[0]
                    nums[0] += 1
                before = L
                L = after
        if mask & 1 != 0:  # begin with a
            q = root_list[g]
            if q < 0 or list_chain[q] != newest_chain[0, g]:
                q = nums[1]
                nums[1] += 1
                list_parent[q] = -1
                list_chain[q] = newest_chain[0, g]
                list_tail[q] = -1
                list_child[q] = -1
                list_depth[q] = 0
                list_next[q] = first_list[0, g]
                first_list[0, g] = q
                live_lists[g] += 1
                root_list[g] = q
            if list_next[q] == -2:
                list_next[q] = first_list[0, g]
                first_list[0, g] = q
                live_lists[g] += 1
            link_event[nums[0]] = i
            link_list[nums[0]] = q
            link_above[nums[0]] = -1
            link_before[nums[0]] = list_tail[q]  # it covers the one before it in the chain
            list_tail[q] = nums[0]
            nums[0] += 1
    return n


@kernel
def walk(i, own, up, limit, link_event, link_before, link_above, stack_event, stack_component, stack_count, stack_own, stack_above, stack_left, stack_link, stack_matches, link_dead, bound_depth, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
    depth = bound_depth[-1]
    if depth < 0:  # a new walk
        depth = 0
        stack_event[0] = i
        nums[7] = 0
        stack_component[0] = 2
        stack_count[0] = 1
        stack_own[0] = -1
        stack_above[0] = up
        stack_left[0] = 0
        bound_depth[2] = 0
    steps = 0
    while depth >= 0:
        j = stack_component[depth]
        if stack_left[depth] == 0:
            n = stack_own[depth]
            if n < 0:
                stack_left[depth] = 1
                if j == 0 and stack_left[depth] == 1:
                    stack_left[depth] = 2
                    bound_depth[-1] = depth
                    nums[7] += 1
                    return depth + 1
                continue
            stack_own[depth] = link_before[n]
            c = j
        elif stack_left[depth] == 1 and stack_above[depth] >= 0:
            n = stack_above[depth]
            stack_above[depth] = link_before[n]
            c = j - 1
        else:
            if depth > 0 and stack_matches[depth] == nums[7]:
                link_dead[stack_link[depth]] = i + 1
            depth -= 1
            continue
        if link_dead[n] == i + 1:  # it led to nothing
            continue
        e = link_event[n]
        if time[i] - time[e] > int_values[0]:  # WITHIN: those before it are earlier still
            if c == j:
                stack_own[depth] = -1
            else:
                stack_above[depth] = -1
            continue
        if rank[e] >= rank[stack_event[depth]]:
            continue
        steps += 1
        if steps > limit:
            return -1
        fits = True
        if c == 0:  # a
            if fits:
                fits = (c0_price[e] < c0_price[stack_event[bound_depth[2]]])  # a.price < c.price   (query 2:66)
        if c == 1:  # b
            if fits and c == j:
                fits = (c0_price[stack_event[depth]] < c0_price[e])  # b[i].price < b[i-1].price   (query 2:9)
            if fits:
                fits = (not ((c1_volume_null[e] != 0) or (c1_volume_null[stack_event[bound_depth[2]]] != 0)) and c1_volume[e] > c1_volume[stack_event[bound_depth[2]]])  # b[i].volume > c.volume   (query 2:39)
        if not fits:
            continue
        k = stack_count[depth] + 1 if c == j else 1
        depth += 1
        stack_event[depth] = e
        stack_link[depth] = n
        stack_matches[depth] = nums[7]
        if c == 0:  # a
            stack_component[depth] = 0
            stack_count[depth] = k
            stack_own[depth] = -1
            stack_above[depth] = link_above[n]
            stack_left[depth] = 0
            bound_depth[0] = depth
        elif c == 1:  # b
            stack_component[depth] = 1
            stack_count[depth] = k
            stack_own[depth] = link_before[n]
            stack_above[depth] = link_above[n]
            stack_left[depth] = 0
            if k == 1:
                bound_depth[1] = depth
        elif c == 2:  # c
            stack_component[depth] = 2
            stack_count[depth] = k
            stack_own[depth] = -1
            stack_above[depth] = link_above[n]
            stack_left[depth] = 0
            bound_depth[2] = depth
    bound_depth[-1] = -1
    return 0


@kernel
def combine(f0, nf, limit, final_own, final_above, final_events, out_events, out_codes, out_offsets, link_event, link_before, link_above, stack_event, stack_component, stack_count, stack_own, stack_above, stack_left, stack_link, stack_matches, link_dead, bound_depth, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null):
    for f in range(f0, nf):
        matches, events = nums[4], nums[5]
        bound_depth[-1] = -1
        while True:
            if stopped(nums):
                return f
            size = walk(final_events[f, 0], final_own[f], final_above[f], limit, link_event, link_before, link_above, stack_event, stack_component, stack_count, stack_own, stack_above, stack_left, stack_link, stack_matches, link_dead, bound_depth, nums, time, rank, place, type_, part, string_rank, int_values, float_values, type_codes, c0_price, c1_volume, c1_volume_null)
            if size < 0:
                nums[6] = 1  # too many steps
                return f
            if size == 0:
                break
            if nums[4] + 1 >= out_offsets.shape[0] or nums[5] + size > out_events.shape[0]:
                nums[4], nums[5] = matches, events
                return f  # the caller makes room and comes back
            for d in range(size):
                out_events[nums[5] + d] = stack_event[size - 1 - d]
                out_codes[nums[5] + d] = stack_component[size - 1 - d]
            nums[5] += size
            nums[4] += 1
            out_offsets[nums[4]] = nums[5]
            break
    return nf
