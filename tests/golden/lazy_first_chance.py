# PATTERN SEQ(A a, NOT(N n), B b, C c)
# WHERE   skip_till_any_match { a.price < b.price AND b.price < c.price AND n.volume > a.volume }
# WITHIN  10 minutes
#
# chain 0: c, b, a; negation first-chance
# B0: input buffer of c
# B1: input buffer of n
# B2: input buffer of a
# B3: input buffer of b


@kernel
def store(i0, n, k0, nums, time, rank, place, type_, part, string_rank, c1_volume, c1_volume_null, c0_price, FILL, MASK, B0_e, B0_t, B0__c0_price, B1_e, B1_t, B1__c1_volume, B1__c1_volume_null, B2_e, B2_t, B2__c1_volume, B2__c1_volume_null, B2__c0_price, B3_e, B3_t, B3__c0_price, SORTED, WIDTH):
    n0 = FILL[0]  # of c
    n1 = FILL[1]  # of n
    n2 = FILL[2]  # of a
    n3 = FILL[3]  # of b
    for i1 in range(natural(i0), n, 4096):
        size = min(n - i1, 4096)
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            MASK[k] = types[k] == 0
        n2_0, n2 = n2, n2 + marked(MASK, size, i1, B2_e[n2:])
        for at in range(natural(n2_0), n2):
            i = natural(B2_e[at])
            B2_t[at] = time[i]
            B2__c1_volume[at] = c1_volume[i]
            B2__c1_volume_null[at] = c1_volume_null[i]
            B2__c0_price[at] = c0_price[i]
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            MASK[k] = types[k] == 1
        n3_0, n3 = n3, n3 + marked(MASK, size, i1, B3_e[n3:])
        for at in range(natural(n3_0), n3):
            i = natural(B3_e[at])
            B3_t[at] = time[i]
            B3__c0_price[at] = c0_price[i]
        types = type_[i1 : i1 + size]  # of c
        for k in range(size):
            MASK[k] = types[k] == 2
        n0_0, n0 = n0, n0 + marked(MASK, size, i1, B0_e[n0:])
        for at in range(natural(n0_0), n0):
            i = natural(B0_e[at])
            B0_t[at] = time[i]
            B0__c0_price[at] = c0_price[i]
        types = type_[i1 : i1 + size]  # of n
        for k in range(size):
            MASK[k] = types[k] == 3
        n1_0, n1 = n1, n1 + marked(MASK, size, i1, B1_e[n1:])
        for at in range(natural(n1_0), n1):
            i = natural(B1_e[at])
            B1_t[at] = time[i]
            B1__c1_volume[at] = c1_volume[i]
            B1__c1_volume_null[at] = c1_volume_null[i]
    FILL[0] = n0
    FILL[1] = n1
    FILL[2] = n2
    FILL[3] = n3


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c1_volume, c1_volume_null, c0_price):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of c
        for k in range(size):
            total += types[k] == 2
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        types = type_[i1 : i1 + size]  # of n
        for k in range(size):
            total += types[k] == 3
        counts[(i1 - i0) // piece, 1] += total
        total = 0
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            total += types[k] == 0
        counts[(i1 - i0) // piece, 2] += total
        total = 0
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            total += types[k] == 1
        counts[(i1 - i0) // piece, 3] += total


@kernel
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c1_volume, c1_volume_null, c0_price, FILL, MASK, B0_e, B0_t, B0__c0_price, B1_e, B1_t, B1__c1_volume, B1__c1_volume_null, B2_e, B2_t, B2__c1_volume, B2__c1_volume_null, B2__c0_price, B3_e, B3_t, B3__c0_price, SORTED, WIDTH, G3, G2, G1, PF, COUNT, SEEN, O_offsets, O_events, O_codes):  # take C c
    m = nums[0]
    w = nums[1]
    from1_v2_b = 0
    to1_v2_b = 0
    base2_v0_a = 0
    top2_v0_a = 0
    base3_v1_n = 0
    top3_v1_n = 0
    for j_v3_c in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            return j_v3_c
        m_0 = m
        w_0 = w
        e_v3_c = B0_e[j_v3_c]
        t_v3_c = B0_t[j_v3_c]
        v3_c__c0_price = B0__c0_price[j_v3_c]
        if quiet == 0:
            lo_v2_b = from1_v2_b = next_lower(B3_t, from1_v2_b, FILL[3], t_v3_c - 600000)  # WITHIN
            hi_v2_b = to1_v2_b = next_lower(B3_t, to1_v2_b, FILL[3], t_v3_c)  # before c
            found_v2_b = select_1(lo_v2_b, hi_v2_b, v3_c__c0_price, B3__c0_price, MASK, G1)  # b.price < c.price   (query 2:53)
            if found_v2_b > 0:
                base2_v0_a = next_lower(B2_t, base2_v0_a, FILL[2], t_v3_c - 600000)  # WITHIN
                top2_v0_a = next_lower(B2_t, top2_v0_a, FILL[2], t_v3_c)  # before c
                base3_v1_n = next_lower(B1_t, base3_v1_n, FILL[1], t_v3_c - 600000)  # WITHIN
                top3_v1_n = next_lower(B1_t, top3_v1_n, FILL[1], t_v3_c)  # before c
                for at_v2_b in range(found_v2_b):  # take B b
                    j_v2_b = G1[at_v2_b]
                    e_v2_b = B3_e[j_v2_b]
                    t_v2_b = B3_t[j_v2_b]
                    v2_b__c0_price = B3__c0_price[j_v2_b]
                    if stopped(nums):
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        nums[2] = -2
                        return j_v3_c
                    lo_v0_a = base2_v0_a  # WITHIN
                    hi_v0_a = within_lower(B2_t, lo_v0_a, top2_v0_a, t_v2_b)  # before c, b
                    found_v0_a = select_2(lo_v0_a, hi_v0_a, v2_b__c0_price, B2__c0_price, MASK, G2)  # a.price < b.price   (query 2:31)
                    for at_v0_a in range(found_v0_a):  # take A a
                        j_v0_a = G2[at_v0_a]
                        e_v0_a = B2_e[j_v0_a]
                        t_v0_a = B2_t[j_v0_a]
                        v0_a__c1_volume = B2__c1_volume[j_v0_a]
                        v0_a__c1_volume_null = B2__c1_volume_null[j_v0_a]
                        gone_v1_n = False
                        lo_v1_n = within_upper(B1_t, base3_v1_n, top3_v1_n, t_v0_a)  # after a
                        hi_v1_n = within_lower(B1_t, lo_v1_n, top3_v1_n, t_v2_b)  # before c, b
                        found_v1_n = select_3(lo_v1_n, hi_v1_n, v0_a__c1_volume_null, v0_a__c1_volume, B1__c1_volume, B1__c1_volume_null, MASK, G3)  # n.volume > a.volume   (query 2:75)
                        for at_v1_n in range(found_v1_n):  # take N n
                            j_v1_n = G3[at_v1_n]
                            gone_v1_n = True
                            break
                        if gone_v1_n:  # NOT(N n)
                            continue
                        if w + 3 > O_events.shape[0]:
                            # no room: the caller makes some and comes back
                            nums[4] = m
                            nums[0] = m_0
                            nums[1] = w_0
                            nums[2] = 1
                            return j_v3_c
                        O_events[natural(w + 0)] = e_v0_a
                        O_events[natural(w + 1)] = e_v2_b
                        O_events[natural(w + 2)] = e_v3_c
                        w += 3
                        m += 1
    nums[0] = m
    nums[1] = w
    return r1


@kernel
def select_3(lo, hi, v0_a__c1_volume_null, v0_a__c1_volume, B1__c1_volume, B1__c1_volume_null, MASK, G3):  # n.volume > a.volume   (query 2:75)
    size = hi - lo
    width = (size + 31) & -32
    s__c1_volume = B1__c1_volume[lo : lo + width]
    s__c1_volume_null = B1__c1_volume_null[lo : lo + width]
    for k in range(width):
        v1_n__c1_volume = s__c1_volume[k]
        v1_n__c1_volume_null = s__c1_volume_null[k]
        MASK[k] = (not ((v1_n__c1_volume_null != 0) or (v0_a__c1_volume_null != 0)) and v1_n__c1_volume > v0_a__c1_volume)
    n = marked(MASK, size, lo, G3)
    return n


@kernel
def select_2(lo, hi, v2_b__c0_price, B2__c0_price, MASK, G2):  # a.price < b.price   (query 2:31)
    size = hi - lo
    width = (size + 31) & -32
    s__c0_price = B2__c0_price[lo : lo + width]
    for k in range(width):
        v0_a__c0_price = s__c0_price[k]
        MASK[k] = (v0_a__c0_price < v2_b__c0_price)
    n = marked(MASK, size, lo, G2)
    return n


@kernel
def select_1(lo, hi, v3_c__c0_price, B3__c0_price, MASK, G1):  # b.price < c.price   (query 2:53)
    size = hi - lo
    width = (size + 31) & -32
    s__c0_price = B3__c0_price[lo : lo + width]
    for k in range(width):
        v2_b__c0_price = s__c0_price[k]
        MASK[k] = (v2_b__c0_price < v3_c__c0_price)
    n = marked(MASK, size, lo, G1)
    return n
