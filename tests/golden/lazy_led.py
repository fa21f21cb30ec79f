# PATTERN SEQ(A a, B b)
# WHERE   skip_till_any_match { corr(a.history, b.history) < -0.9 }
# WITHIN  10 minutes
#
# chain 0: b, a; negation post-processing
# B0: input buffer of b
# B1: input buffer of a


@kernel
def store(i0, n, k0, nums, time, rank, place, type_, part, string_rank, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, FILL, MASK, B0_e, B0_t, B1_e, B1_t, D0, C0, LED, SORTED, WIDTH):
    n0 = FILL[0]  # of b
    n1 = FILL[1]  # of a
    for i1 in range(natural(i0), n, 4096):
        size = min(n - i1, 4096)
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            MASK[k] = types[k] == 0
        n1_0, n1 = n1, n1 + marked(MASK, size, i1, B1_e[n1:])
        for at in range(natural(n1_0), n1):
            i = natural(B1_e[at])
            B1_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            MASK[k] = types[k] == 1
        n0_0, n0 = n0, n0 + marked(MASK, size, i1, B0_e[n0:])
        for at in range(natural(n0_0), n0):
            i = natural(B0_e[at])
            B0_t[at] = time[i]
    turn_leads(WIDTH[0, 1], n1, B1_e, D0, WIDTH[0, 0], C0, LED, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # what leads lists, in blocks
    WIDTH[0, 1] = n1
    FILL[0] = n0
    FILL[1] = n1


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            total += types[k] == 1
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            total += types[k] == 0
        counts[(i1 - i0) // piece, 1] += total


@kernel
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, FILL, MASK, B0_e, B0_t, B1_e, B1_t, D0, C0, LED, SORTED, WIDTH, PF, COUNT, SEEN, O_offsets, O_events, O_codes):  # take B b
    m = nums[0]
    w = nums[1]
    from1_v0_a = 0
    to1_v0_a = 0
    for j_v1_b in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            return j_v1_b
        m_0 = m
        w_0 = w
        e_v1_b = B0_e[j_v1_b]
        t_v1_b = B0_t[j_v1_b]
        if quiet == 0:
            lo_v0_a = from1_v0_a = next_lower(B1_t, from1_v0_a, FILL[1], t_v1_b - 600000)  # WITHIN
            hi_v0_a = to1_v0_a = next_lower(B1_t, to1_v0_a, FILL[1], t_v1_b)  # before b
            squares_v0_a = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_b, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_b)
            limit_v0_a = least_near(0.9, squares_v0_a, c0_standardise_e_history_offsets[e_v1_b + 1] - c0_standardise_e_history_offsets[e_v1_b], WIDTH[0, 0])
            if abs(limit_v0_a) < inf:  # what leads it
                LED[26] = rest_of(squares_v0_a, coefficients(c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v1_b], WIDTH[0, 0], C0, -1.0, LED, 18), WIDTH[0, 0])
            base_v0_a = (lo_v0_a & -64) - 64
            bits_v0_a = 0
            while bits_v0_a != 0 or base_v0_a + 64 < hi_v0_a:  # take A a, 64 at a time
                if bits_v0_a == 0:  # dot(a.`standardise(e.history)`, b.`standardise(e.history)`) < -0.9   (query 2:31)
                    base_v0_a += 64
                    bits_v0_a = near(D0, 9, base_v0_a, lo_v0_a, hi_v0_a, LED, 18, 1.0, limit_v0_a)
                    continue
                j_v0_a = base_v0_a + lowest(bits_v0_a)
                bits_v0_a = without_lowest(bits_v0_a)
                e_v0_a = B1_e[j_v0_a]
                if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_b) < -0.9):  # dot(a.`standardise(e.history)`, b.`standardise(e.history)`) < -0.9   (query 2:31)
                    continue
                if w + 2 > O_events.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = 1
                    return j_v1_b
                O_events[natural(w + 0)] = e_v0_a
                O_events[natural(w + 1)] = e_v1_b
                w += 2
                m += 1
    nums[0] = m
    nums[1] = w
    return r1
