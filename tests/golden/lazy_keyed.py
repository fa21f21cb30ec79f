# PATTERN AND(A a, B b, C c)
# WHERE   skip_till_any_match { a.symbol = b.symbol AND b.volume = c.volume AND a.price < c.price }
# WITHIN  1 hour
#
# chain 0: a, b, c; negation post-processing
# B0: input buffer of a
# B1: input buffer of b
# B2: input buffer of c


@kernel
def store(i0, n, k0, K0, K1, nums, time, rank, place, type_, part, string_rank, c1_symbol, c2_volume, c2_volume_null, c0_price, FILL, MASK, B0_e, B0_t, B0__c1_symbol, B0__c0_price, B0_k0, B1_e, B1_t, B1__c1_symbol, B1__c2_volume, B1__c2_volume_null, B1_k1, B1_k0, B2_e, B2_t, B2__c2_volume, B2__c2_volume_null, B2__c0_price, B2_k1, X0_id, X0_next, X0_prev, X0_first, X0_last, X1_id, X1_next, X1_prev, X1_first, X1_last, L0, L1, SORTED, WIDTH):
    n0 = FILL[0]  # of a
    n1 = FILL[1]  # of b
    n2 = FILL[2]  # of c
    for i in range(natural(i0), n):
        if (type_[i] == 2):  # store it for c
            at = natural(n2)
            B2_e[at] = i
            B2_t[at] = time[i]
            B2__c2_volume[at] = c2_volume[i]
            B2__c2_volume_null[at] = c2_volume_null[i]
            B2__c0_price[at] = c0_price[i]
            B2_k1[at] = K1[i - k0]
            chain(at, K1[i - k0], X0_id, X0_next, X0_prev, X0_first, X0_last)
            n2 += 1
        elif (type_[i] == 1):  # store it for b
            at = natural(n1)
            B1_e[at] = i
            B1_t[at] = time[i]
            B1__c1_symbol[at] = c1_symbol[i]
            B1__c2_volume[at] = c2_volume[i]
            B1__c2_volume_null[at] = c2_volume_null[i]
            B1_k1[at] = K1[i - k0]
            B1_k0[at] = K0[i - k0]
            g = K1[i - k0]
            L0[at] = X0_last[g] if g >= 0 else -1
            chain(at, K0[i - k0], X1_id, X1_next, X1_prev, X1_first, X1_last)
            n1 += 1
        elif (type_[i] == 0):  # store it for a
            at = natural(n0)
            B0_e[at] = i
            B0_t[at] = time[i]
            B0__c1_symbol[at] = c1_symbol[i]
            B0__c0_price[at] = c0_price[i]
            B0_k0[at] = K0[i - k0]
            g = K0[i - k0]
            L1[at] = X1_last[g] if g >= 0 else -1
            n0 += 1
    FILL[0] = n0
    FILL[1] = n1
    FILL[2] = n2


@kernel
def tally(i0, n, piece, counts, time, rank, place, type_, part, string_rank, c1_symbol, c2_volume, c2_volume_null, c0_price):
    for i1 in range(natural(i0), n, piece):
        size = min(n - i1, piece)
        total = 0
        types = type_[i1 : i1 + size]  # of a
        for k in range(size):
            total += types[k] == 0
        counts[(i1 - i0) // piece, 0] += total
        total = 0
        types = type_[i1 : i1 + size]  # of b
        for k in range(size):
            total += types[k] == 1
        counts[(i1 - i0) // piece, 1] += total
        total = 0
        types = type_[i1 : i1 + size]  # of c
        for k in range(size):
            total += types[k] == 2
        counts[(i1 - i0) // piece, 2] += total


@kernel
def start_0(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c1_symbol, c2_volume, c2_volume_null, c0_price, FILL, MASK, B0_e, B0_t, B0__c1_symbol, B0__c0_price, B0_k0, B1_e, B1_t, B1__c1_symbol, B1__c2_volume, B1__c2_volume_null, B1_k1, B1_k0, B2_e, B2_t, B2__c2_volume, B2__c2_volume_null, B2__c0_price, B2_k1, X0_id, X0_next, X0_prev, X0_first, X0_last, X1_id, X1_next, X1_prev, X1_first, X1_last, L0, L1, SORTED, WIDTH, PF, COUNT, SEEN, P0_at, P0__t, P0__p, P0_id1, P0_next1, P0_head1, P1_at, P1__t, P1__p, P1_id2, P1_next2, P1_head2, O_offsets, O_events, O_codes):  # take A a
    m = nums[0]
    w = nums[1]
    f0 = PF[0, 0]
    f1 = PF[1, 0]
    for j_v0_a in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            PF[0, 0] = f0
            PF[1, 0] = f1
            return j_v0_a
        m_0 = m
        w_0 = w
        f0_0 = f0
        f1_0 = f1
        e_v0_a = B0_e[j_v0_a]
        t_v0_a = B0_t[j_v0_a]
        v0_a__c1_symbol = B0__c1_symbol[j_v0_a]
        v0_a__c0_price = B0__c0_price[j_v0_a]
        if now < INT_MAX and now - t_v0_a <= 3600000:  # it may wait for the stream
            if f0 >= P0__t.shape[0]:
                # no room: the caller makes some and comes back
                nums[4] = m
                nums[0] = m_0
                nums[1] = w_0
                PF[0, 0] = f0_0
                PF[1, 0] = f1_0
                nums[2] = 2
                return j_v0_a
            P0_at[f0, 0] = j_v0_a
            P0__t[f0] = t_v0_a
            g = B0_k0[j_v0_a]
            P0_id1[f0] = g
            if g >= 0:
                P0_next1[f0] = P0_head1[g]
                P0_head1[g] = f0
            f0 += 1
        at_v1_b = L1[j_v0_a]
        back_v1_b = X1_prev[at_v1_b] if at_v1_b >= 0 else -1
        while back_v1_b >= 0 and t_v0_a - B1_t[back_v1_b] <= 3600000:
            at_v1_b = back_v1_b
            back_v1_b = X1_prev[at_v1_b]
        if at_v1_b < 0:
            at_v1_b = first_of(X1_first, B0_k0[j_v0_a])
        while at_v1_b >= 0:  # take B b with the same symbol
            j_v1_b = at_v1_b
            at_v1_b = X1_next[j_v1_b]
            if B1_t[j_v1_b] - t_v0_a > 3600000:  # WITHIN
                break
            if t_v0_a - B1_t[j_v1_b] > 3600000:  # WITHIN
                continue
            e_v1_b = B1_e[j_v1_b]
            t_v1_b = B1_t[j_v1_b]
            v1_b__c1_symbol = B1__c1_symbol[j_v1_b]
            v1_b__c2_volume = B1__c2_volume[j_v1_b]
            v1_b__c2_volume_null = B1__c2_volume_null[j_v1_b]
            if not (v0_a__c1_symbol == v1_b__c1_symbol and v0_a__c1_symbol >= 0 and v1_b__c1_symbol >= 0):  # a.symbol = b.symbol   (query 2:31)
                continue
            if stopped(nums):
                nums[4] = m
                nums[0] = m_0
                nums[1] = w_0
                PF[0, 0] = f0_0
                PF[1, 0] = f1_0
                nums[2] = -2
                return j_v0_a
            if now < INT_MAX and now - min(t_v0_a, t_v1_b) <= 3600000:  # it may wait for the stream
                if f1 >= P1__t.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    PF[0, 0] = f0_0
                    PF[1, 0] = f1_0
                    nums[2] = 3
                    return j_v0_a
                P1_at[f1, 0] = j_v0_a
                P1_at[f1, 1] = j_v1_b
                P1__t[f1] = min(t_v0_a, t_v1_b)
                g = B1_k1[j_v1_b]
                P1_id2[f1] = g
                if g >= 0:
                    P1_next2[f1] = P1_head2[g]
                    P1_head2[g] = f1
                f1 += 1
            if quiet == 0:
                at_v2_c = L0[j_v1_b]
                back_v2_c = X0_prev[at_v2_c] if at_v2_c >= 0 else -1
                while back_v2_c >= 0 and max(t_v0_a, t_v1_b) - B2_t[back_v2_c] <= 3600000:
                    at_v2_c = back_v2_c
                    back_v2_c = X0_prev[at_v2_c]
                if at_v2_c < 0:
                    at_v2_c = first_of(X0_first, B1_k1[j_v1_b])
                while at_v2_c >= 0:  # take C c with the same volume
                    j_v2_c = at_v2_c
                    at_v2_c = X0_next[j_v2_c]
                    if B2_t[j_v2_c] - min(t_v0_a, t_v1_b) > 3600000:  # WITHIN
                        break
                    if max(t_v0_a, t_v1_b) - B2_t[j_v2_c] > 3600000:  # WITHIN
                        continue
                    e_v2_c = B2_e[j_v2_c]
                    v2_c__c2_volume = B2__c2_volume[j_v2_c]
                    v2_c__c2_volume_null = B2__c2_volume_null[j_v2_c]
                    v2_c__c0_price = B2__c0_price[j_v2_c]
                    if not (not ((v1_b__c2_volume_null != 0) or (v2_c__c2_volume_null != 0)) and v1_b__c2_volume == v2_c__c2_volume):  # b.volume = c.volume   (query 2:55)
                        continue
                    if not (v0_a__c0_price < v2_c__c0_price):  # a.price < c.price   (query 2:79)
                        continue
                    if m + 1 >= O_offsets.shape[0] or w + 3 > O_events.shape[0]:
                        # no room: the caller makes some and comes back
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        PF[0, 0] = f0_0
                        PF[1, 0] = f1_0
                        nums[2] = 1
                        return j_v0_a
                    O_events[w] = e_v0_a
                    O_codes[w] = 0
                    w += 1
                    O_events[w] = e_v1_b
                    O_codes[w] = 1
                    w += 1
                    O_events[w] = e_v2_c
                    O_codes[w] = 2
                    w += 1
                    sort_match(O_events, O_codes, O_offsets[m], w)
                    m += 1
                    O_offsets[m] = w
    nums[0] = m
    nums[1] = w
    PF[0, 0] = f0
    PF[1, 0] = f1
    return r1


@kernel
def resume_1(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c1_symbol, c2_volume, c2_volume_null, c0_price, FILL, MASK, B0_e, B0_t, B0__c1_symbol, B0__c0_price, B0_k0, B1_e, B1_t, B1__c1_symbol, B1__c2_volume, B1__c2_volume_null, B1_k1, B1_k0, B2_e, B2_t, B2__c2_volume, B2__c2_volume_null, B2__c0_price, B2_k1, X0_id, X0_next, X0_prev, X0_first, X0_last, X1_id, X1_next, X1_prev, X1_first, X1_last, L0, L1, SORTED, WIDTH, PF, COUNT, SEEN, P0_at, P0__t, P0__p, P0_id1, P0_next1, P0_head1, P1_at, P1__t, P1__p, P1_id2, P1_next2, P1_head2, O_offsets, O_events, O_codes):  # take B b from the stream
    m = nums[0]
    w = nums[1]
    f1 = PF[1, 0]
    for j_v1_b in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            PF[1, 0] = f1
            return j_v1_b
        m_0 = m
        w_0 = w
        f1_0 = f1
        e_v1_b = B1_e[j_v1_b]
        t_v1_b = B1_t[j_v1_b]
        v1_b__c1_symbol = B1__c1_symbol[j_v1_b]
        v1_b__c2_volume = B1__c2_volume[j_v1_b]
        v1_b__c2_volume_null = B1__c2_volume_null[j_v1_b]
        at_q = first_of(P0_head1, B1_k0[j_v1_b])
        while at_q >= 0:
            q = at_q
            at_q = P0_next1[q]
            if q >= PF[0, 1]:
                continue  # made in this step
            j_v0_a = P0_at[q, 0]
            e_v0_a = B0_e[j_v0_a]
            t_v0_a = B0_t[j_v0_a]
            v0_a__c1_symbol = B0__c1_symbol[j_v0_a]
            v0_a__c0_price = B0__c0_price[j_v0_a]
            if t_v1_b - t_v0_a > 3600000:  # WITHIN
                continue
            if not (v0_a__c1_symbol == v1_b__c1_symbol and v0_a__c1_symbol >= 0 and v1_b__c1_symbol >= 0):  # a.symbol = b.symbol   (query 2:31)
                continue
            if stopped(nums):
                nums[4] = m
                nums[0] = m_0
                nums[1] = w_0
                PF[1, 0] = f1_0
                nums[2] = -2
                return j_v1_b
            if now < INT_MAX and now - min(t_v0_a, t_v1_b) <= 3600000:  # it may wait for the stream
                if f1 >= P1__t.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    PF[1, 0] = f1_0
                    nums[2] = 3
                    return j_v1_b
                P1_at[f1, 0] = j_v0_a
                P1_at[f1, 1] = j_v1_b
                P1__t[f1] = min(t_v0_a, t_v1_b)
                g = B1_k1[j_v1_b]
                P1_id2[f1] = g
                if g >= 0:
                    P1_next2[f1] = P1_head2[g]
                    P1_head2[g] = f1
                f1 += 1
            if quiet == 0:
                at_v2_c = L0[j_v1_b]
                back_v2_c = X0_prev[at_v2_c] if at_v2_c >= 0 else -1
                while back_v2_c >= 0 and max(t_v0_a, t_v1_b) - B2_t[back_v2_c] <= 3600000:
                    at_v2_c = back_v2_c
                    back_v2_c = X0_prev[at_v2_c]
                if at_v2_c < 0:
                    at_v2_c = first_of(X0_first, B1_k1[j_v1_b])
                while at_v2_c >= 0:  # take C c with the same volume
                    j_v2_c = at_v2_c
                    at_v2_c = X0_next[j_v2_c]
                    if B2_t[j_v2_c] - min(t_v0_a, t_v1_b) > 3600000:  # WITHIN
                        break
                    if max(t_v0_a, t_v1_b) - B2_t[j_v2_c] > 3600000:  # WITHIN
                        continue
                    e_v2_c = B2_e[j_v2_c]
                    v2_c__c2_volume = B2__c2_volume[j_v2_c]
                    v2_c__c2_volume_null = B2__c2_volume_null[j_v2_c]
                    v2_c__c0_price = B2__c0_price[j_v2_c]
                    if not (not ((v1_b__c2_volume_null != 0) or (v2_c__c2_volume_null != 0)) and v1_b__c2_volume == v2_c__c2_volume):  # b.volume = c.volume   (query 2:55)
                        continue
                    if not (v0_a__c0_price < v2_c__c0_price):  # a.price < c.price   (query 2:79)
                        continue
                    if m + 1 >= O_offsets.shape[0] or w + 3 > O_events.shape[0]:
                        # no room: the caller makes some and comes back
                        nums[4] = m
                        nums[0] = m_0
                        nums[1] = w_0
                        PF[1, 0] = f1_0
                        nums[2] = 1
                        return j_v1_b
                    O_events[w] = e_v0_a
                    O_codes[w] = 0
                    w += 1
                    O_events[w] = e_v1_b
                    O_codes[w] = 1
                    w += 1
                    O_events[w] = e_v2_c
                    O_codes[w] = 2
                    w += 1
                    sort_match(O_events, O_codes, O_offsets[m], w)
                    m += 1
                    O_offsets[m] = w
    nums[0] = m
    nums[1] = w
    PF[1, 0] = f1
    return r1


@kernel
def resume_2(r0, r1, i0, now, quiet, nums, time, rank, place, type_, part, string_rank, c1_symbol, c2_volume, c2_volume_null, c0_price, FILL, MASK, B0_e, B0_t, B0__c1_symbol, B0__c0_price, B0_k0, B1_e, B1_t, B1__c1_symbol, B1__c2_volume, B1__c2_volume_null, B1_k1, B1_k0, B2_e, B2_t, B2__c2_volume, B2__c2_volume_null, B2__c0_price, B2_k1, X0_id, X0_next, X0_prev, X0_first, X0_last, X1_id, X1_next, X1_prev, X1_first, X1_last, L0, L1, SORTED, WIDTH, PF, COUNT, SEEN, P1_at, P1__t, P1__p, P1_id2, P1_next2, P1_head2, O_offsets, O_events, O_codes):  # take C c from the stream
    m = nums[0]
    w = nums[1]
    for j_v2_c in range(r0, r1):
        if stopped(nums):
            nums[0] = m
            nums[1] = w
            return j_v2_c
        m_0 = m
        w_0 = w
        e_v2_c = B2_e[j_v2_c]
        t_v2_c = B2_t[j_v2_c]
        v2_c__c2_volume = B2__c2_volume[j_v2_c]
        v2_c__c2_volume_null = B2__c2_volume_null[j_v2_c]
        v2_c__c0_price = B2__c0_price[j_v2_c]
        at_q = first_of(P1_head2, B2_k1[j_v2_c])
        while at_q >= 0:
            q = at_q
            at_q = P1_next2[q]
            if q >= PF[1, 1]:
                continue  # made in this step
            j_v0_a = P1_at[q, 0]
            j_v1_b = P1_at[q, 1]
            e_v0_a = B0_e[j_v0_a]
            t_v0_a = B0_t[j_v0_a]
            v0_a__c0_price = B0__c0_price[j_v0_a]
            e_v1_b = B1_e[j_v1_b]
            t_v1_b = B1_t[j_v1_b]
            v1_b__c2_volume = B1__c2_volume[j_v1_b]
            v1_b__c2_volume_null = B1__c2_volume_null[j_v1_b]
            if t_v2_c - min(t_v0_a, t_v1_b) > 3600000:  # WITHIN
                continue
            if not (not ((v1_b__c2_volume_null != 0) or (v2_c__c2_volume_null != 0)) and v1_b__c2_volume == v2_c__c2_volume):  # b.volume = c.volume   (query 2:55)
                continue
            if not (v0_a__c0_price < v2_c__c0_price):  # a.price < c.price   (query 2:79)
                continue
            if quiet == 0:
                if m + 1 >= O_offsets.shape[0] or w + 3 > O_events.shape[0]:
                    # no room: the caller makes some and comes back
                    nums[4] = m
                    nums[0] = m_0
                    nums[1] = w_0
                    nums[2] = 1
                    return j_v2_c
                O_events[w] = e_v0_a
                O_codes[w] = 0
                w += 1
                O_events[w] = e_v1_b
                O_codes[w] = 1
                w += 1
                O_events[w] = e_v2_c
                O_codes[w] = 2
                w += 1
                sort_match(O_events, O_codes, O_offsets[m], w)
                m += 1
                O_offsets[m] = w
    nums[0] = m
    nums[1] = w
    return r1
