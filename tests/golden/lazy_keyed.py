# PATTERN AND(A a, B b, C c)
# WHERE   skip_till_any_match { a.symbol = b.symbol AND b.volume = c.volume AND a.price < c.price }
# WITHIN  1 hour
#
# chain 0: a, b, c; negation post-processing
# buffer0: input buffer of a
# buffer1: input buffer of b
# buffer2: input buffer of c


@kernel
def store(i0, n, k0, key0, key1, time, type_, type_codes, c1_symbol, c2_volume, c2_volume_null, c0_price, buffer_fill, buffer0_e, buffer0_t, buffer0__c1_symbol, buffer0__c0_price, buffer0_k0, buffer1_e, buffer1_t, buffer1__c1_symbol, buffer1__c2_volume, buffer1__c2_volume_null, buffer1_k1, buffer1_k0, buffer2_e, buffer2_t, buffer2__c2_volume, buffer2__c2_volume_null, buffer2__c0_price, buffer2_k1, chain0_id, chain0_next, chain0_prev, chain0_first, chain0_last, chain1_id, chain1_next, chain1_prev, chain1_first, chain1_last, link0, link1):
    n0 = buffer_fill[0]  # of a
    n1 = buffer_fill[1]  # of b
    n2 = buffer_fill[2]  # of c
    for i in range(natural(i0), n):
        if (type_[i] == type_codes[0]):  # store it for c
            at = natural(n2)
            buffer2_e[at] = i
            buffer2_t[at] = time[i]
            buffer2__c2_volume[at] = c2_volume[i]
            buffer2__c2_volume_null[at] = c2_volume_null[i]
            buffer2__c0_price[at] = c0_price[i]
            buffer2_k1[at] = key1[i - k0]
            chain(at, key1[i - k0], chain0_id, chain0_next, chain0_prev, chain0_first, chain0_last)
            n2 += 1
        elif (type_[i] == type_codes[1]):  # store it for b
            at = natural(n1)
            buffer1_e[at] = i
            buffer1_t[at] = time[i]
            buffer1__c1_symbol[at] = c1_symbol[i]
            buffer1__c2_volume[at] = c2_volume[i]
            buffer1__c2_volume_null[at] = c2_volume_null[i]
            buffer1_k1[at] = key1[i - k0]
            buffer1_k0[at] = key0[i - k0]
            g = key1[i - k0]
            link0[at] = chain0_last[g] if g >= 0 else -1
            chain(at, key0[i - k0], chain1_id, chain1_next, chain1_prev, chain1_first, chain1_last)
            n1 += 1
        elif (type_[i] == type_codes[2]):  # store it for a
            at = natural(n0)
            buffer0_e[at] = i
            buffer0_t[at] = time[i]
            buffer0__c1_symbol[at] = c1_symbol[i]
            buffer0__c0_price[at] = c0_price[i]
            buffer0_k0[at] = key0[i - k0]
            g = key0[i - k0]
            link1[at] = chain1_last[g] if g >= 0 else -1
            n0 += 1
    buffer_fill[0] = n0
    buffer_fill[1] = n1
    buffer_fill[2] = n2


@kernel
def tally(i0, n, piece, counts, type_, type_codes):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of a
        type0 = type_codes[2]  # A
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
        types = type_[i1 : i1 + size]  # of c
        type0 = type_codes[0]  # C
        for k in range(size):
            total += types[k] == type0
        counts[(i1 - i0) // piece, 2] += total


@kernel
def start_0(r0, r1, now, quiet, nums, int_values, buffer0_e, buffer0_t, buffer0__c1_symbol, buffer0__c0_price, buffer0_k0, buffer1_e, buffer1_t, buffer1__c1_symbol, buffer1__c2_volume, buffer1__c2_volume_null, buffer1_k1, buffer2_e, buffer2_t, buffer2__c2_volume, buffer2__c2_volume_null, buffer2__c0_price, chain0_next, chain0_prev, chain0_first, chain1_next, chain1_prev, chain1_first, link0, link1, pool_fill, pool0_at, pool0_t, pool0_id1, pool0_next1, pool0_head1, pool1_at, pool1_t, pool1_id2, pool1_next2, pool1_head2, match_event):  # take A a
    within = int_values[0]
    m = nums[0]
    w = nums[1]
    f0 = pool_fill[0, 0]
    f1 = pool_fill[1, 0]
    for j_v0_a in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            pool_fill[0, 0] = f0
            pool_fill[1, 0] = f1
            return j_v0_a
        m_0 = m
        w_0 = w
        f0_0 = f0
        f1_0 = f1
        e_v0_a = buffer0_e[j_v0_a]
        t_v0_a = buffer0_t[j_v0_a]
        v0_a__c1_symbol = buffer0__c1_symbol[j_v0_a]
        v0_a__c0_price = buffer0__c0_price[j_v0_a]
        if now < INT_MAX and now - t_v0_a <= within:  # it may wait for the stream
            if f0 >= pool0_t.shape[0]:
                # no room: the caller makes some and comes back
                nums[4] = m
                nums[0] = m_0
                nums[1] = w_0
                pool_fill[0, 0] = f0_0
                pool_fill[1, 0] = f1_0
                nums[2] = 2
                return j_v0_a
            pool0_at[f0, 0] = j_v0_a
            pool0_t[f0] = t_v0_a
            g = buffer0_k0[j_v0_a]
            pool0_id1[f0] = g
            if g >= 0:
                pool0_next1[f0] = pool0_head1[g]
                pool0_head1[g] = f0
            f0 += 1
        at_v1_b = link1[j_v0_a]
        back_v1_b = chain1_prev[at_v1_b] if at_v1_b >= 0 else -1
        while back_v1_b >= 0 and t_v0_a - buffer1_t[back_v1_b] <= within:
            at_v1_b = back_v1_b
            back_v1_b = chain1_prev[at_v1_b]
        if at_v1_b < 0:
            at_v1_b = first_of(chain1_first, buffer0_k0[j_v0_a])
        while at_v1_b >= 0:  # take B b with the same symbol
            j_v1_b = at_v1_b
            at_v1_b = chain1_next[j_v1_b]
            if buffer1_t[j_v1_b] - t_v0_a > within:  # WITHIN
                break
            if t_v0_a - buffer1_t[j_v1_b] > within:  # WITHIN
                continue
            e_v1_b = buffer1_e[j_v1_b]
            t_v1_b = buffer1_t[j_v1_b]
            v1_b__c1_symbol = buffer1__c1_symbol[j_v1_b]
            v1_b__c2_volume = buffer1__c2_volume[j_v1_b]
            v1_b__c2_volume_null = buffer1__c2_volume_null[j_v1_b]
            if not (v0_a__c1_symbol == v1_b__c1_symbol and v0_a__c1_symbol >= 0 and v1_b__c1_symbol >= 0):  # a.symbol = b.symbol   (query 2:31)
                continue
            if stopped(nums):
                nums[4] = m
                nums[0] = m_0
                nums[1] = w_0
                pool_fill[0, 0] = f0_0
                pool_fill[1, 0] = f1_0
                nums[2] = -2
                return j_v0_a
            if now < INT_MAX and now - min(t_v0_a, t_v1_b) <= within:  # it may wait for the stream
                if f1 >= pool1_t.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    pool_fill[0, 0] = f0_0
                    pool_fill[1, 0] = f1_0
                    nums[2] = 3
                    return j_v0_a
                pool1_at[f1, 0] = j_v0_a
                pool1_at[f1, 1] = j_v1_b
                pool1_t[f1] = min(t_v0_a, t_v1_b)
                g = buffer1_k1[j_v1_b]
                pool1_id2[f1] = g
                if g >= 0:
                    pool1_next2[f1] = pool1_head2[g]
                    pool1_head2[g] = f1
                f1 += 1
            if quiet == 0:
                at_v2_c = link0[j_v1_b]
                back_v2_c = chain0_prev[at_v2_c] if at_v2_c >= 0 else -1
                while back_v2_c >= 0 and max(t_v0_a, t_v1_b) - buffer2_t[back_v2_c] <= within:
                    at_v2_c = back_v2_c
                    back_v2_c = chain0_prev[at_v2_c]
                if at_v2_c < 0:
                    at_v2_c = first_of(chain0_first, buffer1_k1[j_v1_b])
                while at_v2_c >= 0:  # take C c with the same volume
                    j_v2_c = at_v2_c
                    at_v2_c = chain0_next[j_v2_c]
                    if buffer2_t[j_v2_c] - min(t_v0_a, t_v1_b) > within:  # WITHIN
                        break
                    if max(t_v0_a, t_v1_b) - buffer2_t[j_v2_c] > within:  # WITHIN
                        continue
                    e_v2_c = buffer2_e[j_v2_c]
                    v2_c__c2_volume = buffer2__c2_volume[j_v2_c]
                    v2_c__c2_volume_null = buffer2__c2_volume_null[j_v2_c]
                    v2_c__c0_price = buffer2__c0_price[j_v2_c]
                    if not (not ((v1_b__c2_volume_null != 0) or (v2_c__c2_volume_null != 0)) and v1_b__c2_volume == v2_c__c2_volume):  # b.volume = c.volume   (query 2:55)
                        continue
                    if not (v0_a__c0_price < v2_c__c0_price):  # a.price < c.price   (query 2:79)
                        continue
                    if w + 3 > match_event.shape[0]:
                        # no room: the caller makes some and comes back
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        pool_fill[0, 0] = f0_0
                        pool_fill[1, 0] = f1_0
                        nums[2] = 1
                        return j_v0_a
                    match_event[natural(w + 0)] = e_v0_a
                    match_event[natural(w + 1)] = e_v1_b
                    match_event[natural(w + 2)] = e_v2_c
                    w += 3
                    m += 1
    nums[0] = m
    nums[1] = w
    pool_fill[0, 0] = f0
    pool_fill[1, 0] = f1
    return r1


@kernel
def resume_1(r0, r1, now, quiet, nums, int_values, buffer0_e, buffer0_t, buffer0__c1_symbol, buffer0__c0_price, buffer1_e, buffer1_t, buffer1__c1_symbol, buffer1__c2_volume, buffer1__c2_volume_null, buffer1_k1, buffer1_k0, buffer2_e, buffer2_t, buffer2__c2_volume, buffer2__c2_volume_null, buffer2__c0_price, chain0_next, chain0_prev, chain0_first, link0, pool_fill, pool0_at, pool0_next1, pool0_head1, pool1_at, pool1_t, pool1_id2, pool1_next2, pool1_head2, match_event):  # take B b from the stream
    within = int_values[0]
    m = nums[0]
    w = nums[1]
    f1 = pool_fill[1, 0]
    for j_v1_b in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            pool_fill[1, 0] = f1
            return j_v1_b
        m_0 = m
        w_0 = w
        f1_0 = f1
        e_v1_b = buffer1_e[j_v1_b]
        t_v1_b = buffer1_t[j_v1_b]
        v1_b__c1_symbol = buffer1__c1_symbol[j_v1_b]
        v1_b__c2_volume = buffer1__c2_volume[j_v1_b]
        v1_b__c2_volume_null = buffer1__c2_volume_null[j_v1_b]
        at_q = first_of(pool0_head1, buffer1_k0[j_v1_b])
        while at_q >= 0:
            q = at_q
            at_q = pool0_next1[q]
            if q >= pool_fill[0, 1]:
                continue  # made in this step
            j_v0_a = pool0_at[q, 0]
            e_v0_a = buffer0_e[j_v0_a]
            t_v0_a = buffer0_t[j_v0_a]
            v0_a__c1_symbol = buffer0__c1_symbol[j_v0_a]
            v0_a__c0_price = buffer0__c0_price[j_v0_a]
            if t_v1_b - t_v0_a > within:  # WITHIN
                continue
            if not (v0_a__c1_symbol == v1_b__c1_symbol and v0_a__c1_symbol >= 0 and v1_b__c1_symbol >= 0):  # a.symbol = b.symbol   (query 2:31)
                continue
            if stopped(nums):
                nums[4] = m
                nums[0] = m_0
                nums[1] = w_0
                pool_fill[1, 0] = f1_0
                nums[2] = -2
                return j_v1_b
            if now < INT_MAX and now - min(t_v0_a, t_v1_b) <= within:  # it may wait for the stream
                if f1 >= pool1_t.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    pool_fill[1, 0] = f1_0
                    nums[2] = 3
                    return j_v1_b
                pool1_at[f1, 0] = j_v0_a
                pool1_at[f1, 1] = j_v1_b
                pool1_t[f1] = min(t_v0_a, t_v1_b)
                g = buffer1_k1[j_v1_b]
                pool1_id2[f1] = g
                if g >= 0:
                    pool1_next2[f1] = pool1_head2[g]
                    pool1_head2[g] = f1
                f1 += 1
            if quiet == 0:
                at_v2_c = link0[j_v1_b]
                back_v2_c = chain0_prev[at_v2_c] if at_v2_c >= 0 else -1
                while back_v2_c >= 0 and max(t_v0_a, t_v1_b) - buffer2_t[back_v2_c] <= within:
                    at_v2_c = back_v2_c
                    back_v2_c = chain0_prev[at_v2_c]
                if at_v2_c < 0:
                    at_v2_c = first_of(chain0_first, buffer1_k1[j_v1_b])
                while at_v2_c >= 0:  # take C c with the same volume
                    j_v2_c = at_v2_c
                    at_v2_c = chain0_next[j_v2_c]
                    if buffer2_t[j_v2_c] - min(t_v0_a, t_v1_b) > within:  # WITHIN
                        break
                    if max(t_v0_a, t_v1_b) - buffer2_t[j_v2_c] > within:  # WITHIN
                        continue
                    e_v2_c = buffer2_e[j_v2_c]
                    v2_c__c2_volume = buffer2__c2_volume[j_v2_c]
                    v2_c__c2_volume_null = buffer2__c2_volume_null[j_v2_c]
                    v2_c__c0_price = buffer2__c0_price[j_v2_c]
                    if not (not ((v1_b__c2_volume_null != 0) or (v2_c__c2_volume_null != 0)) and v1_b__c2_volume == v2_c__c2_volume):  # b.volume = c.volume   (query 2:55)
                        continue
                    if not (v0_a__c0_price < v2_c__c0_price):  # a.price < c.price   (query 2:79)
                        continue
                    if w + 3 > match_event.shape[0]:
                        # no room: the caller makes some and comes back
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        pool_fill[1, 0] = f1_0
                        nums[2] = 1
                        return j_v1_b
                    match_event[natural(w + 0)] = e_v0_a
                    match_event[natural(w + 1)] = e_v1_b
                    match_event[natural(w + 2)] = e_v2_c
                    w += 3
                    m += 1
    nums[0] = m
    nums[1] = w
    pool_fill[1, 0] = f1
    return r1


@kernel
def resume_2(r0, r1, quiet, nums, int_values, buffer0_e, buffer0_t, buffer0__c0_price, buffer1_e, buffer1_t, buffer1__c2_volume, buffer1__c2_volume_null, buffer2_e, buffer2_t, buffer2__c2_volume, buffer2__c2_volume_null, buffer2__c0_price, buffer2_k1, pool_fill, pool1_at, pool1_next2, pool1_head2, match_event):  # take C c from the stream
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
        e_v2_c = buffer2_e[j_v2_c]
        t_v2_c = buffer2_t[j_v2_c]
        v2_c__c2_volume = buffer2__c2_volume[j_v2_c]
        v2_c__c2_volume_null = buffer2__c2_volume_null[j_v2_c]
        v2_c__c0_price = buffer2__c0_price[j_v2_c]
        at_q = first_of(pool1_head2, buffer2_k1[j_v2_c])
        while at_q >= 0:
            q = at_q
            at_q = pool1_next2[q]
            if q >= pool_fill[1, 1]:
                continue  # made in this step
            j_v0_a = pool1_at[q, 0]
            j_v1_b = pool1_at[q, 1]
            e_v0_a = buffer0_e[j_v0_a]
            t_v0_a = buffer0_t[j_v0_a]
            v0_a__c0_price = buffer0__c0_price[j_v0_a]
            e_v1_b = buffer1_e[j_v1_b]
            t_v1_b = buffer1_t[j_v1_b]
            v1_b__c2_volume = buffer1__c2_volume[j_v1_b]
            v1_b__c2_volume_null = buffer1__c2_volume_null[j_v1_b]
            if t_v2_c - min(t_v0_a, t_v1_b) > within:  # WITHIN
                continue
            if not (not ((v1_b__c2_volume_null != 0) or (v2_c__c2_volume_null != 0)) and v1_b__c2_volume == v2_c__c2_volume):  # b.volume = c.volume   (query 2:55)
                continue
            if not (v0_a__c0_price < v2_c__c0_price):  # a.price < c.price   (query 2:79)
                continue
            if quiet == 0:
                if w + 3 > match_event.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = 1
                    return j_v2_c
                match_event[natural(w + 0)] = e_v0_a
                match_event[natural(w + 1)] = e_v1_b
                match_event[natural(w + 2)] = e_v2_c
                w += 3
                m += 1
    nums[0] = m
    nums[1] = w
    return r1
