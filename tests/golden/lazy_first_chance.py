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
def store(i0, n, k0, nums, time, rank, place, type_, part, string_rank, c_volume, c_volume_null, c_price, FILL, MASK, WORDS, PLACES, B0_e, B0_r, B0_t, B0__c_price, B1_e, B1_r, B1_t, B1__c_volume, B1__c_volume_null, B2_e, B2_r, B2_t, B2__c_volume, B2__c_volume_null, B2__c_price, B3_e, B3_r, B3_t, B3__c_price, SORTED, G2, G1, PF, COUNT, SEEN, O_offsets, O_events, O_codes):
    for i in range(i0, n):  # store for c
        MASK[i - i0] = (type_[i] == 2)
    words = (n - i0 + 7) >> 3
    for k in range(n - i0, 8 * words):
        MASK[k] = 0
    found = 0
    for word in range(words):
        if WORDS[word] != 0:
            for k in range(8 * word, 8 * word + 8):
                PLACES[found] = i0 + k
                found += MASK[k] != 0
    fill = FILL[0]
    for k in range(found):
        B0_e[fill + k] = PLACES[k]
    for k in range(found):
        B0_r[fill + k] = rank[PLACES[k]]
    for k in range(found):
        B0_t[fill + k] = time[PLACES[k]]
    for k in range(found):
        B0__c_price[fill + k] = c_price[PLACES[k]]
    FILL[0] = fill + found
    for i in range(i0, n):  # store for n
        MASK[i - i0] = (type_[i] == 3)
    words = (n - i0 + 7) >> 3
    for k in range(n - i0, 8 * words):
        MASK[k] = 0
    found = 0
    for word in range(words):
        if WORDS[word] != 0:
            for k in range(8 * word, 8 * word + 8):
                PLACES[found] = i0 + k
                found += MASK[k] != 0
    fill = FILL[1]
    for k in range(found):
        B1_e[fill + k] = PLACES[k]
    for k in range(found):
        B1_r[fill + k] = rank[PLACES[k]]
    for k in range(found):
        B1_t[fill + k] = time[PLACES[k]]
    for k in range(found):
        B1__c_volume[fill + k] = c_volume[PLACES[k]]
    for k in range(found):
        B1__c_volume_null[fill + k] = c_volume_null[PLACES[k]]
    FILL[1] = fill + found
    for i in range(i0, n):  # store for a
        MASK[i - i0] = (type_[i] == 0)
    words = (n - i0 + 7) >> 3
    for k in range(n - i0, 8 * words):
        MASK[k] = 0
    found = 0
    for word in range(words):
        if WORDS[word] != 0:
            for k in range(8 * word, 8 * word + 8):
                PLACES[found] = i0 + k
                found += MASK[k] != 0
    fill = FILL[2]
    for k in range(found):
        B2_e[fill + k] = PLACES[k]
    for k in range(found):
        B2_r[fill + k] = rank[PLACES[k]]
    for k in range(found):
        B2_t[fill + k] = time[PLACES[k]]
    for k in range(found):
        B2__c_volume[fill + k] = c_volume[PLACES[k]]
    for k in range(found):
        B2__c_volume_null[fill + k] = c_volume_null[PLACES[k]]
    for k in range(found):
        B2__c_price[fill + k] = c_price[PLACES[k]]
    FILL[2] = fill + found
    for i in range(i0, n):  # store for b
        MASK[i - i0] = (type_[i] == 1)
    words = (n - i0 + 7) >> 3
    for k in range(n - i0, 8 * words):
        MASK[k] = 0
    found = 0
    for word in range(words):
        if WORDS[word] != 0:
            for k in range(8 * word, 8 * word + 8):
                PLACES[found] = i0 + k
                found += MASK[k] != 0
    fill = FILL[3]
    for k in range(found):
        B3_e[fill + k] = PLACES[k]
    for k in range(found):
        B3_r[fill + k] = rank[PLACES[k]]
    for k in range(found):
        B3_t[fill + k] = time[PLACES[k]]
    for k in range(found):
        B3__c_price[fill + k] = c_price[PLACES[k]]
    FILL[3] = fill + found


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c_volume, c_volume_null, c_price):
    for i in range(i0, n):
        if (type_[i] == 2):
            counts[(i - i0) // piece, 0] += 1
        if (type_[i] == 3):
            counts[(i - i0) // piece, 1] += 1
        if (type_[i] == 0):
            counts[(i - i0) // piece, 2] += 1
        if (type_[i] == 1):
            counts[(i - i0) // piece, 3] += 1


@kernel
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c_volume, c_volume_null, c_price, FILL, MASK, WORDS, PLACES, B0_e, B0_r, B0_t, B0__c_price, B1_e, B1_r, B1_t, B1__c_volume, B1__c_volume_null, B2_e, B2_r, B2_t, B2__c_volume, B2__c_volume_null, B2__c_price, B3_e, B3_r, B3_t, B3__c_price, SORTED, G2, G1, PF, COUNT, SEEN, O_offsets, O_events, O_codes):  # take C c
    m = nums[0]
    w = nums[1]
    from1_b = 0
    to1_b = 0
    base2_a = 0
    top2_a = 0
    for j_c in range(r0, r1):
        m_0 = m
        w_0 = w
        e_c = B0_e[j_c]
        r_c = B0_r[j_c]
        t_c = B0_t[j_c]
        c__c_price = B0__c_price[j_c]
        if quiet == 0:
            lo_b = from1_b = gallop_lower(B3_t, from1_b, FILL[3], t_c - 600000)  # WITHIN
            hi_b = to1_b = gallop_lower(B3_r, to1_b, FILL[3], r_c)  # before c
            found_b = select_1(lo_b, hi_b, c__c_price, B3__c_price, MASK, WORDS, G1)  # b.price < c.price   (query 2:53)
            if found_b > 0:
                base2_a = gallop_lower(B2_t, base2_a, FILL[2], t_c - 600000)  # WITHIN
                top2_a = gallop_lower(B2_r, top2_a, FILL[2], r_c)  # before c
                for at_b in range(found_b):  # take B b
                    j_b = G1[at_b]
                    e_b = B3_e[j_b]
                    r_b = B3_r[j_b]
                    b__c_price = B3__c_price[j_b]
                    lo_a = base2_a  # WITHIN
                    hi_a = lower_bound(B2_r, lo_a, top2_a, r_b)  # before c, b
                    found_a = select_2(lo_a, hi_a, b__c_price, B2__c_price, MASK, WORDS, G2)  # a.price < b.price   (query 2:31)
                    for at_a in range(found_a):  # take A a
                        j_a = G2[at_a]
                        e_a = B2_e[j_a]
                        r_a = B2_r[j_a]
                        a__c_volume = B2__c_volume[j_a]
                        a__c_volume_null = B2__c_volume_null[j_a]
                        gone_n = False
                        lo_n = upper_bound(B1_r, 0, FILL[1], r_a)  # after a
                        hi_n = lower_bound(B1_r, lo_n, FILL[1], r_b)  # before c, b
                        for j_n in range(lo_n, hi_n):  # take N n
                            n__c_volume = B1__c_volume[j_n]
                            n__c_volume_null = B1__c_volume_null[j_n]
                            if not (not ((n__c_volume_null != 0) or (a__c_volume_null != 0)) and n__c_volume > a__c_volume):  # n.volume > a.volume   (query 2:75)
                                continue
                            gone_n = True
                            break
                        if gone_n:  # NOT(N n)
                            continue
                        if m + 1 >= O_offsets.shape[0] or w + 3 > O_events.shape[0]:
                            # no room: the caller makes some and comes back
                            nums[0] = m_0
                            nums[1] = w_0
                            nums[2] = 1
                            return j_c
                        O_events[w] = e_a
                        w += 1
                        O_events[w] = e_b
                        w += 1
                        O_events[w] = e_c
                        w += 1
                        m += 1
                        O_offsets[m] = w
    nums[0] = m
    nums[1] = w
    return r1


@kernel
def select_2(lo, hi, b__c_price, B2__c_price, MASK, WORDS, G2):  # a.price < b.price   (query 2:31)
    n = 0
    size = hi - lo
    if size < 32:
        for k in range(lo, hi):
            a__c_price = B2__c_price[k]
            G2[n] = k
            n += (a__c_price < b__c_price)
    else:
        s__c_price = B2__c_price[lo:hi]
        for k in range(size):
            a__c_price = s__c_price[k]
            MASK[k] = (a__c_price < b__c_price)
        words = (size + 7) >> 3
        for k in range(size, 8 * words):
            MASK[k] = 0
        for word in range(words):
            if WORDS[word] != 0:
                for k in range(8 * word, 8 * word + 8):
                    G2[n] = lo + k
                    n += MASK[k] != 0
    return n


@kernel
def select_1(lo, hi, c__c_price, B3__c_price, MASK, WORDS, G1):  # b.price < c.price   (query 2:53)
    n = 0
    size = hi - lo
    if size < 32:
        for k in range(lo, hi):
            b__c_price = B3__c_price[k]
            G1[n] = k
            n += (b__c_price < c__c_price)
    else:
        s__c_price = B3__c_price[lo:hi]
        for k in range(size):
            b__c_price = s__c_price[k]
            MASK[k] = (b__c_price < c__c_price)
        words = (size + 7) >> 3
        for k in range(size, 8 * words):
            MASK[k] = 0
        for word in range(words):
            if WORDS[word] != 0:
                for k in range(8 * word, 8 * word + 8):
                    G1[n] = lo + k
                    n += MASK[k] != 0
    return n
