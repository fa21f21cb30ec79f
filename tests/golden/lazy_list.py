# PATTERN SEQ(A a, B{2,5} b[], C c)
# WHERE   skip_till_any_match { [symbol] AND b[i].price > b[i-1].price AND c.volume > max(b[].volume) }
# WITHIN  10 minutes
#
# chain 0: c, a, b; negation post-processing
# B0: input buffer of c
# B1: input buffer of b
# B2: input buffer of a


@kernel
def store(i0, n, k0, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, FILL, MASK, B0_e, B0_t, B0_p, B0__c1_volume, B0__c1_volume_null, B1_e, B1_t, B1_p, B2_e, B2_t, B2_p, X0_id, X0_next, X0_prev, X0_first, X0_last, X1_id, X1_next, X1_prev, X1_first, X1_last, L0, L1, SORTED, WIDTH):
    n0 = FILL[0]  # of c
    n1 = FILL[1]  # of b
    n2 = FILL[2]  # of a
    for i in range(natural(i0), n):
        if part[i] < 0:
            continue  # it agrees with no other event
        if (type_[i] == 1):  # store it for b
            at = natural(n1)
            B1_e[at] = i
            B1_t[at] = time[i]
            B1_p[at] = part[i]
            chain(at, part[i], X0_id, X0_next, X0_prev, X0_first, X0_last)
            n1 += 1
        elif (type_[i] == 0):  # store it for a
            at = natural(n2)
            B2_e[at] = i
            B2_t[at] = time[i]
            B2_p[at] = part[i]
            chain(at, part[i], X1_id, X1_next, X1_prev, X1_first, X1_last)
            n2 += 1
        elif (type_[i] == 2):  # store it for c
            at = natural(n0)
            B0_e[at] = i
            B0_t[at] = time[i]
            B0_p[at] = part[i]
            B0__c1_volume[at] = c1_volume[i]
            B0__c1_volume_null[at] = c1_volume_null[i]
            g = part[i]
            L0[at] = X0_last[g] if g >= 0 else -1
            g = part[i]
            L1[at] = X1_last[g] if g >= 0 else -1
            n0 += 1
    FILL[0] = n0
    FILL[1] = n1
    FILL[2] = n2


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        for k in range(size):  # of c
            i = natural(i1 + k)
            total += ((type_[i] == 2)) and part[i] >= 0
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        for k in range(size):  # of b
            i = natural(i1 + k)
            total += ((type_[i] == 1)) and part[i] >= 0
        counts[(i1 - i0) // piece, 1] += total
        total = 0
        for k in range(size):  # of a
            i = natural(i1 + k)
            total += ((type_[i] == 0)) and part[i] >= 0
        counts[(i1 - i0) // piece, 2] += total


@kernel
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, FILL, MASK, B0_e, B0_t, B0_p, B0__c1_volume, B0__c1_volume_null, B1_e, B1_t, B1_p, B2_e, B2_t, B2_p, X0_id, X0_next, X0_prev, X0_first, X0_last, X1_id, X1_next, X1_prev, X1_first, X1_last, L0, L1, SORTED, WIDTH, S_v1_b, E_v1_b, RI_v1_b, RF_v1_b, PF, COUNT, SEEN, O_offsets, O_events, O_codes):  # take C c
    m = nums[0]
    w = nums[1]
    for j_v2_c in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            return j_v2_c
        m_0 = m
        w_0 = w
        e_v2_c = B0_e[j_v2_c]
        t_v2_c = B0_t[j_v2_c]
        v2_c__c1_volume = B0__c1_volume[j_v2_c]
        v2_c__c1_volume_null = B0__c1_volume_null[j_v2_c]
        if quiet == 0:
            at_v0_a = L1[j_v2_c]
            while at_v0_a >= 0:  # take A a with the same symbol
                j_v0_a = at_v0_a
                at_v0_a = X1_prev[j_v0_a]
                if B2_t[j_v0_a] >= t_v2_c:  # before c
                    continue
                if t_v2_c - B2_t[j_v0_a] > 600000:  # WITHIN
                    break
                e_v0_a = B2_e[j_v0_a]
                t_v0_a = B2_t[j_v0_a]
                if stopped(nums):
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = -2
                    return j_v2_c
                at_v1_b = L0[j_v2_c]
                back_v1_b = X0_prev[at_v1_b] if at_v1_b >= 0 else -1
                while back_v1_b >= 0 and B1_t[back_v1_b] > t_v0_a:
                    at_v1_b = back_v1_b
                    back_v1_b = X0_prev[at_v1_b]
                if at_v1_b < 0:
                    at_v1_b = first_of(X0_first, B0_p[j_v2_c])
                lists = 0
                d_v1_b = 0
                RI_v1_b[0, 0] = 0
                RI_v1_b[0, 1] = 0
                RF_v1_b[0, 0] = 0.0
                while True:  # iterate B b
                    if at_v1_b < 0 or B1_t[at_v1_b] >= t_v2_c or d_v1_b >= 5:
                        if d_v1_b == 0:
                            break
                        d_v1_b -= 1
                        at_v1_b = S_v1_b[d_v1_b]
                        at_v1_b = X0_next[at_v1_b]
                        continue
                    j_v1_b = at_v1_b
                    at_v1_b = X0_next[at_v1_b]
                    e_v1_b = B1_e[j_v1_b]
                    if d_v1_b > 0 and rank[e_v1_b] <= rank[E_v1_b[d_v1_b - 1]]:  # concurrent with the last one
                        continue
                    if B1_t[j_v1_b] <= t_v0_a:  # after a
                        continue
                    ok = True
                    if d_v1_b == 0:
                        pass
                    else:
                        ok = ok and (c0_price[e_v1_b] > RF_v1_b[d_v1_b, 0])  # b[i].price > b[i-1].price   (query 2:44)
                    if not ok:
                        continue
                    S_v1_b[d_v1_b] = j_v1_b
                    E_v1_b[d_v1_b] = e_v1_b
                    RI_v1_b[d_v1_b + 1, 0] = RI_v1_b[d_v1_b, 0]
                    RI_v1_b[d_v1_b + 1, 1] = RI_v1_b[d_v1_b, 1]
                    RF_v1_b[d_v1_b + 1, 0] = RF_v1_b[d_v1_b, 0]
                    RF_v1_b[d_v1_b + 1, 0] = c0_price[e_v1_b]
                    if not (c1_volume_null[e_v1_b] != 0):
                        x = c1_volume[e_v1_b]
                        RI_v1_b[d_v1_b + 1, 0] += 1
                        RI_v1_b[d_v1_b + 1, 1] = x if RI_v1_b[d_v1_b + 1, 0] == 1 or x > RI_v1_b[d_v1_b + 1, 1] else RI_v1_b[d_v1_b + 1, 1]
                    d_v1_b += 1
                    lists += 1
                    if lists > nums[3]:
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        nums[2] = -1
                        return j_v2_c
                    if (not ((v2_c__c1_volume_null != 0) or (RI_v1_b[d_v1_b, 0] == 0)) and v2_c__c1_volume <= RI_v1_b[d_v1_b, 1]):  # no longer list can be true: c.volume > max(b[].volume)   (query 2:74)
                        d_v1_b -= 1
                        continue
                    ok = d_v1_b >= 2
                    ok = ok and (not ((v2_c__c1_volume_null != 0) or (RI_v1_b[d_v1_b, 0] == 0)) and v2_c__c1_volume > RI_v1_b[d_v1_b, 1])  # c.volume > max(b[].volume)   (query 2:74)
                    if ok:
                        if m + 1 >= O_offsets.shape[0] or w + 2 + d_v1_b > O_events.shape[0]:
                            # no room: the caller makes some and comes back
                            nums[4] = m
                            nums[0] = m_0
                            nums[1] = w_0
                            nums[2] = 1
                            return j_v2_c
                        O_events[w] = e_v0_a
                        O_codes[w] = 0
                        w += 1
                        for k in range(d_v1_b):
                            O_events[w] = E_v1_b[k]
                            O_codes[w] = 1
                            w += 1
                        O_events[w] = e_v2_c
                        O_codes[w] = 2
                        w += 1
                        m += 1
                        O_offsets[m] = w
    nums[0] = m
    nums[1] = w
    return r1
