# PATTERN SEQ(A a, B b)
# WHERE   skip_till_any_match { corr(a.history, b.history) < -0.9 }
# WITHIN  10 minutes
#
# chain 0: b, a; negation post-processing
# buffer0: input buffer of b
# buffer1: input buffer of a


@kernel
def store(i0, n, time, type_, type_codes, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, buffer_fill, mask, buffer0_e, buffer0_t, buffer1_e, buffer1_t, block0, cosine0, lead, block_width):
    n0 = buffer_fill[0]  # of b
    n1 = buffer_fill[1]  # of a
    for i1 in range(natural(i0), n, 4096):
        size = min(n - i1, 4096)
        types = type_[i1 : i1 + size]  # of a
        type0 = type_codes[0]  # A
        for k in range(size):
            mask[k] = types[k] == type0
        n1_0, n1 = n1, n1 + marked(mask, size, i1, buffer1_e[n1:])
        for at in range(natural(n1_0), n1):
            i = natural(buffer1_e[at])
            buffer1_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of b
        type0 = type_codes[1]  # B
        for k in range(size):
            mask[k] = types[k] == type0
        n0_0, n0 = n0, n0 + marked(mask, size, i1, buffer0_e[n0:])
        for at in range(natural(n0_0), n0):
            i = natural(buffer0_e[at])
            buffer0_t[at] = time[i]
    turn_leads(block_width[0, 1], n1, buffer1_e, block0, block_width[0, 0], cosine0, lead, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # what leads lists, in blocks
    block_width[0, 1] = n1
    buffer_fill[0] = n0
    buffer_fill[1] = n1


@kernel
def tally(i0, n, piece, counts, type_, type_codes):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of b
        type0 = type_codes[1]  # B
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        types = type_[i1 : i1 + size]  # of a
        type0 = type_codes[0]  # A
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 1] += total


@kernel
def start_0(r0, r1, quiet, nums, int_values, float_values, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, buffer_fill, buffer0_e, buffer0_t, buffer1_e, buffer1_t, block0, cosine0, lead, block_width, match_event):  # take B b
    within = int_values[0]
    float_values_0 = float_values[0]
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
        e_v1_b = buffer0_e[j_v1_b]
        t_v1_b = buffer0_t[j_v1_b]
        if quiet == 0:
            lo_v0_a = from1_v0_a = next_lower(buffer1_t, from1_v0_a, buffer_fill[1], t_v1_b - within)  # WITHIN
            hi_v0_a = to1_v0_a = next_lower(buffer1_t, to1_v0_a, buffer_fill[1], t_v1_b)  # before b
            squares_v0_a = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_b, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_b)
            limit_v0_a = least_near(float_values[1], squares_v0_a, c0_standardise_e_history_offsets[e_v1_b + 1] - c0_standardise_e_history_offsets[e_v1_b], block_width[0, 0])
            if abs(limit_v0_a) < inf:  # what leads it
                lead[26] = rest_of(squares_v0_a, coefficients(c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v1_b], block_width[0, 0], cosine0, -1.0, lead, 18), block_width[0, 0])
            base_v0_a = (lo_v0_a & -64) - 64
            bits_v0_a = 0
            while bits_v0_a != 0 or base_v0_a + 64 < hi_v0_a:  # take A a, 64 at a time
                if bits_v0_a == 0:  # dot(a.`standardise(e.history)`, b.`standardise(e.history)`) < -0.9   (query 2:31)
                    base_v0_a += 64
                    bits_v0_a = near(block0, 9, base_v0_a, lo_v0_a, hi_v0_a, lead, 18, 1.0, limit_v0_a)
                    continue
                j_v0_a = base_v0_a + lowest(bits_v0_a)
                bits_v0_a = without_lowest(bits_v0_a)
                e_v0_a = buffer1_e[j_v0_a]
                if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_b) < float_values_0):  # dot(a.`standardise(e.history)`, b.`standardise(e.history)`) < -0.9   (query 2:31)
                    continue
                if w + 2 > match_event.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = 1
                    return j_v1_b
                match_event[natural(w + 0)] = e_v0_a
                match_event[natural(w + 1)] = e_v1_b
                w += 2
                m += 1
    nums[0] = m
    nums[1] = w
    return r1
