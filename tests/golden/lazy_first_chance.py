# PATTERN SEQ(A a, NOT(N n), B b, C c)
# WHERE   skip_till_any_match { a.price < b.price AND b.price < c.price AND n.volume > a.volume }
# WITHIN  10 minutes
#
# chain 0: c, b, a; negation first-chance
# buffer0: input buffer of c
# buffer1: input buffer of n
# buffer2: input buffer of a
# buffer3: input buffer of b


@kernel
def store(i0, n, time, type_, type_codes, c1_volume, c1_volume_null, c0_price, buffer_fill, mask, buffer0_e, buffer0_t, buffer0__c0_price, buffer1_e, buffer1_t, buffer1__c1_volume, buffer1__c1_volume_null, buffer2_e, buffer2_t, buffer2__c1_volume, buffer2__c1_volume_null, buffer2__c0_price, buffer3_e, buffer3_t, buffer3__c0_price):
    n0 = buffer_fill[0]  # of c
    n1 = buffer_fill[1]  # of n
    n2 = buffer_fill[2]  # of a
    n3 = buffer_fill[3]  # of b
    for i1 in range(natural(i0), n, 4096):
        size = min(n - i1, 4096)
        types = type_[i1 : i1 + size]  # of a
        type0 = type_codes[0]  # A
        for k in range(size):
            mask[k] = types[k] == type0
        n2_0, n2 = n2, n2 + marked(mask, size, i1, buffer2_e[n2:])
        for at in range(natural(n2_0), n2):
            i = natural(buffer2_e[at])
            buffer2_t[at] = time[i]
            buffer2__c1_volume[at] = c1_volume[i]
            buffer2__c1_volume_null[at] = c1_volume_null[i]
            buffer2__c0_price[at] = c0_price[i]
        types = type_[i1 : i1 + size]  # of b
        type0 = type_codes[1]  # B
        for k in range(size):
            mask[k] = types[k] == type0
        n3_0, n3 = n3, n3 + marked(mask, size, i1, buffer3_e[n3:])
        for at in range(natural(n3_0), n3):
            i = natural(buffer3_e[at])
            buffer3_t[at] = time[i]
            buffer3__c0_price[at] = c0_price[i]
        types = type_[i1 : i1 + size]  # of c
        type0 = type_codes[2]  # C
        for k in range(size):
            mask[k] = types[k] == type0
        n0_0, n0 = n0, n0 + marked(mask, size, i1, buffer0_e[n0:])
        for at in range(natural(n0_0), n0):
            i = natural(buffer0_e[at])
            buffer0_t[at] = time[i]
            buffer0__c0_price[at] = c0_price[i]
        types = type_[i1 : i1 + size]  # of n
        type0 = type_codes[3]  # N
        for k in range(size):
            mask[k] = types[k] == type0
        n1_0, n1 = n1, n1 + marked(mask, size, i1, buffer1_e[n1:])
        for at in range(natural(n1_0), n1):
            i = natural(buffer1_e[at])
            buffer1_t[at] = time[i]
            buffer1__c1_volume[at] = c1_volume[i]
            buffer1__c1_volume_null[at] = c1_volume_null[i]
    buffer_fill[0] = n0
    buffer_fill[1] = n1
    buffer_fill[2] = n2
    buffer_fill[3] = n3


@kernel
def tally(i0, n, piece, counts, type_, type_codes):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of c
        type0 = type_codes[2]  # C
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        types = type_[i1 : i1 + size]  # of n
        type0 = type_codes[3]  # N
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 1] += total
        total = 0
        types = type_[i1 : i1 + size]  # of a
        type0 = type_codes[0]  # A
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 2] += total
        total = 0
        types = type_[i1 : i1 + size]  # of b
        type0 = type_codes[1]  # B
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 3] += total


@kernel
def start_0(r0, r1, quiet, nums, int_values, buffer_fill, mask, buffer0_e, buffer0_t, buffer0__c0_price, buffer1_t, buffer1__c1_volume, buffer1__c1_volume_null, buffer2_e, buffer2_t, buffer2__c1_volume, buffer2__c1_volume_null, buffer2__c0_price, buffer3_e, buffer3_t, buffer3__c0_price, found3, found2, found1, match_event):  # take C c
    within = int_values[0]
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
        e_v3_c = buffer0_e[j_v3_c]
        t_v3_c = buffer0_t[j_v3_c]
        v3_c__c0_price = buffer0__c0_price[j_v3_c]
        if quiet == 0:
            lo_v2_b = from1_v2_b = next_lower(buffer3_t, from1_v2_b, buffer_fill[3], t_v3_c - within)  # WITHIN
            hi_v2_b = to1_v2_b = next_lower(buffer3_t, to1_v2_b, buffer_fill[3], t_v3_c)  # before c
            found_v2_b = select_1(lo_v2_b, hi_v2_b, v3_c__c0_price, buffer3__c0_price, mask, found1)  # b.price < c.price   (query 2:53)
            if found_v2_b > 0:
                base2_v0_a = next_lower(buffer2_t, base2_v0_a, buffer_fill[2], t_v3_c - within)  # WITHIN
                top2_v0_a = next_lower(buffer2_t, top2_v0_a, buffer_fill[2], t_v3_c)  # before c
                base3_v1_n = next_lower(buffer1_t, base3_v1_n, buffer_fill[1], t_v3_c - within)  # WITHIN
                top3_v1_n = next_lower(buffer1_t, top3_v1_n, buffer_fill[1], t_v3_c)  # before c
                for at_v2_b in range(found_v2_b):  # take B b
                    j_v2_b = found1[at_v2_b]
                    e_v2_b = buffer3_e[j_v2_b]
                    t_v2_b = buffer3_t[j_v2_b]
                    v2_b__c0_price = buffer3__c0_price[j_v2_b]
                    if stopped(nums):
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        nums[2] = -2
                        return j_v3_c
                    lo_v0_a = base2_v0_a  # WITHIN
                    hi_v0_a = within_lower(buffer2_t, lo_v0_a, top2_v0_a, t_v2_b)  # before c, b
                    found_v0_a = select_2(lo_v0_a, hi_v0_a, v2_b__c0_price, buffer2__c0_price, mask, found2)  # a.price < b.price   (query 2:31)
                    for at_v0_a in range(found_v0_a):  # take A a
                        j_v0_a = found2[at_v0_a]
                        e_v0_a = buffer2_e[j_v0_a]
                        t_v0_a = buffer2_t[j_v0_a]
                        v0_a__c1_volume = buffer2__c1_volume[j_v0_a]
                        v0_a__c1_volume_null = buffer2__c1_volume_null[j_v0_a]
                        gone_v1_n = False
                        lo_v1_n = within_upper(buffer1_t, base3_v1_n, top3_v1_n, t_v0_a)  # after a
                        hi_v1_n = within_lower(buffer1_t, lo_v1_n, top3_v1_n, t_v2_b)  # before c, b
                        found_v1_n = select_3(lo_v1_n, hi_v1_n, v0_a__c1_volume_null, v0_a__c1_volume, buffer1__c1_volume, buffer1__c1_volume_null, mask, found3)  # n.volume > a.volume   (query 2:75)
                        for at_v1_n in range(found_v1_n):  # take N n
                            j_v1_n = found3[at_v1_n]
                            gone_v1_n = True
                            break
                        if gone_v1_n:  # NOT(N n)
                            continue
                        if w + 3 > match_event.shape[0]:
                            # no room: the caller makes some and comes back
                            nums[4] = m
                            nums[0] = m_0
                            nums[1] = w_0
                            nums[2] = 1
                            return j_v3_c
                        match_event[natural(w + 0)] = e_v0_a
                        match_event[natural(w + 1)] = e_v2_b
                        match_event[natural(w + 2)] = e_v3_c
                        w += 3
                        m += 1
    nums[0] = m
    nums[1] = w
    return r1


@kernel
def select_3(lo, hi, v0_a__c1_volume_null, v0_a__c1_volume, buffer1__c1_volume, buffer1__c1_volume_null, mask, found3):  # n.volume > a.volume   (query 2:75)
    size = hi - lo
    width = (size + 31) & -32
    s__c1_volume = buffer1__c1_volume[lo : lo + width]
    s__c1_volume_null = buffer1__c1_volume_null[lo : lo + width]
    for k in range(width):
        v1_n__c1_volume = s__c1_volume[k]
        v1_n__c1_volume_null = s__c1_volume_null[k]
        mask[k] = (not ((v1_n__c1_volume_null != 0) or (v0_a__c1_volume_null != 0)) and v1_n__c1_volume > v0_a__c1_volume)
    n = marked(mask, size, lo, found3)
    return n


@kernel
def select_2(lo, hi, v2_b__c0_price, buffer2__c0_price, mask, found2):  # a.price < b.price   (query 2:31)
    size = hi - lo
    width = (size + 31) & -32
    s__c0_price = buffer2__c0_price[lo : lo + width]
    for k in range(width):
        v0_a__c0_price = s__c0_price[k]
        mask[k] = (v0_a__c0_price < v2_b__c0_price)
    n = marked(mask, size, lo, found2)
    return n


@kernel
def select_1(lo, hi, v3_c__c0_price, buffer3__c0_price, mask, found1):  # b.price < c.price   (query 2:53)
    size = hi - lo
    width = (size + 31) & -32
    s__c0_price = buffer3__c0_price[lo : lo + width]
    for k in range(width):
        v2_b__c0_price = s__c0_price[k]
        mask[k] = (v2_b__c0_price < v3_c__c0_price)
    n = marked(mask, size, lo, found1)
    return n
