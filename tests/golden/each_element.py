# PATTERN SEQ(A a, B{2,5} b[], C c)
# WHERE   skip_till_any_match { b[i].price > a.price AND c.price > b[i].price AND c.volume > max(b[].volume) }
# WITHIN  10 minutes
#
# skip_till_any_match; runs not merged
# state 0: waiting for b
# state 1: looping over b
# RI[:, 0]: length of b
# RI[:, 1]: count of b b[i].volume
# RI[:, 2]: max of b b[i].volume
# RF[:, 0]: first of a price


@kernel
def advance(i0, n, nums, time, rank, place, type_, part, string_rank, c0_price, c1_volume, c1_volume_null, RS, RN, RT, RK, RX, RI, RF, FREE, P_head, P_live, NE, NP, NC, NT, NM, XN, XX, OUT, HT, HG, WALK):
    nodes = nums[0]
    edges = nums[1]
    free = nums[2]
    found = nums[3]
    runs = nums[4]
    stamp = nums[5]
    room = min(free, NE.shape[0] - nodes, XN.shape[0] - edges, OUT.shape[0] - found)
    for event in range(i0, n):
        i = natural(event)
        g = part[i]
        if g < 0:
            continue
        r = P_head[g]
        need = 1 if r < 0 else 3 * P_live[g] + 1
        room -= need
        if room < 0:
            room = min(free, NE.shape[0] - nodes, XN.shape[0] - edges, OUT.shape[0] - found) - need
            if room < 0 or stopped(nums):
                nums[0] = nodes
                nums[1] = edges
                nums[2] = free
                nums[3] = found
                nums[4] = runs
                nums[5] = stamp
                return i  # the caller makes room and comes back
        t = time[i]
        k = rank[i]
        fit_0 = (type_[i] == 0)  # a
        fit_1 = (type_[i] == 1)  # b
        fit_2 = (type_[i] == 2)  # c
        link = -1  # the run before r
        while r >= 0:
            after = RX[r]
            later = k > RK[r]  # than the last event of the run
            if t - RT[r] > 600000:  # WITHIN
                if link < 0:
                    P_head[g] = after
                else:
                    RX[link] = after
                P_live[g] -= 1
                FREE[free] = r
                free += 1
                runs -= 1
            elif RS[r] == 0:  # waiting for b
                took = fit_1
                took = took and later
                took = took and (c0_price[i] > RF[r, 0])  # b[i].price > a.price   (query 2:31)
                if took:
                    free -= 1
                    q = FREE[free]
                    runs += 1
                    RI[q, 0] = RI[r, 0]
                    RI[q, 1] = RI[r, 1]
                    RI[q, 2] = RI[r, 2]
                    RF[q, 0] = RF[r, 0]
                    RN[q] = RN[r]
                    RT[q] = RT[r]
                    RI[q, 0] = 1
                    if not (c1_volume_null[i] != 0):
                        x = c1_volume[i]
                        RI[q, 1] += 1
                        RI[q, 2] = x if RI[q, 1] == 1 or x > RI[q, 2] else RI[q, 2]
                    RS[q] = 1
                    RK[q] = k
                    node = natural(nodes)
                    nodes = node + 1
                    NE[node] = i
                    NP[node] = RN[q]
                    NC[node] = 1
                    NT[node] = RT[q]
                    NM[node] = -1
                    RN[q] = node
                    RX[q] = P_head[g]
                    P_head[g] = q
                    P_live[g] += 1
                    if link < 0:
                        link = q
                link = r
            else:  # looping over b
                go = fit_2
                go = go and RI[r, 0] >= 2
                if go:
                    go = go and later
                    if go:  # c.price > b[i].price   (query 2:56)
                        n_v1_b = gather(RN[r], 1, NE, NP, NC, WALK[0])
                        for k_v1_b in range(0, n_v1_b):
                            if not (c0_price[i] > c0_price[WALK[0, k_v1_b]]):
                                go = False
                                break
                    go = go and (not ((c1_volume_null[i] != 0) or (RI[r, 1] == 0)) and c1_volume[i] > RI[r, 2])  # c.volume > max(b[].volume)   (query 2:81)
                if go:  # proceed to c
                    node = natural(nodes)
                    nodes = node + 1
                    NE[node] = i
                    NP[node] = RN[r]
                    NC[node] = 2
                    NT[node] = RT[r]
                    NM[node] = -1
                    OUT[natural(found)] = node  # a match
                    found += 1
                took = fit_1
                took = took and later and RI[r, 0] < 5
                took = took and (c0_price[i] > RF[r, 0])  # b[i].price > a.price   (query 2:31)
                if took:
                    free -= 1
                    q = FREE[free]
                    runs += 1
                    RI[q, 0] = RI[r, 0]
                    RI[q, 1] = RI[r, 1]
                    RI[q, 2] = RI[r, 2]
                    RF[q, 0] = RF[r, 0]
                    RN[q] = RN[r]
                    RT[q] = RT[r]
                    RI[q, 0] += 1
                    if not (c1_volume_null[i] != 0):
                        x = c1_volume[i]
                        RI[q, 1] += 1
                        RI[q, 2] = x if RI[q, 1] == 1 or x > RI[q, 2] else RI[q, 2]
                    RS[q] = 1
                    RK[q] = k
                    node = natural(nodes)
                    nodes = node + 1
                    NE[node] = i
                    NP[node] = RN[q]
                    NC[node] = 1
                    NT[node] = RT[q]
                    NM[node] = -1
                    RN[q] = node
                    RX[q] = P_head[g]
                    P_head[g] = q
                    P_live[g] += 1
                    if link < 0:
                        link = q
                link = r
            r = after
        go = fit_0  # begin with a
        if go:
            free -= 1
            q = FREE[free]
            runs += 1
            RI[q, 0] = 0
            RI[q, 1] = 0
            RI[q, 2] = 0
            RF[q, 0] = 0
            RN[q] = -1
            RT[q] = t
            RF[q, 0] = c0_price[i]
            RS[q] = 0
            RK[q] = k
            node = natural(nodes)
            nodes = node + 1
            NE[node] = i
            NP[node] = RN[q]
            NC[node] = 0
            NT[node] = RT[q]
            NM[node] = -1
            RN[q] = node
            RX[q] = P_head[g]
            P_head[g] = q
            P_live[g] += 1
    nums[0] = nodes
    nums[1] = edges
    nums[2] = free
    nums[3] = found
    nums[4] = runs
    nums[5] = stamp
    return n
