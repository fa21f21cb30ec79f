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
def store(i0, n, k0, nums, time, rank, place, type_, part, string_rank, c0_offsets, c0_values, c0_null, FILL, MASK, B0_e, B0_t, B1_e, B1_t, B2_e, B2_t, B3_e, B3_t, D0, D1, D2, SORTED, WIDTH, N2, PF, COUNT, SEEN, O_offsets, O_events, O_codes):
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
    turn(WIDTH[0, 1], n3, B3_e, D0, WIDTH[0, 0], c0_offsets, c0_values, c0_null)  # lists in blocks
    WIDTH[0, 1] = n3
    turn(WIDTH[1, 1], n2, B2_e, D1, WIDTH[1, 0], c0_offsets, c0_values, c0_null)  # lists in blocks
    WIDTH[1, 1] = n2
    turn(WIDTH[2, 1], n1, B1_e, D2, WIDTH[2, 0], c0_offsets, c0_values, c0_null)  # lists in blocks
    WIDTH[2, 1] = n1
    FILL[0] = n0
    FILL[1] = n1
    FILL[2] = n2
    FILL[3] = n3


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c0_offsets, c0_values, c0_null):
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
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c0_offsets, c0_values, c0_null, FILL, MASK, B0_e, B0_t, B1_e, B1_t, B2_e, B2_t, B3_e, B3_t, D0, D1, D2, SORTED, WIDTH, N2, PF, COUNT, SEEN, O_offsets, O_events, O_codes):  # take C c
    m = nums[0]
    w = nums[1]
    from1_b = 0
    to1_b = 0
    base2_a = 0
    top2_a = 0
    base3_n = 0
    top3_n = 0
    for j_c in range(r0, r1):
        m_0 = m
        w_0 = w
        e_c = B0_e[j_c]
        t_c = B0_t[j_c]
        if quiet == 0:
            lo_b = from1_b = next_lower(B1_t, from1_b, FILL[1], t_c - 600000)  # WITHIN
            hi_b = to1_b = next_lower(B1_t, to1_b, FILL[1], t_c)  # before c
            base2_a = next_lower(B2_t, base2_a, FILL[2], t_c - 600000)  # WITHIN
            top2_a = next_lower(B2_t, top2_a, FILL[2], t_c)  # before c
            noted2_a = False
            base3_n = next_lower(B3_t, base3_n, FILL[3], t_c - 600000)  # WITHIN
            top3_n = next_lower(B3_t, top3_n, FILL[3], t_c)  # before c
            squares_b = dot(c0_offsets, c0_values, c0_null, e_c, c0_offsets, c0_values, c0_null, e_c)
            limit_b = least_near(0.5, squares_b, c0_offsets[e_c + 1] - c0_offsets[e_c], WIDTH[2, 0])
            base_b = (lo_b & -64) - 64
            bits_b = 0
            while bits_b != 0 or base_b + 64 < hi_b:  # take B b, 64 at a time
                if bits_b == 0:  # dot(b.`standardise(e.history)`, c.`standardise(e.history)`) < -0.5   (query 2:68)
                    base_b += 64
                    bits_b = near(D2, WIDTH[2, 0], base_b, lo_b, hi_b, c0_values, c0_offsets[e_c], -1.0, limit_b)
                    continue
                j_b = base_b + lowest(bits_b)
                bits_b = without_lowest(bits_b)
                e_b = B1_e[j_b]
                t_b = B1_t[j_b]
                if not (dot(c0_offsets, c0_values, c0_null, e_b, c0_offsets, c0_values, c0_null, e_c) < -0.5):  # dot(b.`standardise(e.history)`, c.`standardise(e.history)`) < -0.5   (query 2:68)
                    continue
                lo_a = base2_a  # WITHIN
                hi_a = within_lower(B2_t, lo_a, top2_a, t_b)  # before c, b
                if not noted2_a:  # A a near c
                    squares_a = dot(c0_offsets, c0_values, c0_null, e_c, c0_offsets, c0_values, c0_null, e_c)
                    limit_a = least_near(0.9, squares_a, c0_offsets[e_c + 1] - c0_offsets[e_c], WIDTH[1, 0])
                    for at_a in range(base2_a >> 6, (top2_a + 63) >> 6):
                        bits_a = near_a = near(D1, WIDTH[1, 0], at_a << 6, base2_a, top2_a, c0_values, c0_offsets[e_c], 1.0, limit_a)
                        while bits_a != 0:
                            e_a = B2_e[(at_a << 6) + lowest(bits_a)]
                            rest_a = without_lowest(bits_a)
                            if not (dot(c0_offsets, c0_values, c0_null, e_a, c0_offsets, c0_values, c0_null, e_c) > 0.9):  # dot(a.`standardise(e.history)`, c.`standardise(e.history)`) > 0.9   (query 2:31)
                                near_a ^= bits_a ^ rest_a
                            bits_a = rest_a
                        N2[at_a] = near_a
                    noted2_a = True
                base_a = (lo_a & -64) - 64
                bits_a = 0
                while bits_a != 0 or base_a + 64 < hi_a:  # take A a, 64 at a time
                    if bits_a == 0:  # dot(a.`standardise(e.history)`, c.`standardise(e.history)`) > 0.9   (query 2:31)
                        base_a += 64
                        bits_a = int(N2[base_a >> 6]) & places(base_a, lo_a, hi_a)
                        continue
                    j_a = base_a + lowest(bits_a)
                    bits_a = without_lowest(bits_a)
                    e_a = B2_e[j_a]
                    t_a = B2_t[j_a]
                    gone_n = False
                    lo_n = within_upper(B3_t, base3_n, top3_n, t_a)  # after a
                    hi_n = within_lower(B3_t, lo_n, top3_n, t_b)  # before c, b
                    squares_n = dot(c0_offsets, c0_values, c0_null, e_a, c0_offsets, c0_values, c0_null, e_a)
                    limit_n = least_near(0.8, squares_n, c0_offsets[e_a + 1] - c0_offsets[e_a], WIDTH[0, 0])
                    base_n = (lo_n & -64) - 64
                    bits_n = 0
                    while bits_n != 0 or base_n + 64 < hi_n:  # take N n, 64 at a time
                        if bits_n == 0:  # dot(a.`standardise(e.history)`, n.`standardise(e.history)`) >= 0.8   (query 3:35)
                            base_n += 64
                            bits_n = near(D0, WIDTH[0, 0], base_n, lo_n, hi_n, c0_values, c0_offsets[e_a], 1.0, limit_n)
                            continue
                        j_n = base_n + lowest(bits_n)
                        bits_n = without_lowest(bits_n)
                        e_n = B3_e[j_n]
                        if not (dot(c0_offsets, c0_values, c0_null, e_a, c0_offsets, c0_values, c0_null, e_n) >= 0.8):  # dot(a.`standardise(e.history)`, n.`standardise(e.history)`) >= 0.8   (query 3:35)
                            continue
                        gone_n = True
                        break
                    if gone_n:  # NOT(N n)
                        continue
                    if w + 3 > O_events.shape[0]:
                        # no room: the caller makes some and comes back
                        nums[0] = m_0
                        nums[1] = w_0
                        nums[2] = 1
                        return j_c
                    O_events[natural(w + 0)] = e_a
                    O_events[natural(w + 1)] = e_b
                    O_events[natural(w + 2)] = e_c
                    w += 3
                    m += 1
    nums[0] = m
    nums[1] = w
    return r1
