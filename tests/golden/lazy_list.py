# PATTERN SEQ(A a, B{2,5} b[], C c)
# WHERE   skip_till_any_match { [symbol] AND b[i].price > b[i-1].price AND c.volume > max(b[].volume) }
# WITHIN  10 minutes
#
# chain 0: c, a, b; negation post-processing
# buffer0: input buffer of c
# buffer1: input buffer of b
# buffer2: input buffer of a


@kernel
def store(i0, n, time, type_, part, type_codes, c1_volume, c1_volume_null, buffer_fill, buffer0_e, buffer0_t, buffer0_p, buffer0__c1_volume, buffer0__c1_volume_null, buffer1_e, buffer1_t, buffer1_p, buffer2_e, buffer2_t, buffer2_p, chain0_id, chain0_next, chain0_prev, chain0_first, chain0_last, chain1_id, chain1_next, chain1_prev, chain1_first, chain1_last, link0, link1):
    n0 = buffer_fill[0]  # of c
    n1 = buffer_fill[1]  # of b
    n2 = buffer_fill[2]  # of a
    for i in range(natural(i0), n):
        if part[i] < 0:
            continue  # it agrees with no other event
        if (type_[i] == type_codes[0]):  # store it for b
            at = natural(n1)
            buffer1_e[at] = i
            buffer1_t[at] = time[i]
            buffer1_p[at] = part[i]
            chain(at, part[i], chain0_id, chain0_next, chain0_prev, chain0_first, chain0_last)
            n1 += 1
        elif (type_[i] == type_codes[1]):  # store it for a
            at = natural(n2)
            buffer2_e[at] = i
            buffer2_t[at] = time[i]
            buffer2_p[at] = part[i]
            chain(at, part[i], chain1_id, chain1_next, chain1_prev, chain1_first, chain1_last)
            n2 += 1
        elif (type_[i] == type_codes[2]):  # store it for c
            at = natural(n0)
            buffer0_e[at] = i
            buffer0_t[at] = time[i]
            buffer0_p[at] = part[i]
            buffer0__c1_volume[at] = c1_volume[i]
            buffer0__c1_volume_null[at] = c1_volume_null[i]
            g = part[i]
            link0[at] = chain0_last[g] if g >= 0 else -1
            g = part[i]
            link1[at] = chain1_last[g] if g >= 0 else -1
            n0 += 1
    buffer_fill[0] = n0
    buffer_fill[1] = n1
    buffer_fill[2] = n2


@kernel
def tally(i0, n, piece, counts, type_, part, type_codes):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        type_codes_2 = type_codes[2]
        for k in range(size):  # of c
            i = natural(i1 + k)
            total += ((type_[i] == type_codes_2)) and part[i] >= 0
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        type_codes_0 = type_codes[0]
        for k in range(size):  # of b
            i = natural(i1 + k)
            total += ((type_[i] == type_codes_0)) and part[i] >= 0
        counts[(i1 - i0) // piece, 1] += total
        total = 0
        type_codes_1 = type_codes[1]
        for k in range(size):  # of a
            i = natural(i1 + k)
            total += ((type_[i] == type_codes_1)) and part[i] >= 0
        counts[(i1 - i0) // piece, 2] += total


@kernel
def start_0(r0, r1, quiet, nums, rank, int_values, c0_price, c1_volume, c1_volume_null, buffer0_e, buffer0_t, buffer0_p, buffer0__c1_volume, buffer0__c1_volume_null, buffer1_e, buffer1_t, buffer2_e, buffer2_t, chain0_next, chain0_prev, chain0_first, chain1_prev, link0, link1, places_v1_b, events_v1_b, run_integers_v1_b, run_floats_v1_b, match_offset, match_event, match_component):  # take C c
    within = int_values[0]
    m = nums[0]
    w = nums[1]
    for j_v2_c in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            return j_v2_c
        m_0 = m
        w_0 = w
        e_v2_c = buffer0_e[j_v2_c]
        t_v2_c = buffer0_t[j_v2_c]
        v2_c__c1_volume = buffer0__c1_volume[j_v2_c]
        v2_c__c1_volume_null = buffer0__c1_volume_null[j_v2_c]
        if quiet == 0:
            at_v0_a = link1[j_v2_c]
            while at_v0_a >= 0:  # take A a with the same symbol
                j_v0_a = at_v0_a
                at_v0_a = chain1_prev[j_v0_a]
                if buffer2_t[j_v0_a] >= t_v2_c:  # before c
                    continue
                if t_v2_c - buffer2_t[j_v0_a] > within:  # WITHIN
                    break
                e_v0_a = buffer2_e[j_v0_a]
                t_v0_a = buffer2_t[j_v0_a]
                if stopped(nums):
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = -2
                    return j_v2_c
                at_v1_b = link0[j_v2_c]
                back_v1_b = chain0_prev[at_v1_b] if at_v1_b >= 0 else -1
                while back_v1_b >= 0 and buffer1_t[back_v1_b] > t_v0_a:
                    at_v1_b = back_v1_b
                    back_v1_b = chain0_prev[at_v1_b]
                if at_v1_b < 0:
                    at_v1_b = first_of(chain0_first, buffer0_p[j_v2_c])
                lists = 0
                d_v1_b = 0
                run_integers_v1_b[0, 0] = 0
                run_integers_v1_b[0, 1] = 0
                run_floats_v1_b[0, 0] = 0.0
                while True:  # iterate B b
                    if at_v1_b < 0 or buffer1_t[at_v1_b] >= t_v2_c or d_v1_b >= 5:
                        if d_v1_b == 0:
                            break
                        d_v1_b -= 1
                        at_v1_b = places_v1_b[d_v1_b]
                        at_v1_b = chain0_next[at_v1_b]
                        continue
                    j_v1_b = at_v1_b
                    at_v1_b = chain0_next[at_v1_b]
                    e_v1_b = buffer1_e[j_v1_b]
                    if d_v1_b > 0 and rank[e_v1_b] <= rank[events_v1_b[d_v1_b - 1]]:  # concurrent with the last one
                        continue
                    if buffer1_t[j_v1_b] <= t_v0_a:  # after a
                        continue
                    ok = True
                    if d_v1_b == 0:
                        pass
                    else:
                        ok = ok and (c0_price[e_v1_b] > run_floats_v1_b[d_v1_b, 0])  # b[i].price > b[i-1].price   (query 2:44)
                    if not ok:
                        continue
                    places_v1_b[d_v1_b] = j_v1_b
                    events_v1_b[d_v1_b] = e_v1_b
                    run_integers_v1_b[d_v1_b + 1, 0] = run_integers_v1_b[d_v1_b, 0]
                    run_integers_v1_b[d_v1_b + 1, 1] = run_integers_v1_b[d_v1_b, 1]
                    run_floats_v1_b[d_v1_b + 1, 0] = run_floats_v1_b[d_v1_b, 0]
                    run_floats_v1_b[d_v1_b + 1, 0] = c0_price[e_v1_b]
                    if not (c1_volume_null[e_v1_b] != 0):
                        x = c1_volume[e_v1_b]
                        run_integers_v1_b[d_v1_b + 1, 0] += 1
                        run_integers_v1_b[d_v1_b + 1, 1] = x if run_integers_v1_b[d_v1_b + 1, 0] == 1 or x > run_integers_v1_b[d_v1_b + 1, 1] else run_integers_v1_b[d_v1_b + 1, 1]
                    d_v1_b += 1
                    lists += 1
                    if lists > nums[3]:
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        nums[2] = -1
                        return j_v2_c
                    if (not ((v2_c__c1_volume_null != 0) or (run_integers_v1_b[d_v1_b, 0] == 0)) and v2_c__c1_volume <= run_integers_v1_b[d_v1_b, 1]):  # no longer list can be true: c.volume > max(b[].volume)   (query 2:74)
                        d_v1_b -= 1
                        continue
                    ok = d_v1_b >= 2
                    ok = ok and (not ((v2_c__c1_volume_null != 0) or (run_integers_v1_b[d_v1_b, 0] == 0)) and v2_c__c1_volume > run_integers_v1_b[d_v1_b, 1])  # c.volume > max(b[].volume)   (query 2:74)
                    if ok:
                        if m + 1 >= match_offset.shape[0] or w + 2 + d_v1_b > match_event.shape[0]:
                            # no room: the caller makes some and comes back
                            nums[4] = m
                            nums[0] = m_0
                            nums[1] = w_0
                            nums[2] = 1
                            return j_v2_c
                        match_event[w] = e_v0_a
                        match_component[w] = 0
                        w += 1
                        for k in range(d_v1_b):
                            match_event[w] = events_v1_b[k]
                            match_component[w] = 1
                            w += 1
                        match_event[w] = e_v2_c
                        match_component[w] = 2
                        w += 1
                        m += 1
                        match_offset[m] = w
    nums[0] = m
    nums[1] = w
    return r1
