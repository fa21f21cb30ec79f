# PATTERN SEQ(A a, B+ b[], C c)
# WHERE   b[i].price < b[i-1].price AND b[i].volume > c.volume AND a.price < c.price
# WITHIN  10 minutes
# OUTPUT  LATEST
#
# linked chains; OUTPUT LATEST
# component 0: a
# component 1: b
# component 2: c


@kernel
def extend_1(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    e1 = i  # b
    M[1] = i
    n0 = L_tail[L]
    while n0 >= 0:
        e0 = N_event[n0]  # a
        n0 = N_prev[n0]
        if time[e1] - time[e0] > 600000:  # WITHIN
            break  # those before it are earlier still
        if rank[e0] >= rank[e1]:
            continue
        M[0] = e0
        return True
    return False


@kernel
def extend_2(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    e2 = i  # c
    M[2] = i
    n1 = L_tail[L]
    while n1 >= 0:
        e1 = N_event[n1]  # b
        if stopped(nums):
            break
        n0 = N_up[n1]
        n1 = N_prev[n1]
        if time[e2] - time[e1] > 600000:  # WITHIN
            break  # those before it are earlier still
        if rank[e1] >= rank[e2]:
            continue
        if not (not ((c1_volume_null[e1] != 0) or (c1_volume_null[e2] != 0)) and c1_volume[e1] > c1_volume[e2]):  # b[i].volume > c.volume   (query 2:39)
            continue
        M[1] = e1
        while n0 >= 0:
            e0 = N_event[n0]  # a
            n0 = N_prev[n0]
            if time[e2] - time[e0] > 600000:  # WITHIN
                break  # those before it are earlier still
            if rank[e0] >= rank[e1]:
                continue
            if not (c0_price[e0] < c0_price[e2]):  # a.price < c.price   (query 2:66)
                continue
            M[0] = e0
            return True
    return False


@kernel
def advance(i0, n, quiet, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, N_event, N_prev, N_up, N_list, L_parent, L_chain, L_tail, L_next, L_child, L_depth, HEAD, LIVE, REL, CH, ROOT, C_last, F_parent, F_chain, F_next, F_up, F_own, F_events, M, BEST, KEEP):
    for i in range(i0, n):
        g = part[i]
        if g < 0:
            continue
        mask = 0
        if (type_[i] == 0):  # a
            mask |= 1
        if (type_[i] == 1):  # b
            mask |= 2
        if (type_[i] == 2):  # c
            mask |= 4
        if mask == 0:  # no component could bind it: it breaks no chain
            continue
        if stopped(nums):
            return i
        need = LIVE[g] + 3
        if min(N_event.shape[0] - nums[0], L_parent.shape[0] - nums[1], C_last.shape[0] - nums[2], F_next.shape[0] - nums[3]) < need:
            return i  # the caller makes room and comes back
        if mask & 4 != 0:  # go on with c
            before = -1
            L = HEAD[1, g]
            while L >= 0:
                after = L_next[L]
                if time[i] - time[N_event[L_tail[L]]] > 600000:  # WITHIN has passed
                    if before < 0:
                        HEAD[1, g] = after
                    else:
                        L_next[before] = after
                    L_next[L] = -2  # until its chain goes on
                    LIVE[g] -= 1
                    L = after
                    continue
                if extend_2(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
                    if quiet == 0:
                        F_up[nums[3]] = L_tail[L]
                        F_events[nums[3], 0] = i
                        nums[3] += 1
                before = L
                L = after
        if mask & 2 != 0:  # go on with b
            before = -1
            L = HEAD[0, g]
            while L >= 0:
                after = L_next[L]
                if time[i] - time[N_event[L_tail[L]]] > 600000:  # WITHIN has passed
                    if before < 0:
                        HEAD[0, g] = after
                    else:
                        L_next[before] = after
                    L_next[L] = -2  # until its chain goes on
                    LIVE[g] -= 1
                    L = after
                    continue
                if extend_1(i, L, N_event, N_prev, N_up, L_tail, M, KEEP, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
                    q = L_child[L]
                    if q < 0 or L_chain[q] != CH[1, g]:  # another chain
                        q = nums[1]
                        nums[1] += 1
                        L_parent[q] = L
                        L_chain[q] = CH[1, g]
                        L_tail[q] = -1
                        L_child[q] = -1
                        L_depth[q] = 1
                        L_next[q] = HEAD[1, g]
                        HEAD[1, g] = q
                        LIVE[g] += 1
                        L_child[L] = q
                    if L_next[q] == -2:
                        L_next[q] = HEAD[1, g]
                        HEAD[1, g] = q
                        LIVE[g] += 1
                    N_event[nums[0]] = i
                    N_list[nums[0]] = q
                    N_up[nums[0]] = L_tail[L]
                    N_prev[nums[0]] = L_tail[q]  # it covers the one before it in the chain
                    L_tail[q] = nums[0]
                    nums[0] += 1
                before = L
                L = after
        if mask & 1 != 0:  # begin with a
            q = ROOT[g]
            if q < 0 or L_chain[q] != CH[0, g]:
                q = nums[1]
                nums[1] += 1
                L_parent[q] = -1
                L_chain[q] = CH[0, g]
                L_tail[q] = -1
                L_child[q] = -1
                L_depth[q] = 0
                L_next[q] = HEAD[0, g]
                HEAD[0, g] = q
                LIVE[g] += 1
                ROOT[g] = q
            if L_next[q] == -2:
                L_next[q] = HEAD[0, g]
                HEAD[0, g] = q
                LIVE[g] += 1
            N_event[nums[0]] = i
            N_list[nums[0]] = q
            N_up[nums[0]] = -1
            N_prev[nums[0]] = L_tail[q]  # it covers the one before it in the chain
            L_tail[q] = nums[0]
            nums[0] += 1
    return n


@kernel
def walk(i, own, up, limit, N_event, N_prev, N_up, SE, SC, SK, SX, SU, SP, SN, SM, DEAD, ED, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    depth = ED[-1]
    if depth < 0:  # a new walk
        depth = 0
        SE[0] = i
        nums[7] = 0
        SC[0] = 2
        SK[0] = 1
        SX[0] = -1
        SU[0] = up
        SP[0] = 0
        ED[2] = 0
    steps = 0
    while depth >= 0:
        j = SC[depth]
        if SP[depth] == 0:
            n = SX[depth]
            if n < 0:
                SP[depth] = 1
                if j == 0 and SP[depth] == 1:
                    SP[depth] = 2
                    ED[-1] = depth
                    nums[7] += 1
                    return depth + 1
                continue
            SX[depth] = N_prev[n]
            c = j
        elif SP[depth] == 1 and SU[depth] >= 0:
            n = SU[depth]
            SU[depth] = N_prev[n]
            c = j - 1
        else:
            if depth > 0 and SM[depth] == nums[7]:
                DEAD[SN[depth]] = i + 1
            depth -= 1
            continue
        if DEAD[n] == i + 1:  # it led to nothing
            continue
        e = N_event[n]
        if time[i] - time[e] > 600000:  # WITHIN: those before it are earlier still
            if c == j:
                SX[depth] = -1
            else:
                SU[depth] = -1
            continue
        if rank[e] >= rank[SE[depth]]:
            continue
        steps += 1
        if steps > limit:
            return -1
        fits = True
        if c == 0:  # a
            if fits:
                fits = (c0_price[e] < c0_price[SE[ED[2]]])  # a.price < c.price   (query 2:66)
        if c == 1:  # b
            if fits and c == j:
                fits = (c0_price[SE[depth]] < c0_price[e])  # b[i].price < b[i-1].price   (query 2:9)
            if fits:
                fits = (not ((c1_volume_null[e] != 0) or (c1_volume_null[SE[ED[2]]] != 0)) and c1_volume[e] > c1_volume[SE[ED[2]]])  # b[i].volume > c.volume   (query 2:39)
        if not fits:
            continue
        k = SK[depth] + 1 if c == j else 1
        depth += 1
        SE[depth] = e
        SN[depth] = n
        SM[depth] = nums[7]
        if c == 0:  # a
            SC[depth] = 0
            SK[depth] = k
            SX[depth] = -1
            SU[depth] = N_up[n]
            SP[depth] = 0
            ED[0] = depth
        elif c == 1:  # b
            SC[depth] = 1
            SK[depth] = k
            SX[depth] = N_prev[n]
            SU[depth] = N_up[n]
            SP[depth] = 0
            if k == 1:
                ED[1] = depth
        elif c == 2:  # c
            SC[depth] = 2
            SK[depth] = k
            SX[depth] = -1
            SU[depth] = N_up[n]
            SP[depth] = 0
            ED[2] = depth
    ED[-1] = -1
    return 0


@kernel
def combine(f0, nf, limit, F_own, F_up, F_events, OE, OC, OO, N_event, N_prev, N_up, SE, SC, SK, SX, SU, SP, SN, SM, DEAD, ED, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null):
    for f in range(f0, nf):
        matches, events = nums[4], nums[5]
        ED[-1] = -1
        while True:
            if stopped(nums):
                return f
            size = walk(F_events[f, 0], F_own[f], F_up[f], limit, N_event, N_prev, N_up, SE, SC, SK, SX, SU, SP, SN, SM, DEAD, ED, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null)
            if size < 0:
                nums[6] = 1  # too many steps
                return f
            if size == 0:
                break
            if nums[4] + 1 >= OO.shape[0] or nums[5] + size > OE.shape[0]:
                nums[4], nums[5] = matches, events
                return f  # the caller makes room and comes back
            for d in range(size):
                OE[nums[5] + d] = SE[size - 1 - d]
                OC[nums[5] + d] = SC[size - 1 - d]
            nums[5] += size
            nums[4] += 1
            OO[nums[4]] = nums[5]
            break
    return nf
