# PATTERN SEQ(Stock+ a[], Stock b)
# WHERE   skip_till_next_match { [symbol] AND a[1].volume > 1000 AND a[i].price > avg(a[..i-1].price)
#                                AND b.volume < 0.8 * a[last].volume }
# WITHIN  1 hour
#
# skip_till_next_match; runs merged
# state 0: looping over a
# RI[:, 0]: count of a a[i].price
# RI[:, 1]: last of a volume
# RI[:, 2]: last null of a volume
# RF[:, 0]: sum of a a[i].price


@kernel
def advance(i0, n, nums, time, rank, place, type_, part, string_rank, c1_volume, c1_volume_null, c0_price, RS, RN, RT, RK, RX, RI, RF, FREE, P_head, P_live, NE, NP, NC, NT, NM, XN, XX, OUT, HT, HG, WALK):
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
        stamp += 1  # a new event: what the table of merged runs holds is out of date
        final_0 = -1
        lead_0 = idle_0 = join_0 = -1
        fit_0 = (type_[i] == 0)  # a
        fit_1 = (type_[i] == 0)  # b
        link = -1  # the run before r
        while r >= 0:
            after = RX[r]
            later = k > RK[r]  # than the last event of the run
            if t - RT[r] > 3600000:  # WITHIN
                if link < 0:
                    P_head[g] = after
                else:
                    RX[link] = after
                P_live[g] -= 1
                FREE[free] = r
                free += 1
                runs -= 1
            else:  # looping over a
                go = fit_1
                if go:
                    go = go and later
                    go = go and (to_float(c1_volume[i], (c1_volume_null[i] != 0)) < (0.8 * to_float(RI[r, 1], (RI[r, 2] != 0))))  # b.volume < 0.8 * a[last].volume   (query 3:36)
                if go:  # proceed to b
                    if final_0 >= 0:  # another run ends with the same event
                        edge = natural(edges)
                        edges = edge + 1
                        XN[edge] = RN[r]
                        XX[edge] = NM[final_0]
                        NM[final_0] = edge
                        NT[final_0] = max(NT[final_0], RT[r])
                    else:  # a match
                        node = natural(nodes)
                        nodes = node + 1
                        NE[node] = i
                        NP[node] = RN[r]
                        NC[node] = 1
                        NT[node] = RT[r]
                        NM[node] = -1
                        OUT[natural(found)] = node
                        found += 1
                        final_0 = node
                took = fit_0
                took = took and later
                took = took and (c0_price[i] > divide(float(RF[r, 0]), float(RI[r, 0])))  # a[i].price > avg(a[..i-1].price)   (query 2:68)
                if took:
                    q = r
                    RI[q, 1] = c1_volume[i]
                    RI[q, 2] = int(c1_volume_null[i] != 0)
                    if not isnan(c0_price[i]):
                        x = c0_price[i]
                        RI[q, 0] += 1
                        RF[q, 0] += x
                    RK[q] = k
                    m = lead_0
                    if m >= 0 and not (same(RI[m, 0], RI[q, 0]) and same(RF[m, 0], RF[q, 0])):
                        h = mix(0)
                        h = mix(h ^ int(RI[q, 0]))
                        h = mix(h ^ bits(RF[q, 0]))
                        h = h & (HT.shape[0] - 1)
                        m = -1
                        while HG[h] == stamp:
                            m = HT[h]
                            if RS[m] == 0 and same(RI[m, 0], RI[q, 0]) and same(RF[m, 0], RF[q, 0]):
                                break
                            m = -1
                            h = (h + 1) & (HT.shape[0] - 1)
                        if m < 0:
                            HG[h] = stamp
                            HT[h] = q
                    if m >= 0:  # an equivalent run took the same event: merge
                        edge = natural(edges)
                        edges = edge + 1
                        XN[edge] = RN[q]
                        XX[edge] = NM[RN[m]]
                        NM[RN[m]] = edge
                        NT[RN[m]] = max(NT[RN[m]], RT[q])
                        RT[m] = max(RT[m], RT[q])
                        if link < 0:
                            P_head[g] = after
                        else:
                            RX[link] = after
                        P_live[g] -= 1
                        FREE[free] = r
                        free += 1
                        runs -= 1
                    else:
                        if lead_0 < 0:
                            lead_0 = q
                        node = natural(nodes)
                        nodes = node + 1
                        NE[node] = i
                        NP[node] = RN[q]
                        NC[node] = 0
                        NT[node] = RT[q]
                        NM[node] = -1
                        RN[q] = node
                        link = r
                else:
                    if later and idle_0 >= 0 and k > RK[idle_0] and same(RI[idle_0, 0], RI[r, 0]) and same(RI[idle_0, 1], RI[r, 1]) and same(RI[idle_0, 2], RI[r, 2]) and same(RF[idle_0, 0], RF[r, 0]):  # an equivalent run: merge
                        if join_0 < 0:
                            node = natural(nodes)
                            nodes = node + 1
                            NE[node] = NE[RN[idle_0]]
                            NP[node] = RN[idle_0]
                            NC[node] = -1
                            NT[node] = RT[idle_0]
                            NM[node] = -1
                            join_0 = node  # no event: two histories become one
                            RN[idle_0] = node
                        edge = natural(edges)
                        edges = edge + 1
                        XN[edge] = RN[r]
                        XX[edge] = NM[join_0]
                        NM[join_0] = edge
                        NT[join_0] = max(NT[join_0], RT[r])
                        NE[join_0] = max(NE[join_0], NE[RN[r]])
                        RK[idle_0] = max(RK[idle_0], RK[r])
                        RT[idle_0] = max(RT[idle_0], RT[r])
                        if link < 0:
                            P_head[g] = after
                        else:
                            RX[link] = after
                        P_live[g] -= 1
                        FREE[free] = r
                        free += 1
                        runs -= 1
                    else:
                        if idle_0 < 0:
                            idle_0 = r
                        link = r
            r = after
        go = fit_0  # begin with a
        go = go and (not (c1_volume_null[i] != 0) and c1_volume[i] > 1000)  # a[1].volume > 1000   (query 2:45)
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
            RI[q, 1] = c1_volume[i]
            RI[q, 2] = int(c1_volume_null[i] != 0)
            if not isnan(c0_price[i]):
                x = c0_price[i]
                RI[q, 0] += 1
                RF[q, 0] += x
            RS[q] = 0
            RK[q] = k
            m = lead_0
            if m >= 0 and not (same(RI[m, 0], RI[q, 0]) and same(RF[m, 0], RF[q, 0])):
                h = mix(0)
                h = mix(h ^ int(RI[q, 0]))
                h = mix(h ^ bits(RF[q, 0]))
                h = h & (HT.shape[0] - 1)
                m = -1
                while HG[h] == stamp:
                    m = HT[h]
                    if RS[m] == 0 and same(RI[m, 0], RI[q, 0]) and same(RF[m, 0], RF[q, 0]):
                        break
                    m = -1
                    h = (h + 1) & (HT.shape[0] - 1)
                if m < 0:
                    HG[h] = stamp
                    HT[h] = q
            if m >= 0:  # an equivalent run took the same event: merge
                edge = natural(edges)
                edges = edge + 1
                XN[edge] = RN[q]
                XX[edge] = NM[RN[m]]
                NM[RN[m]] = edge
                NT[RN[m]] = max(NT[RN[m]], RT[q])
                RT[m] = max(RT[m], RT[q])
                FREE[free] = q
                free += 1
                runs -= 1
            else:
                if lead_0 < 0:
                    lead_0 = q
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
