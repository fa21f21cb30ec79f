# PATTERN SEQ(A a, NOT(N n), B b, C c)
# WHERE   skip_till_any_match { corr(a.history, c.history) > 0.9 AND corr(b.history, c.history) < -0.5
#                               AND corr(a.history, n.history) >= 0.8 }
# WITHIN  10 minutes
#
# chain 0: c, b, a; negation first-chance
# buffer0: input buffer of c
# buffer1: input buffer of b
# buffer2: input buffer of a
# buffer3: input buffer of n


@kernel
def store(i0, n, time, type_, type_codes, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, buffer_fill, mask, buffer0_e, buffer0_t, buffer1_e, buffer1_t, buffer2_e, buffer2_t, buffer3_e, buffer3_t, block0, block1, block2, block_width):
    n0 = buffer_fill[0]  # of c
    n1 = buffer_fill[1]  # of b
    n2 = buffer_fill[2]  # of a
    n3 = buffer_fill[3]  # of n
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
        types = type_[i1 : i1 + size]  # of b
        type0 = type_codes[1]  # B
        for k in range(size):
            mask[k] = types[k] == type0
        n1_0, n1 = n1, n1 + marked(mask, size, i1, buffer1_e[n1:])
        for at in range(natural(n1_0), n1):
            i = natural(buffer1_e[at])
            buffer1_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of c
        type0 = type_codes[2]  # C
        for k in range(size):
            mask[k] = types[k] == type0
        n0_0, n0 = n0, n0 + marked(mask, size, i1, buffer0_e[n0:])
        for at in range(natural(n0_0), n0):
            i = natural(buffer0_e[at])
            buffer0_t[at] = time[i]
        types = type_[i1 : i1 + size]  # of n
        type0 = type_codes[3]  # N
        for k in range(size):
            mask[k] = types[k] == type0
        n3_0, n3 = n3, n3 + marked(mask, size, i1, buffer3_e[n3:])
        for at in range(natural(n3_0), n3):
            i = natural(buffer3_e[at])
            buffer3_t[at] = time[i]
    turn(block_width[0, 1], n3, buffer3_e, block0, block_width[0, 0], c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # lists in blocks
    block_width[0, 1] = n3
    turn(block_width[1, 1], n2, buffer2_e, block1, block_width[1, 0], c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # lists in blocks
    block_width[1, 1] = n2
    turn(block_width[2, 1], n1, buffer1_e, block2, block_width[2, 0], c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null)  # lists in blocks
    block_width[2, 1] = n1
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
        types = type_[i1 : i1 + size]  # of b
        type0 = type_codes[1]  # B
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
        types = type_[i1 : i1 + size]  # of n
        type0 = type_codes[3]  # N
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 3] += total


@kernel
def start_0(r0, r1, quiet, nums, int_values, float_values, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, buffer_fill, buffer0_e, buffer0_t, buffer1_e, buffer1_t, buffer2_e, buffer2_t, buffer3_e, buffer3_t, block0, block1, block2, block_width, near2, match_event):  # take C c
    within = int_values[0]
    float_values_0 = float_values[0]
    float_values_1 = float_values[1]
    float_values_4 = float_values[4]
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
        if quiet == 0:
            lo_v2_b = from1_v2_b = next_lower(buffer1_t, from1_v2_b, buffer_fill[1], t_v3_c - within)  # WITHIN
            hi_v2_b = to1_v2_b = next_lower(buffer1_t, to1_v2_b, buffer_fill[1], t_v3_c)  # before c
            base2_v0_a = next_lower(buffer2_t, base2_v0_a, buffer_fill[2], t_v3_c - within)  # WITHIN
            top2_v0_a = next_lower(buffer2_t, top2_v0_a, buffer_fill[2], t_v3_c)  # before c
            noted2_v0_a = False
            base3_v1_n = next_lower(buffer3_t, base3_v1_n, buffer_fill[3], t_v3_c - within)  # WITHIN
            top3_v1_n = next_lower(buffer3_t, top3_v1_n, buffer_fill[3], t_v3_c)  # before c
            squares_v2_b = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c)
            limit_v2_b = least_near(float_values[5], squares_v2_b, c0_standardise_e_history_offsets[e_v3_c + 1] - c0_standardise_e_history_offsets[e_v3_c], block_width[2, 0])
            base_v2_b = (lo_v2_b & -64) - 64
            bits_v2_b = 0
            while bits_v2_b != 0 or base_v2_b + 64 < hi_v2_b:  # take B b, 64 at a time
                if bits_v2_b == 0:  # dot(b.`standardise(e.history)`, c.`standardise(e.history)`) < -0.5   (query 2:68)
                    base_v2_b += 64
                    bits_v2_b = near(block2, block_width[2, 0], base_v2_b, lo_v2_b, hi_v2_b, c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v3_c], -1.0, limit_v2_b)
                    continue
                j_v2_b = base_v2_b + lowest(bits_v2_b)
                bits_v2_b = without_lowest(bits_v2_b)
                e_v2_b = buffer1_e[j_v2_b]
                t_v2_b = buffer1_t[j_v2_b]
                if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v2_b, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c) < float_values_0):  # dot(b.`standardise(e.history)`, c.`standardise(e.history)`) < -0.5   (query 2:68)
                    continue
                if stopped(nums):
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = -2
                    return j_v3_c
                lo_v0_a = base2_v0_a  # WITHIN
                hi_v0_a = within_lower(buffer2_t, lo_v0_a, top2_v0_a, t_v2_b)  # before c, b
                if not noted2_v0_a:  # A a near c
                    squares_v0_a = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c)
                    limit_v0_a = least_near(float_values[3], squares_v0_a, c0_standardise_e_history_offsets[e_v3_c + 1] - c0_standardise_e_history_offsets[e_v3_c], block_width[1, 0])
                    for at_v0_a in range(base2_v0_a >> 6, (top2_v0_a + 63) >> 6):
                        bits_v0_a = near_v0_a = near(block1, block_width[1, 0], at_v0_a << 6, base2_v0_a, top2_v0_a, c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v3_c], 1.0, limit_v0_a)
                        while bits_v0_a != 0:
                            e_v0_a = buffer2_e[(at_v0_a << 6) + lowest(bits_v0_a)]
                            rest_v0_a = without_lowest(bits_v0_a)
                            if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v3_c) > float_values_4):  # dot(a.`standardise(e.history)`, c.`standardise(e.history)`) > 0.9   (query 2:31)
                                near_v0_a ^= bits_v0_a ^ rest_v0_a
                            bits_v0_a = rest_v0_a
                        near2[at_v0_a] = near_v0_a
                    noted2_v0_a = True
                base_v0_a = (lo_v0_a & -64) - 64
                bits_v0_a = 0
                while bits_v0_a != 0 or base_v0_a + 64 < hi_v0_a:  # take A a, 64 at a time
                    if bits_v0_a == 0:  # dot(a.`standardise(e.history)`, c.`standardise(e.history)`) > 0.9   (query 2:31)
                        base_v0_a += 64
                        bits_v0_a = int(near2[base_v0_a >> 6]) & places(base_v0_a, lo_v0_a, hi_v0_a)
                        continue
                    j_v0_a = base_v0_a + lowest(bits_v0_a)
                    bits_v0_a = without_lowest(bits_v0_a)
                    e_v0_a = buffer2_e[j_v0_a]
                    t_v0_a = buffer2_t[j_v0_a]
                    gone_v1_n = False
                    lo_v1_n = within_upper(buffer3_t, base3_v1_n, top3_v1_n, t_v0_a)  # after a
                    hi_v1_n = within_lower(buffer3_t, lo_v1_n, top3_v1_n, t_v2_b)  # before c, b
                    squares_v1_n = dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a)
                    limit_v1_n = least_near(float_values[2], squares_v1_n, c0_standardise_e_history_offsets[e_v0_a + 1] - c0_standardise_e_history_offsets[e_v0_a], block_width[0, 0])
                    base_v1_n = (lo_v1_n & -64) - 64
                    bits_v1_n = 0
                    while bits_v1_n != 0 or base_v1_n + 64 < hi_v1_n:  # take N n, 64 at a time
                        if bits_v1_n == 0:  # dot(a.`standardise(e.history)`, n.`standardise(e.history)`) >= 0.8   (query 3:35)
                            base_v1_n += 64
                            bits_v1_n = near(block0, block_width[0, 0], base_v1_n, lo_v1_n, hi_v1_n, c0_standardise_e_history_values, c0_standardise_e_history_offsets[e_v0_a], 1.0, limit_v1_n)
                            continue
                        j_v1_n = base_v1_n + lowest(bits_v1_n)
                        bits_v1_n = without_lowest(bits_v1_n)
                        e_v1_n = buffer3_e[j_v1_n]
                        if not (dot(c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v0_a, c0_standardise_e_history_offsets, c0_standardise_e_history_values, c0_standardise_e_history_null, e_v1_n) >= float_values_1):  # dot(a.`standardise(e.history)`, n.`standardise(e.history)`) >= 0.8   (query 3:35)
                            continue
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
