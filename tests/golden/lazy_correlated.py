# PATTERN SEQ(A a, NOT(N n), B b, C c)
# WHERE   skip_till_any_match { corr(a.history, c.history) > 0.9 AND corr(b.history, c.history) < -0.5
#                               AND corr(a.history, n.history) >= 0.8 }
# WITHIN  10 minutes
#
# chain 0: c, b, a; negation first-chance
# B0: input buffer of c
# B1: input buffer of b
# B2: input buffer of a
# B3: input buffer of n


@kernel
def store(i0, n, k0, nums, time, rank, place, type_, part, string_rank, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, FILL, MASK, B0_e, B0_t, B1_e, B1_t, B2_e, B2_t, B3_e, B3_t, D0, D1, D2, SORTED, WIDTH):
    n0 = FILL[0]  # of c
    n1 = FILL[1]  # of b
    n2 = FILL[2]  # of a
    n3 = FILL[3]  # of n
    for i1 in range(natural(i0), n, 4096):
        size = min(n - i1, 4096)
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            MASK[k] = types[k] == 0
        n2_0, n2 = n2, n2 + marked(MASK, size, i1, B2_e[n2:])
        for at in range(natural(n2_0), n2):
            i = natural(B2_e[at])
            B2_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            MASK[k] = types[k] == 1
        n1_0, n1 = n1, n1 + marked(MASK, size, i1, B1_e[n1:])
        for at in range(natural(n1_0), n1):
            i = natural(B1_e[at])
            B1_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of c
        for k in range(size):
            MASK[k] = types[k] == 2
        n0_0, n0 = n0, n0 + marked(MASK, size, i1, B0_e[n0:])
        for at in range(natural(n0_0), n0):
            i = natural(B0_e[at])
            B0_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of n
        for k in range(size):
            MASK[k] = types[k] == 3
        n3_0, n3 = n3, n3 + marked(MASK, size, i1, B3_e[n3:])
        for at in range(natural(n3_0), n3):
            i = natural(B3_e[at])
            B3_t[at] = time[i]
    turn(WIDTH[0, 1], n3, B3_e, D0, WIDTH[0, 0], c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # lists in blocks
    WIDTH[0, 1] = n3
    turn(WIDTH[1, 1], n2, B2_e, D1, WIDTH[1, 0], c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # lists in blocks
    WIDTH[1, 1] = n2
    turn(WIDTH[2, 1], n1, B1_e, D2, WIDTH[2, 0], c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # lists in blocks
    WIDTH[2, 1] = n1
    FILL[0] = n0
    FILL[1] = n1
    FILL[2] = n2
    FILL[3] = n3


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of c
        for k in range(size):
            total += types[k] == 2
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            total += types[k] == 1
        counts[(i1 - i0) // piece, 1] += total
        total = 0
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            total += types[k] == 0
        counts[(i1 - i0) // piece, 2] += total
        total = 0
        types = type_[i1 : i1 + size]  # of n
        for k in range(size):
            total += types[k] == 3
        counts[(i1 - i0) // piece, 3] += total


@kernel
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, FILL, MASK, B0_e, B0_t, B1_e, B1_t, B2_e, B2_t, B3_e, B3_t, D0, D1, D2, SORTED, WIDTH, N2, PF, COUNT, SEEN, O_offsets, O_events, O_codes):  # take C c
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
        if quiet == 0:
            lo_v2_b = from1_v2_b = next_lower(B1_t, from1_v2_b, FILL[1], t_v3_c - 600000)  # WITHIN
            hi_v2_b = to1_v2_b = next_lower(B1_t, to1_v2_b, FILL[1], t_v3_c)  # before c
            base2_v0_a = next_lower(B2_t, base2_v0_a, FILL[2], t_v3_c - 600000)  # WITHIN
            top2_v0_a = next_lower(B2_t, top2_v0_a, FILL[2], t_v3_c)  # before c
            noted2_v0_a = False
            base3_v1_n = next_lower(B3_t, base3_v1_n, FILL[3], t_v3_c - 600000)  # WITHIN
            top3_v1_n = next_lower(B3_t, top3_v1_n, FILL[3], t_v3_c)  # before c
            squares_v2_b = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c)
            limit_v2_b = least_near(0.5, squares_v2_b, c0_standardise_e_history_offsets[e_v3_c + 1] - c0_standardise_e_history_offsets[e_v3_c], WIDTH[2, 0])
            base_v2_b = (lo_v2_b & -64) - 64
            bits_v2_b = 0
            while bits_v2_b != 0 or base_v2_b + 64 < hi_v2_b:  # take B b, 64 at a time
                if bits_v2_b == 0:  # dot(b.`standardise(e.history)`, c.`standardise(e.history)`) < -0.5   (query 2:68)
                    base_v2_b += 64
                    bits_v2_b = near(D2, WIDTH[2, 0], base_v2_b, lo_v2_b, hi_v2_b, c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v3_c], -1.0, limit_v2_b)
                    continue
                j_v2_b = base_v2_b + lowest(bits_v2_b)
                bits_v2_b = without_lowest(bits_v2_b)
                e_v2_b = B1_e[j_v2_b]
                t_v2_b = B1_t[j_v2_b]
                if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v2_b, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c) < -0.5):  # dot(b.`standardise(e.history)`, c.`standardise(e.history)`) < -0.5   (query 2:68)
                    continue
                if stopped(nums):
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = -2
                    return j_v3_c
                lo_v0_a = base2_v0_a  # WITHIN
                hi_v0_a = within_lower(B2_t, lo_v0_a, top2_v0_a, t_v2_b)  # before c, b
                if not noted2_v0_a:  # A a near c
                    squares_v0_a = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c)
                    limit_v0_a = least_near(0.9, squares_v0_a, c0_standardise_e_history_offsets[e_v3_c + 1] - c0_standardise_e_history_offsets[e_v3_c], WIDTH[1, 0])
                    for at_v0_a in range(base2_v0_a >> 6, (top2_v0_a + 63) >> 6):
                        bits_v0_a = near_v0_a = near(D1, WIDTH[1, 0], at_v0_a << 6, base2_v0_a, top2_v0_a, c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v3_c], 1.0, limit_v0_a)
                        while bits_v0_a != 0:
                            e_v0_a = B2_e[(at_v0_a << 6) + lowest(bits_v0_a)]
                            rest_v0_a = without_lowest(bits_v0_a)
                            if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c) > 0.9):  # dot(a.`standardise(e.history)`, c.`standardise(e.history)`) > 0.9   (query 2:31)
                                near_v0_a ^= bits_v0_a ^ rest_v0_a
                            bits_v0_a = rest_v0_a
                        N2[at_v0_a] = near_v0_a
                    noted2_v0_a = True
                base_v0_a = (lo_v0_a & -64) - 64
                bits_v0_a = 0
                while bits_v0_a != 0 or base_v0_a + 64 < hi_v0_a:  # take A a, 64 at a time
                    if bits_v0_a == 0:  # dot(a.`standardise(e.history)`, c.`standardise(e.history)`) > 0.9   (query 2:31)
                        base_v0_a += 64
                        bits_v0_a = int(N2[base_v0_a >> 6]) & places(base_v0_a, lo_v0_a, hi_v0_a)
                        continue
                    j_v0_a = base_v0_a + lowest(bits_v0_a)
                    bits_v0_a = without_lowest(bits_v0_a)
                    e_v0_a = B2_e[j_v0_a]
                    t_v0_a = B2_t[j_v0_a]
                    gone_v1_n = False
                    lo_v1_n = within_upper(B3_t, base3_v1_n, top3_v1_n, t_v0_a)  # after a
                    hi_v1_n = within_lower(B3_t, lo_v1_n, top3_v1_n, t_v2_b)  # before c, b
                    squares_v1_n = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a)
                    limit_v1_n = least_near(0.8, squares_v1_n, c0_standardise_e_history_offsets[e_v0_a + 1] - c0_standardise_e_history_offsets[e_v0_a], WIDTH[0, 0])
                    base_v1_n = (lo_v1_n & -64) - 64
                    bits_v1_n = 0
                    while bits_v1_n != 0 or base_v1_n + 64 < hi_v1_n:  # take N n, 64 at a time
                        if bits_v1_n == 0:  # dot(a.`standardise(e.history)`, n.`standardise(e.history)`) >= 0.8   (query 3:35)
                            base_v1_n += 64
                            bits_v1_n = near(D0, WIDTH[0, 0], base_v1_n, lo_v1_n, hi_v1_n, c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v0_a], 1.0, limit_v1_n)
                            continue
                        j_v1_n = base_v1_n + lowest(bits_v1_n)
                        bits_v1_n = without_lowest(bits_v1_n)
                        e_v1_n = B3_e[j_v1_n]
                        if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_n) >= 0.8):  # dot(a.`standardise(e.history)`, n.`standardise(e.history)`) >= 0.8   (query 3:35)
                            continue
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
